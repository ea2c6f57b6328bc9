"""The same graph in, the same triplets and passages out, from both stores."""

from pathlib import Path

import pytest
from graph_samples import chunks_of, directions, random_graph
from neo4j_server import Neo4jServer

from harness.core.records import Document
from systems.common.graph_stores.ladybug import LadybugStore
from systems.common.graph_stores.neo4j import Neo4jStore


@pytest.mark.slow
async def test_both_stores_answer_alike(neo4j_server: Neo4jServer, tmp_path: Path) -> None:
    documents = [
        Document(doc_id=f"d{number}", text=f"text {number} " * 30, title=f"Title {number}") for number in range(60)
    ]
    kept = random_graph(chunks_of(documents, size=100), entities=400, relations=3000)
    vectors = directions(len(kept.chunks), 32)
    (tmp_path / "ladybug").mkdir()
    (tmp_path / "neo4j").mkdir()
    ladybug, server = LadybugStore(tmp_path / "ladybug"), Neo4jStore(tmp_path / "neo4j")
    try:
        for store in (ladybug, server):
            await store.write(kept, vectors)
        assert await ladybug.size() == await server.size()
        ids = [entity.entity_id for entity in kept.entities]
        for start in range(0, len(ids), 40):
            assert await ladybug.triplets_of(ids[start : start + 9]) == await server.triplets_of(
                ids[start : start + 9]
            )
        for phrase in ("Person 7", "person 11 or 42", "394 395 396"):
            here, there = [await store.find_entities(phrase, 20) for store in (ladybug, server)]
            assert [(hit.entity_id, hit.degree) for hit in here] == [(hit.entity_id, hit.degree) for hit in there]
        for query in directions(10, 32, seed=77):
            one, two = [await store.nearest_chunks(query, 15) for store in (ladybug, server)]
            assert [(item.text, item.span) for item in one] == [(item.text, item.span) for item in two]
            assert [item.score for item in one] == pytest.approx([item.score for item in two], abs=1e-5)
        some = [chunk.chunk_id for chunk in kept.chunks[::7]]
        assert await ladybug.chunks(some) == await server.chunks(some)
    finally:
        await server.drop()
        ladybug.close()
        server.close()
