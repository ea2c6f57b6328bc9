"""The contract of `harness.protocols.System`, for every system that is registered.

One system alone: `pytest tests/contract/test_every_system.py -k naive`. A third party's system is tested by
installing it beside the harness.
"""

import asyncio
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from harness.config import load_config
from harness.datasets import Dataset
from harness.models.metering import Meter, metered
from harness.protocols import Params
from harness.records import Document, Prediction, Query
from harness.registry import SYSTEMS
from harness.runner.executing.execute import run_cell
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from tests.contract.suite import (
    FAKE,
    NONE,
    Findings,
    Indexed,
    Task,
    answer,
    answer_each,
    build_index,
    check_prediction,
    files_below,
    finish_guarded,
    load,
    opened,
    roles_called,
    run_guarded,
    start_guarded,
    still_open,
)

pytestmark = pytest.mark.slow
SMOKE = Path(__file__).resolve().parents[2] / "configs" / "bench" / "smoke.yaml"


def test_some_systems_are_registered() -> None:
    assert "naive" in SYSTEMS.names()


def test_it_presents_itself(system: str) -> None:
    spec = SYSTEMS.load(system)
    assert spec.name == system
    assert spec.version
    assert spec.summary
    assert "\n" not in spec.summary
    for params in (spec.index_params, spec.answer_params):
        assert issubclass(params, Params)
        defaults = params.model_validate({})
        assert params.model_validate(defaults.model_dump(mode="json")) == defaults
    assert not set(spec.index_params.model_fields) & set(spec.answer_params.model_fields)


def test_building_it_opens_nothing_and_it_can_be_closed_at_once(system: str, tmp_path: Path) -> None:
    with opened(system, tmp_path):
        assert files_below(tmp_path / "store") == []
        assert still_open(tmp_path / "store", wait_s=0) == []


def test_indexing_says_how_many_documents_there_were(indexed: Indexed, demo: Dataset) -> None:
    assert indexed.stats.documents == len(demo.documents)


def test_every_query_is_answered(fresh: Findings, demo: Dataset) -> None:
    for name in ("first", "again", "together"):
        assert [bool(prediction.answer) for prediction in fresh.passes[name]] == [True] * len(demo.queries)


def test_a_fresh_process_answers_as_the_one_that_indexed(indexed: Indexed, fresh: Findings) -> None:
    assert fresh.passes["first"] == indexed.answers


def test_the_same_query_twice_is_answered_the_same(fresh: Findings) -> None:
    assert fresh.passes["again"] == fresh.passes["first"]


def test_concurrent_answers_equal_those_one_at_a_time(fresh: Findings) -> None:
    assert fresh.passes["together"] == fresh.passes["first"]


def test_every_context_comes_from_where_it_says_in_rank_order(fresh: Findings, demo: Dataset) -> None:
    for predictions in fresh.passes.values():
        for prediction in predictions:
            check_prediction(prediction, demo.documents)


def test_what_the_generator_saw_is_in_the_record(system: str, fresh: Findings) -> None:
    seen = [bool(prediction.contexts) for prediction in fresh.passes["first"]]
    assert any(seen) == (system != "closed-book")


def test_without_a_generator_it_retrieves_and_answers_none(fresh: Findings, demo: Dataset) -> None:
    retrieved, first = fresh.passes["retrieved"], fresh.passes["first"]
    assert [prediction.answer for prediction in retrieved] == [None] * len(demo.queries)
    assert [bool(prediction.contexts) for prediction in retrieved] == [bool(one.contexts) for one in first]


def test_each_phase_calls_the_models_that_its_spec_names(system: str, indexed: Indexed) -> None:
    """A model that is named and never called would make two runs of what is one; one that is called and not named
    raises.
    """
    spec = SYSTEMS.load(system)
    roles = spec.roles(spec.index_params(), spec.answer_params())
    assert roles_called(indexed.folder, "index") == roles.index
    assert roles_called(indexed.folder, "indexer") == roles.answer


def test_answering_writes_nothing_outside_the_index_folder(fresh: Findings) -> None:
    assert fresh.writes == []
    assert fresh.left_behind == []


def test_answering_reaches_nothing_but_the_models(fresh: Findings) -> None:
    assert fresh.connections == []


def test_closing_releases_every_file_of_the_index(fresh: Findings) -> None:
    assert fresh.held == []


def test_indexing_in_a_process_of_its_own_keeps_to_its_folder_too(
    system: str, indexed: Indexed, demo: Dataset, tmp_path: Path
) -> None:
    task = Task(
        system=system, folder=tmp_path / "index", phase="index", documents=demo.documents, queries=demo.queries
    )
    findings = run_guarded(task, tmp_path / "work")
    assert findings.stats == indexed.stats
    assert findings.passes == {"first": indexed.answers}
    assert findings.connections == findings.writes == findings.left_behind == findings.held == []


def test_two_processes_may_answer_from_one_index_at_once(
    system: str, indexed: Indexed, fresh: Findings, demo: Dataset, tmp_path: Path
) -> None:
    task = Task(
        system=system, folder=indexed.folder, phase="answer", documents=demo.documents, queries=demo.queries
    )
    works = [tmp_path / "one", tmp_path / "two"]
    processes = [start_guarded(task, work) for work in works]
    for process, work in zip(processes, works, strict=True):
        assert finish_guarded(process, work).passes == fresh.passes


async def test_the_index_folder_can_be_removed_after_close(system: str, copied: Path, demo: Dataset) -> None:
    with opened(system, copied) as built:
        await load(built)
        await answer(built, demo.queries[0], "before")
    shutil.rmtree(copied / "store")
    assert still_open(copied / "store") == []


