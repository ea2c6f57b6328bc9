"""What is Ladybug's alone: its files."""

import os
import subprocess
import sys
from pathlib import Path

import graph_samples
import pytest
from graph_samples import EDGES, chunks_of, directions, expected, graph, texts, written

from harness.records import Document
from systems.parts.chunking import Chunk
from systems.parts.graph import KnowledgeGraph
from systems.parts.graph_stores.ladybug import LadybugStore

FILES = {"passages", "entities.sqlite", "graph.lbug"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["we[i]rd", "st*r", "wh?", "it's", 'dou"ble', "back\\slash", "#1 50%25 ü {a,b}"])
async def test_any_name_of_a_folder_will_do(tmp_path: Path, name: str) -> None:
    kept = graph(texts(4), EDGES)
    # What a pattern would match too.
    for other in ("star", "who", "weird"):
        (tmp_path / other / "unfinished").mkdir(parents=True)
        (tmp_path / other / "unfinished" / "Document.csv").write_text("x,x,x,x,x\n")
    folder = tmp_path / name
    folder.mkdir()
    store = await written(LadybugStore(folder), kept)
    assert await store.triplets_of(["openai"]) == expected(kept, ["openai"])
    assert (await store.size()).documents == 4
    assert [hit.name for hit in await store.find_entities("github", 2)] == ["GitHub"]
    store.close()
    assert {path.name for path in folder.iterdir()} == FILES


WRITES_AND_READS = """
import asyncio, sys
from pathlib import Path
from graph_samples import EDGES, directions, graph, texts
from systems.parts.graph_stores.ladybug import LadybugStore

async def work():
    for _ in range(2):
        store = LadybugStore(Path(sys.argv[1]))
        if not list(Path(sys.argv[1]).iterdir()):
            await store.write(graph(texts(4), EDGES), directions(4))
        assert len(await store.triplets_of(["openai"])) == 3
        assert len(await store.nearest_chunks(directions(1)[0], 2)) == 2
        store.close()
asyncio.run(work())
"""


@pytest.mark.slow
def test_nothing_is_written_outside_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    folder = tmp_path / "index"
    outside.mkdir()
    folder.mkdir()
    support = Path(graph_samples.__file__).parent
    paths = os.pathsep.join([str(support), str(support.parents[1])])
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(outside))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WRITES_AND_READS, str(folder)],
        cwd=outside,
        env={**os.environ, **homes, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(outside.rglob("*")) == []
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "index"}
    assert {path.name for path in folder.iterdir()} == FILES


@pytest.mark.slow
async def test_a_long_text_of_one_document_and_its_id_are_no_trouble(tmp_path: Path) -> None:
    source = Document(doc_id="i" * 100_000, text='wörd "\n' * 2_000_000, title="t" * 100_000)
    kept = graph(chunks_of([source], size=len(source.text)), EDGES[:0])
    store = await written(LadybugStore(tmp_path), kept)
    (found,) = await store.chunks(["000000-00000"])
    assert found.text.endswith(source.text)
    assert found.doc_ids == (source.doc_id,)
    store.close()


async def test_a_chunk_id_that_a_list_could_not_hold_is_refused(tmp_path: Path) -> None:
    chunk = texts(1)[0]
    odd = Chunk("a,b", chunk.text, chunk.span, chunk.document)
    with pytest.raises(ValueError, match="chunk id"):
        await LadybugStore(tmp_path).write(graph([odd], [("A", "KNOWS", "B", (0,))]), directions(1))


@pytest.mark.parametrize("left", [set(), {"passages"}, {"passages", "entities.sqlite"}])
async def test_an_unfinished_index_is_no_index(tmp_path: Path, left: set[str]) -> None:
    for name in left:
        (tmp_path / name).mkdir()
    store = LadybugStore(tmp_path)
    with pytest.raises(FileNotFoundError, match="no finished graph"):
        await store.size()
    store.close()


def test_the_empty_graph_has_nothing_to_copy() -> None:
    assert graph([]) == KnowledgeGraph((), (), (), ())
