"""What is Neo4j's alone: many indexes in one server, and folders that only point there."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_samples import EDGES, directions, expected, graph, random_graph, texts, unit, written
from killing import suspended
from neo4j_server import Neo4jServer, call_script, neo4j_home, unset

from harness.core.errors import ServiceUnavailable
from systems.common.graph_stores import neo4j, neo4j_space
from systems.common.graph_stores.contract import AskFailed
from systems.common.graph_stores.neo4j import Neo4jStore
from systems.common.graph_stores.neo4j_server import Neo4jSettings, connect, rows_of
from systems.common.graph_stores.neo4j_space import Space, create_searches
from systems.cypher_agent.statement_check import read_statement

pytestmark = pytest.mark.slow
New = Callable[[str], Neo4jStore]


@pytest.fixture
async def new(neo4j_server: Neo4jServer, tmp_path: Path) -> Any:
    """Stores in folders of these names; all dropped afterwards."""
    made: list[tuple[Path, Neo4jStore]] = []

    def store(name: str) -> Neo4jStore:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        made.append((folder, Neo4jStore(folder)))
        return made[-1][1]

    yield store
    for _, one in made:
        one.close()
    for folder in {folder for folder, _ in made if folder.exists()}:
        await Neo4jStore(folder).drop()


@pytest.fixture
def ask(neo4j_server: Neo4jServer) -> Iterator[Callable[[str], list[list[Any]]]]:
    driver = connect(Neo4jSettings.from_environment())
    yield lambda query: rows_of(driver, query)
    driver.close()


async def test_indexes_in_one_server_never_see_or_change_each_other(new: New) -> None:
    a, b = graph(texts(4), EDGES), graph(texts(3), [("Sam Altman", "LEADS", "Worldcoin", (0, 1)), *EDGES[1:2]])
    first, second = await written(new("a"), a), await written(new("b"), b)
    for store, kept in ((first, a), (second, b), (first, a)):
        size = await store.size()
        assert (size.chunks, size.entities) == (len(kept.chunks), len(kept.entities))
        assert await store.triplets_of(["sam altman"]) == expected(kept, ["sam altman"])
        ids = {entity.entity_id for entity in kept.entities}
        hits = await store.find_entities("sam altman openai worldcoin github microsoft silicon valley", 50)
        assert {hit.entity_id for hit in hits} == ids
        assert len(await store.nearest_chunks(directions(1)[0], 50)) == len(kept.chunks)
    before = await second.size(), await second.find_entities("openai", 5)
    again = await written(new("a"), graph(texts(2)), dimension=4)
    assert (await again.size()).chunks == 2
    await again.drop()
    assert (await second.size(), await second.find_entities("openai", 5)) == before
    assert await second.triplets_of(["sam altman"]) == expected(b, ["sam altman"])
    assert len(await second.nearest_chunks(directions(1)[0], 5)) == 3


async def test_an_index_is_typed_edges_and_a_file_without_secrets_and_drop_leaves_nothing_of_it(
    new: New, neo4j_server: Neo4jServer, tmp_path: Path, ask: Callable[[str], list[list[Any]]]
) -> None:
    store = await written(new("a"), graph(texts(4), [*EDGES, ("A", "no type", "B", (0,))]))
    space = Space.of(tmp_path / "a")
    label = space.label("Entity")
    found = ask(f"MATCH (:{label})-[r]->(:{label}) RETURN DISTINCT type(r), r.relation ORDER BY type(r)")
    assert found == [
        *([name, name] for name in ("LEADS", "MENTIONS", "OWNS", "PARTNER_OF", "PART_OF")),
        ["RELATES", "no type"],
    ]
    (file,) = (tmp_path / "a").iterdir()
    text = file.read_text(encoding="utf-8")
    told = json.loads(text)
    counts = {"documents": 4, "chunks": 4, "entities": 7, "relations": 6, "mentions": 15}
    assert told.pop("build")
    assert told == {"space": space.name, "server": neo4j_server.uri, **counts}
    assert neo4j_server.password not in text + repr(store) + repr(vars(store)) + repr(neo4j_server)
    indexes = f"SHOW INDEXES YIELD name, state WHERE name STARTS WITH '{space.name}' RETURN state"
    assert ask(indexes) == [["ONLINE"]] * 5
    await store.drop()
    await store.drop()
    nouns = ("Entity", "Chunk", "Document", "Index")
    assert [ask(f"MATCH (n:`{space.name}{noun}`) RETURN count(n)") for noun in nouns] == [[[0]]] * 4
    assert ask(indexes) == []
    with pytest.raises(ServiceUnavailable) as refused:
        await new("a").size()
    uri = neo4j_server.uri
    assert str(refused.value) == (
        f"Neo4j at {uri} does not have the graph of {tmp_path / 'a'} (it was written to {uri}): "
        f"start the server that has it, or delete {tmp_path} to build it again"
    )


async def test_a_graph_that_the_folder_does_not_name_stays_whole_and_a_killed_build_is_replaced(
    new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(*_: Any) -> None:
        raise KeyboardInterrupt

    await written(new("a"), graph(texts(3), EDGES[:2]))
    # Likewise where another container calls a folder of its own so.
    shutil.move(tmp_path / "a", tmp_path / "b")
    with monkeypatch.context() as changed:
        changed.setattr("systems.common.graph_stores.neo4j_space.create_searches", kill)
        with pytest.raises(KeyboardInterrupt):
            new("a")._write(graph(texts(2)), directions(2))
    for chunks in (2, 1):
        assert (await (await written(new("a"), graph(texts(chunks)))).size()).chunks == chunks
        assert (await new("b").size()).chunks == 3
        written_to = json.loads((tmp_path / "a" / "neo4j.json").read_text(encoding="utf-8"))["space"]
        assert written_to == Space.of(tmp_path / "a", 1).name


async def test_ties_beyond_the_candidates_come_in_corpus_order(new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neo4j, "_CANDIDATES", 30)
    same, far = unit(np.ones((1, 16))), directions(20)
    rows = np.concatenate([far[:10], same.repeat(200, 0), far[10:]])
    store = new("a")
    await store.write(graph(texts(len(rows))), rows)
    found = await store.nearest_chunks(same[0], 12)
    assert [context.doc_ids for context in found] == [(f"d{number}",) for number in range(10, 22)]


async def test_a_server_that_stands_still_keeps_no_statement_waiting_and_no_store_open(
    new: New, neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neo4j, "GRACE_S", 1.0)
    monkeypatch.setattr(neo4j, "CLOSE_WAIT_S", 2.0)
    pid_file = neo4j_server.state / "run" / "neo4j.pid"
    if not pid_file.is_file():
        pytest.skip("needs a server that is a process of this machine")
    store = await written(new("a"), graph(texts(3)))
    statement = read_statement("MATCH (d:Document) RETURN d.doc_id", 1)
    assert len(await store.ask(statement, 30.0)) == 1
    with suspended(int(pid_file.read_text())):
        began = time.monotonic()
        with pytest.raises(AskFailed):
            await store.ask(statement, 0.5)
        store.close()
        assert time.monotonic() - began < 20
    assert len(await new("a").ask(statement, 30.0)) == 1


async def test_a_server_killed_while_a_graph_is_written_is_one_line_and_the_next_write_is_whole(
    new: New, neo4j_server: Neo4jServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the session, started again for the tests after this one."""
    home, state = neo4j_home(), neo4j_server.state
    if home is None:
        pytest.skip("needs a server that is a process of this machine")
    kept = random_graph(texts(40), entities=60, relations=200)
    await written(new("b"), kept)
    port = neo4j_server.uri.rsplit(":", 1)[1]
    again = {**unset(os.environ), **neo4j_server.environment, "NEO4J_STATE": str(state), "NEO4J_BOLT_PORT": port}

    def kill(*words: Any) -> None:
        os.kill(int((state / "run" / "neo4j.pid").read_text()), signal.SIGKILL)
        create_searches(*words)

    try:
        with monkeypatch.context() as changed:
            changed.setattr(neo4j_space, "create_searches", kill)
            with pytest.raises(ServiceUnavailable):
                await new("a").write(kept, directions(40))
    finally:
        assert call_script("start", {**again, "NEO4J_HOME": str(home)}).returncode == 0
    assert list((tmp_path / "a").iterdir()) == []
    for store in (await written(new("a"), kept), new("b")):
        assert (await store.size()).relations == len(kept.relations)
        assert await store.triplets_of(["person 1"]) == expected(kept, ["person 1"])
