"""What is Ladybug's alone: its files."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import graph_samples
import psutil
import pytest
from graph_samples import EDGES, directions, expected, graph, texts, written
from hypothesis import given
from hypothesis import strategies as st

from systems.common.chunking import Chunk
from systems.common.graph_stores.contract import AskFailed, Calls, ReadStatement
from systems.common.graph_stores.entity_name_search import query_words, words
from systems.common.graph_stores.ladybug import LadybugStore
from systems.cypher_agent import graph_schema
from systems.cypher_agent.statement_check import read_statement

FILES = {"passages", "entities.sqlite", "graph.lbug"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["we[i]rd st*r wh?", "it's dou\"ble back\\slash #1 50%25 ü {a,b}"])
async def test_any_name_of_a_folder_will_do(tmp_path: Path, name: str) -> None:
    kept = graph(texts(4), EDGES)
    # What a pattern would match too.
    decoy = tmp_path / "weird star who" / "unfinished"
    decoy.mkdir(parents=True)
    (decoy / "Document.csv").write_text("x,x,x,x,x\n")
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
from systems.common.graph_stores.ladybug import LadybugStore

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


# statements of others

FIRST = "MATCH (d:Document) RETURN d.doc_id ORDER BY d.doc_id LIMIT 1"


def asking_processes() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if any("ladybug_process" in word for word in child.cmdline())]


@pytest.fixture
def unplannable(monkeypatch: pytest.MonkeyPatch) -> ReadStatement:
    """Ladybug plans it for minutes. It is refused before it gets there; here it is not."""
    for bound in ("MOST_NODES", "MOST_RELATIONSHIPS", "MOST_UNLABELLED"):
        monkeypatch.setattr(graph_schema, bound, 100)
    leaves = ", ".join(f"(c)--(n{number})" for number in range(20))
    return read_statement(f"MATCH (c:Chunk), {leaves} RETURN c.doc_id LIMIT 1", 20)


@pytest.mark.slow
async def test_a_statement_never_planned_is_ended_and_the_next_answered(
    tmp_path: Path, unplannable: ReadStatement
) -> None:
    store = await written(LadybugStore(tmp_path), graph(texts(4), EDGES))
    await store.ask(read_statement(FIRST, 20), 30.0)
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(AskFailed):
            await store.ask(unplannable, 0.5)
        assert time.monotonic() - began < 10
        assert await store.ask(read_statement(FIRST, 20), 30.0) == [["d0"]]
    store.close()
    assert asking_processes() == []


@pytest.mark.slow
async def test_close_waits_for_no_statement(tmp_path: Path, unplannable: ReadStatement) -> None:
    store = await written(LadybugStore(tmp_path), graph(texts(4), EDGES))
    asked = [asyncio.create_task(store.ask(unplannable, 600.0)) for _ in range(2)]
    await asyncio.sleep(1)
    asked[0].cancel()
    began = time.monotonic()
    store.close()
    assert time.monotonic() - began < 10
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(end, AskFailed | RuntimeError | asyncio.CancelledError) for end in ends)
    assert asking_processes() == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_process_that_asks_has_no_key_and_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "json.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "index").mkdir()
    store = await written(LadybugStore(tmp_path / "index"), graph(texts(4), EDGES))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    assert await store.ask(read_statement(FIRST, 20), 30.0) == [["d0"]]
    (child,) = asking_processes()
    assert "hush" not in child.environ().values()
    store.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("U.S. Steel's Café", ["u", "s", "steel", "s", "cafe"]),
        ("ÅNGSTRÖM Straße \ufb01 \u2167", ["angstrom", "strasse", "fi", "viii"]),
        ("Йод ёлка", ["иод", "елка"]),
        ("हिन्दी", ["हिन्दी"]),
        ("a\x00b\x1bc", ["a", "b", "c"]),
        ("x" * 150, ["x" * 100]),
    ],
)
def test_words_are_runs_of_letters_digits_and_marks(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_hold_no_syntax_and_are_their_own_words(text: str) -> None:
    found = words(text)
    assert not any(set(word) & set("\"'\\*:()[]{}^~+-!&|/? \t\n\x00_") for word in found)
    assert [again for word in found for again in words(word)] == found or any(len(word) == 100 for word in found)


def test_a_query_holds_each_word_once_and_256_at_most() -> None:
    assert query_words("to be, or not TO BE") == ["to", "be", "or", "not"]
    assert query_words(" ".join(map(str, range(3000)))) == [str(number) for number in range(256)]


async def test_close_waits_for_what_a_cancelled_caller_left_running_and_nothing_starts_after_it() -> None:
    calls = Calls()
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        release.wait(10)
        ended.set()

    calls.check()
    task = asyncio.create_task(calls.run(work))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not calls.close(wait_s=0.05)
    release.set()
    assert calls.close()
    assert ended.is_set()
    with pytest.raises(RuntimeError, match="closed"):
        calls.check()
    with pytest.raises(RuntimeError, match="closed"):
        await calls.run(lambda: None)
