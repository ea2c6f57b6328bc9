"""kg with the nlp extractor, the real spaCy pipeline and no generator."""

from pathlib import Path

import pytest
from runtimes import BareRuntime, Embedder

from harness.core.records import Document, Prediction, Query
from harness.models.metering import Meter, metered
from harness.runner.executing.system_runtime import Unnamed, WorkerRuntime
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.params import GraphSearchParams
from systems.kg.system import KgSystem

pytestmark = pytest.mark.slow

PLAIN = "Ingrid Solvane runs Tidewright Power. Tidewright Power built the Gull Sound array near Port Aldery."


async def ask(folder: Path, *texts: str) -> tuple[int | None, Prediction]:
    runtime = BareRuntime(folder, chat=None)
    system = KgSystem(GraphIndexParams(extractor="nlp"), GraphSearchParams(mode="triplets"), runtime)
    try:
        stats = await system.index([Document(doc_id=f"d{n}", text=text) for n, text in enumerate(texts)])
        await system.load()
        return stats.failed_chunks, await system.answer(Query(query_id="q", text="Who runs Tidewright Power?"))
    finally:
        system.close()


async def test_by_rules_the_index_asks_for_no_generator(tmp_path: Path) -> None:
    runtime = WorkerRuntime(tmp_path, 0, Unnamed("generator"), Embedder())
    system = KgSystem(GraphIndexParams(extractor="nlp"), GraphSearchParams(), runtime)
    with metered(Meter("index")):
        stats = await system.index([Document(doc_id="d", text=PLAIN)])
    system.close()
    assert stats.nodes


@pytest.mark.parametrize("text", ["", " \n\t", "a", "a\x00b\r\n潮汐 \ufeff\u2028", '{"a": 1} | a | b | [x](y)'])
async def test_a_corpus_without_a_single_name_is_searched_in_vain(tmp_path: Path, text: str) -> None:
    failed, prediction = await ask(tmp_path, text)
    assert (failed, prediction.contexts) == (0, ())
