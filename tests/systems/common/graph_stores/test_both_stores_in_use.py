"""Graph stores among processes, folders that move, interruptions and many questions at once."""

import asyncio
import subprocess
import sys
from pathlib import Path

import graph_samples
import psutil
import pytest
from graph_samples import EDGES, directions, expected, graph, random_graph, texts, written

from harness.core.errors import MissingDependency
from systems.common.graph_index import StoreKind, open_store
from systems.common.graph_stores.contract import GraphStore
from systems.common.knowledge_graph import Entity, GraphSize, KnowledgeGraph, Mention

from .conftest import NewStore

# processes, folders, interruptions


def start(code: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *words],
        cwd=Path(graph_samples.__file__).parent,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
async def test_a_failed_write_leaves_nothing_to_the_next(new_store: NewStore, tmp_path: Path) -> None:
    broken = graph(texts(4), EDGES)
    broken = KnowledgeGraph(
        chunks=broken.chunks,
        entities=(*broken.entities, Entity("zombie", "Zombie")),
        relations=broken.relations,
        mentions=(*broken.mentions, Mention("000003-00000", "an entity that is not there")),
    )
    with pytest.raises(RuntimeError):
        await written(new_store(tmp_path / "index"), broken)
    kept = graph(texts(3), EDGES[:2])
    again = await written(new_store(tmp_path / "index"), kept, dimension=8)
    assert await again.size() == GraphSize(documents=3, chunks=3, entities=3, relations=2, mentions=6)
    assert await again.find_entities("zombie", 3) == []
    assert len(await again.nearest_chunks(directions(1, 8)[0], 10)) == 3


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from graph_samples import directions, random_graph, texts
from systems.common.graph_stores import contract as calls
from systems.common.graph_index import open_store

checks = 0
check = calls.Calls.check
def dying_check(self):
    # Between two steps of the work: the passages and the names are in, or the first nodes are.
    global checks
    checks += 1
    if checks == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    check(self)
calls.Calls.check = dying_check
asyncio.run(open_store(sys.argv[1], Path(sys.argv[2])).write(random_graph(texts(50), 50, 100), directions(50)))
"""


@pytest.mark.slow
async def test_the_next_write_replaces_a_killed_one(kind: StoreKind, new_store: NewStore, tmp_path: Path) -> None:
    store = new_store(tmp_path / "index")
    killed = start(KILLED, kind, str(tmp_path / "index"))
    assert (*killed.communicate(timeout=60), killed.returncode) == ("", "", -9)
    kept = graph(texts(3), EDGES[:2])
    await written(store, kept, dimension=8)
    assert await store.size() == GraphSize(documents=3, chunks=3, entities=3, relations=2, mentions=6)
    assert await store.triplets_of(["openai", "person 1"]) == expected(kept, ["openai"])


@pytest.mark.slow
async def test_a_cancelled_write_stops_when_the_store_is_closed(new_store: NewStore, tmp_path: Path) -> None:
    store = new_store(tmp_path / "index")
    writing = asyncio.create_task(written(store, random_graph(texts(300), entities=2000, relations=4000)))
    await asyncio.sleep(0.05)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    store.close()
    kept = graph(texts(3), EDGES[:2])
    again = await written(new_store(tmp_path / "index"), kept)
    assert await again.triplets_of(["openai"]) == expected(kept, ["openai"])


# many at once, and the end


@pytest.mark.slow
async def test_cancelled_questions_disturb_no_other_and_not_the_end(store: GraphStore) -> None:
    kept = random_graph(texts(200), entities=500, relations=3000)
    await written(store, kept)
    ids = [entity.entity_id for entity in kept.entities]
    vector = directions(1)[0]
    for delay in (0.0, 0.001, 0.003, 0.01):
        doomed = [
            asyncio.create_task(work)
            for work in (store.triplets_of(ids), store.find_entities("person 1", 50), store.size())
        ] + [asyncio.create_task(store.nearest_chunks(vector, 50))]
        await asyncio.sleep(delay)
        for task in doomed:
            task.cancel()
        assert await store.triplets_of(ids[:2]) == expected(kept, ids[:2])
        assert all(
            isinstance(end, asyncio.CancelledError | list | GraphSize)
            for end in await asyncio.gather(*doomed, return_exceptions=True)
        )
    last = [asyncio.create_task(store.triplets_of(ids)) for _ in range(4)]
    await asyncio.sleep(0.002)
    for task in last:
        task.cancel()
    store.close()


async def test_a_closed_store_answers_nothing_and_holds_nothing(store: GraphStore, tmp_path: Path) -> None:
    before = len(psutil.Process().net_connections())
    await written(store, graph(texts(4), EDGES))
    await asyncio.gather(
        *(store.triplets_of(["openai"]) for _ in range(5)), store.nearest_chunks(directions(1)[0], 2)
    )
    store.close()
    store.close()
    with pytest.raises(RuntimeError, match="closed"):
        await store.size()
    # Chroma closes its database from a thread of its own.
    for _ in range(500):
        below = [file.path for file in psutil.Process().open_files() if str(tmp_path) in file.path]
        if not below:
            break
        await asyncio.sleep(0.01)
    assert below == []
    assert len(psutil.Process().net_connections()) <= before


def test_a_missing_package_is_named(kind: StoreKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.errors.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"not installed: .*pip install 'rag-bench-harness\[system-kg\]'"):
        open_store(kind, tmp_path)