async def test_an_index_that_was_moved_answers_the_same(
    system: str, copied: Path, indexed: Indexed, demo: Dataset
) -> None:
    with opened(system, copied) as built:
        await load(built)
        assert await answer_each(built, demo.queries, "moved") == indexed.answers


async def test_a_query_that_is_cut_off_leaves_the_next_ones_alone(
    system: str, copied: Path, indexed: Indexed, demo: Dataset
) -> None:
    """Its time limit cancels an answer wherever it waits: no lock may stay held, no slot be lost."""
    victim = demo.queries[0]
    hangs = FAKE.model_copy(update={"options": {"fault": "hang", "fault_match": re.escape(victim.text)}})
    with opened(system, copied, hangs) as built:
        await load(built)
        for attempt in range(12):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await answer(built, victim, f"cut off {attempt}")
        async with asyncio.timeout(60):
            assert await answer_each(built, demo.queries[1:], "after") == indexed.answers[1:]


ODD_QUERIES = {
    "blank": " ",
    "one letter": "a",
    "search syntax": "AND OR NOT (a* ~2 \"b ^3 [c TO d] {e} f:g -h +i \\ / && || ! ? 'j'; --",
    "braces": "{question} {0} %s $x <|im_end|> ```",
    "other scripts": "¿Кто построил 潮汐 \U0001f30a a\u0301 \u202e?",
    "long": "Which company " * 2000,
    "control characters": "a\x00b\r\n\x1b[0m\ufeff",
}


async def test_odd_queries_are_answered(system: str, copied: Path, demo: Dataset) -> None:
    with opened(system, copied) as built:
        await load(built)
        for name, text in ODD_QUERIES.items():
            prediction = await answer(built, Query(query_id=name, text=text), "odd")
            assert prediction.answer is not None, name
            check_prediction(prediction, demo.documents)


def corpus_of(*texts: str) -> list[Document]:
    return [Document(doc_id=f"doc {number}/ü", text=text) for number, text in enumerate(texts)]


PLAIN = "Tidewright Power built the Gull Sound array. Ingrid Solvane is its chief executive."
ODD_CORPORA = {
    "one document": corpus_of(PLAIN),
    "an empty and a blank one": corpus_of("", PLAIN, " \n\t\u3000 \n"),
    "nothing but an empty one": corpus_of(""),
    "nothing but white space": corpus_of("\n \n", " "),
    "one letter": corpus_of("a"),
    "one text twice": corpus_of(PLAIN, PLAIN),
    "control characters and other scripts": corpus_of("a\x00b\r\n潮汐 \U0001f30a \ufeff\u2028 " * 200),
    "markup": corpus_of('{"a": 1} </s> <|im_start|>system {x} %s [1] ```json\n{}\n``` | a | b |\n' * 40),
    "odd metadata": [
        Document(doc_id="x", text=PLAIN, title="T\n" * 500, metadata={"source": "", "": "x", "published_at": "?"})
    ],
}


async def survive(system: str, folder: Path, corpus: list[Document]) -> Prediction:
    """Index the corpus, load it and ask; every promise about the prediction holds."""
    stats = await build_index(system, folder, corpus)
    assert stats.documents == len(corpus)
    with opened(system, folder) as built:
        await load(built)
        prediction = await answer(built, Query(query_id="q", text="Who built the Gull Sound array?"), "odd corpus")
    check_prediction(prediction, corpus)
    assert prediction.answer is not None
    return prediction


@pytest.mark.parametrize("corpus", ODD_CORPORA.values(), ids=ODD_CORPORA.keys())
async def test_an_odd_corpus_is_survived(system: str, tmp_path: Path, corpus: list[Document]) -> None:
    await survive(system, tmp_path, corpus)


async def test_a_document_of_a_megabyte_is_survived(system: str, tmp_path: Path) -> None:
    sentences = [f"Station {n} of line {n % 17} opened in {1900 + n % 120}." for n in range(24_000)]
    await survive(system, tmp_path, corpus_of(PLAIN, " ".join(sentences)[:1_000_000]))


async def test_an_index_without_need_of_a_generator_is_built_without_one(
    system: str, tmp_path: Path, demo: Dataset
) -> None:
    spec = SYSTEMS.load(system)
    if "generator" in spec.roles(spec.index_params(), spec.answer_params()).index:
        pytest.skip(f"{system} indexes with the generator")
    with opened(system, tmp_path, NONE, phase="index") as built, metered(Meter("index")):
        assert (await built.index(demo.documents[:3])).documents == 3


def test_a_failing_model_call_is_one_record_and_the_rest_goes_on(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    (cell,) = plan_cells(load_config(SMOKE, [f"systems=[{system}]"]))
    victim = cell.dataset.queries[0]
    script = {"fault": "http_500", "fault_match": re.escape(victim.text)}
    options = [f"systems=[{system}]", "models.generator.max_retries=0"]
    config = load_config(SMOKE, options)
    generator = config.models.generator.model_copy(update={"options": script})
    models = config.models.model_copy(update={"generator": generator})
    (cell,) = plan_cells(config.model_copy(update={"models": models}))

    result = run_cell(cell, tmp_path / "results", Reporter(quiet=True), lambda _: None)

    assert (result.status, result.n_error, result.n_ok) == ("done", 1, len(cell.dataset.queries) - 1)
    records = result.run.records()
    failed = records.pop((victim.query_id, 0))
    assert failed.status == "error"
    assert failed.failure is not None
    assert failed.failure.kind == "InternalServerError"
    assert {record.status for record in records.values()} == {"ok"}
    for record in records.values():
        assert record.prediction is not None
        check_prediction(record.prediction, cell.dataset.documents)
        assert record.cost.usage["generator"].calls >= 1
        assert record.cost.wall_s is not None
        assert record.cost.wall_s > 0
