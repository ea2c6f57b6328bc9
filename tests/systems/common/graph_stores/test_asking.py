"""Statements of others, asked of Ladybug and of Neo4j: the same rows, no harm, no end of time."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graph_samples import EDGES, chunks_of, graph, random_graph, unit
from hostile_cypher import AT_THE_BOUND, HEAVY

from harness.core.records import Document
from systems.common.cypher.statement_check import read_statement
from systems.common.graph_stores.contract import AskFailed, GraphStore, Sources
from systems.common.knowledge_graph import KnowledgeGraph

NewStore = Callable[[Path], GraphStore]
CHUNKS = chunks_of(
    [
        Document(
            doc_id=f"d{number}",
            text=f"text {number}",
            title=f"T{number}",
            metadata={"source": "The Post", "published_at": f"2024-01-{number + 1:02d}"},
        )
        for number in range(9)
    ]
)


async def filled(store: GraphStore, kept: KnowledgeGraph) -> GraphStore:
    await store.write(kept, unit(np.random.default_rng(1).normal(size=(len(kept.chunks), 4)).astype(np.float32)))
    return store


async def rows(store: GraphStore, text: str) -> list[list[object]]:
    return await store.ask(read_statement(text, 20), 30.0)


async def test_both_stores_answer_alike_whatever_they_call_things_inside(store: GraphStore) -> None:
    """The sample has relations between entities that are called MENTIONS and PART_OF."""
    await filled(store, graph(CHUNKS, EDGES))
    assert await rows(
        store,
        "MATCH (a:Entity)-[r:RELATES]->(b) WHERE toLower(a.name) = 'sam altman' "
        "RETURN a.name, r.relation, b.name, r.chunk_ids ORDER BY b.name",
    ) == [
        ["Sam Altman", "MENTIONS", "Microsoft", ["000000-00000"]],
        ["Sam Altman", "LEADS", "OpenAI", ["000000-00000", "000002-00000"]],
    ]
    assert await rows(
        store,
        "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity {name: 'GitHub'}), (c)-[:PART_OF]->(d:Document) "
        "RETURN d.doc_id, d.published_at ORDER BY d.doc_id",
    ) == [["d2", "2024-01-03"], ["d3", "2024-01-04"]]
    assert (
        await rows(store, "MATCH (a)-[:PART_OF]->(b) WHERE b.name = 'Silicon Valley' RETURN a.name, a.chunk_id")
        == []
    )
    assert await rows(
        store, "MATCH (d:Document) WHERE d.published_at >= '2024-01-08' RETURN count(DISTINCT d.doc_id) AS n"
    ) == [[2]]
    assert await rows(store, "MATCH (a)--(b) WHERE a.name = 'GitHub' RETURN b.chunk_id ORDER BY b.chunk_id") == [
        ["000002-00000"],
        ["000003-00000"],
        [None],
    ]


async def test_what_a_database_refuses_is_one_line_and_the_next_statement_is_answered(store: GraphStore) -> None:
    await filled(store, graph(CHUNKS, EDGES))
    broken = read_statement("MATCH (a:Entity) WITH a.name AS n RETURN a.doc_id", 20)
    with pytest.raises(AskFailed) as failure:
        await store.ask(broken, 30.0)
    assert "\n" not in str(failure.value)
    assert await rows(store, "MATCH (d:Document) RETURN d.doc_id ORDER BY d.doc_id LIMIT 1") == [["d0"]]


async def test_sources_are_what_is_stored_with_the_day_it_was_published(store: GraphStore) -> None:
    await filled(store, graph(CHUNKS, EDGES))
    found = await store.sources(["d4", "made up", "d1", "d4"], ["000001-00000", "000007-00000", "none"])
    assert found.published == {"d4": "2024-01-05", "d1": "2024-01-02", "d7": "2024-01-08"}
    assert found.owners == {"000001-00000": "d1", "000007-00000": "d7"}
    assert await store.sources([], []) == Sources({}, {})


@pytest.mark.slow
async def test_the_largest_statements_end_in_time_and_the_next_is_answered_at_once(
    new_store: NewStore, tmp_path: Path
) -> None:
    chunks = chunks_of([Document(doc_id=f"d{number}", text="word " * 200) for number in range(300)])
    store = await filled(new_store(tmp_path / "large"), random_graph(chunks, 1_000, 6_000))
    before, failures = await store.size(), list[str]()
    for text in (*HEAVY, *AT_THE_BOUND):
        statement, began = read_statement(text, 20), time.monotonic()
        try:
            await store.ask(statement, 0.3)
        except AskFailed as failure:
            failures.append(str(failure))
        assert time.monotonic() - began < 30
    assert failures
    began = time.monotonic()
    assert await rows(store, "MATCH (d:Document) RETURN count(d.doc_id) AS n") == [[300]]
    assert time.monotonic() - began < 10
    assert await store.size() == before
