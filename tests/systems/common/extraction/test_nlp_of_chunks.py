import pytest

from harness.core.records import Document
from systems.common.chunking import ChunkParams, iter_chunks
from systems.common.extraction.graph_assembly import assemble
from systems.common.extraction.nlp import NlpOfChunks


@pytest.mark.slow
async def test_real_articles_give_names_as_hubs_and_no_common_words(articles: tuple[Document, ...]) -> None:
    some = list(iter_chunks(articles[:3], ChunkParams()))
    found = await NlpOfChunks(None, lambda _done, _total: None).extract(some)
    graph = assemble(some, found)

    assert len(found) == len(some)
    assert graph.failed_chunks == 0
    assert len(graph.relations) > len(some)
    ends = {end for relation in graph.relations for end in (relation.head_id, relation.tail_id)}
    assert not ends & {"lot", "time", "way", "year", "thing", "people", "today", "monday", "2023", "one", "first"}
