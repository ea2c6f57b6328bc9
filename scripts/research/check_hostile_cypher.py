"""Can Cypher written by a model, or by a document through it, harm a graph store? Writes, files, requests, time.

Statements of `tests/support/hostile_cypher.py` are handled like the Cypher agent's: parsed, rejected or
rewritten, executed read-only. Each is tried unchanged and in disguise: behind a comment, in small letters, behind
a harmless statement with a semicolon, with UNION, with WITH. Both stores hold the same graph: Ladybug and a Neo4j
that this script starts and removes (NEO4J_HOME, or Docker). Then the stores are checked:

- writes: the graph, its indexes and the files of the folder, compared before and after;
- files read: rows with the content of a file on disk, and created files;
- requests: connections to a listening socket, at the address that the statements name;
- answered, ended: statements that the database answered, or did not (refused, or stopped in time);
- late: statements that took more than twice their time limit;
- next s: the time of a harmless statement right after all of them;
- peak MB: the most memory of the database's process (Neo4j's, or that of the process that queries Ladybug).

`bombs` are short statements that are too large to plan or store; `at the bound` is as large as allowed.

`unguarded` sends the statements that name a file or an address directly to the database, in a read-only session
and without the parser: its counts show that this script can detect them, and that the parser prevents them.

Examples:
  .venv/bin/python scripts/research/check_hostile_cypher.py
  .venv/bin/python scripts/research/check_hostile_cypher.py --stores ladybug --limit-s 1
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from common import command_line, import_from_tests, machine, print_table, started

from harness.core.errors import ServiceUnavailable
from harness.core.records import Document
from systems.common.cypher.statement_check import Refused, read_statement
from systems.common.graph_stores.contract import AskFailed, GraphStore
from systems.common.graph_stores.open_store import StoreKind, open_store

import_from_tests()
import hostile_cypher  # noqa: E402 - found by import_from_tests
from graph_samples import chunks_of, random_graph, written  # noqa: E402
from neo4j_server import has_docker_engine, neo4j_home, running_neo4j  # noqa: E402

HEADER = (
    "store",
    "way",
    "statements",
    "refused",
    "answered",
    "ended",
    "rows",
    "writes",
    "files",
    "requests",
    "late",
    "longest s",
    "next s",
    "peak MB",
)
_SAFE = "MATCH (d:Document) RETURN d.doc_id"
DISGUISES: dict[str, Callable[[str], str]] = {
    "as it stands": lambda text: text,
    "comment": lambda text: f"/* {_SAFE} */ {text}",
    "small letters": str.lower,
    "second": lambda text: f"{_SAFE}; {text}",
    "union": lambda text: f"{_SAFE} UNION {text}",
    "with": lambda text: f"MATCH (d:Document) WITH d.doc_id AS doc_id {text}",
}
_DUMPS = (
    "MATCH (d:Document) RETURN d.doc_id, d.title ORDER BY d.doc_id",
    "MATCH (c:Chunk) RETURN c.chunk_id, c.text ORDER BY c.chunk_id",
    "MATCH (e:Entity)<-[:MENTIONS]-(c:Chunk) "
    "RETURN e.entity_id, e.name, c.chunk_id ORDER BY e.entity_id, c.chunk_id",
    "MATCH (a:Entity)-[r:RELATES]->(b:Entity) "
    "RETURN a.name, r.relation, b.name, r.chunk_ids ORDER BY a.name, r.relation, b.name",
)
_MOST_ROWS = 100_000


@dataclass
class Seen:
    """The outcomes of statements."""

    statements: int = 0
    refused: int = 0
    answered: int = 0
    rows: int = 0
    files: int = 0
    late: int = 0
    longest_s: float = 0.0

    next_s: float = 0.0
    peak_mb: int = 0


class Listening:
    """A socket that counts connections."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.requests = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.requests += 1
                connection.close()

    def close(self) -> None:
        """Stop counting."""
        self._socket.close()


@dataclass(frozen=True)
class Bait:
    """What statements could reach."""

    folder: Path
    listening: Listening
    secret: str

    @classmethod
    def laid(cls, folder: Path, listening: Listening) -> Bait:
        """Create a file with unique content."""
        secret = f"canary{os.urandom(6).hex()}"
        (folder / "canary.csv").write_text(f"{secret},1\n")
        return cls(folder, listening, secret)

    def named_in(self, text: str) -> str:
        """The statement with our file, folder and address instead of its own."""
        named = text.replace("/etc/passwd", str(self.folder / "canary.csv"))
        named = named.replace("/tmp/evil", str(self.folder / "evil"))  # noqa: S108 - a text, not a path
        return named.replace("127.0.0.1:9", f"127.0.0.1:{self.listening.port}")

    @property
    def made(self) -> int:
        """Files and folders that were created beside it."""
        return len(list(self.folder.glob("evil*")))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--stores", nargs="+", choices=["ladybug", "neo4j"], default=["ladybug", "neo4j"])
    parser.add_argument("--limit-s", type=float, default=2.0, help="seconds per statement (default 2)")
    parser.add_argument("--ways", nargs="+", help="only these rows of the table")
    parser.add_argument("--entities", type=int, default=2_000, help="entities of the graph (default 2000)")
    chosen = parser.parse_args()
    rows: list[Sequence[str]] = []
    for kind in chosen.stores:
        rows += asyncio.run(_checked(kind, chosen.limit_s, chosen.entities, chosen.ways))
    print_table(HEADER, rows)
    print(f"\nlimit {chosen.limit_s:g} s a statement; {machine()}")


async def _checked(
    kind: StoreKind, limit_s: float, entities: int, only: Sequence[str] | None
) -> list[Sequence[str]]:
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        if kind == "neo4j":
            opened.enter_context(_server(folder / "server"))
        listening = Listening()
        opened.callback(listening.close)
        bait = Bait.laid(folder, listening)
        store = open_store(kind, _made(folder / "index"))
        opened.callback(store.close)
        chunks = chunks_of([Document(doc_id=f"d{n}", text="word " * 200, title=f"T{n}") for n in range(300)])
        await written(store, random_graph(chunks, entities, 10 * entities))
        rows = []
        for way, texts in _ways().items():
            if only and way not in only:
                continue
            before, requests, made = await _state(store), listening.requests, bait.made
            with _watched(folder / "server") as peak:
                seen = await _asked(store, [bait.named_in(text) for text in texts], bait.secret, limit_s)
            seen.peak_mb = peak() >> 20
            writes = int(await _state(store) != before)
            files = seen.files + bait.made - made
            rows.append(_row(kind, way, seen, (writes, files, listening.requests - requests)))
        requests, made = listening.requests, bait.made
        seen = _unguarded(kind, folder / "index", bait, limit_s)
        rows.append(
            _row(kind, "unguarded", seen, (None, seen.files + bait.made - made, listening.requests - requests))
        )
        return rows


def _ways() -> dict[str, list[str]]:
    ways = {name: [disguise(text) for text in hostile_cypher.REFUSED] for name, disguise in DISGUISES.items()}
    for name in ("bombs", "at the bound", "heavy", "harmless"):
        ways[name] = list(getattr(hostile_cypher, name.upper().replace(" ", "_")))
    return ways


@contextmanager
def _watched(server: Path) -> Iterator[Callable[[], int]]:
    """Peak memory of the server in this folder, else of any process that this one started."""
    ended, most = threading.Event(), [0]

    def watch() -> None:
        pid_file = server / "run" / "neo4j.pid"
        while not ended.wait(0.05):
            is_server = pid_file.is_file()
            with suppress(psutil.Error):
                found = [psutil.Process(int(pid_file.read_text()))] if is_server else psutil.Process().children()
                most[0] = max([*most, *(one.memory_info().rss for one in found)])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lambda: most[0]
    finally:
        ended.set()
        thread.join()


async def _asked(store: GraphStore, texts: Sequence[str], secret: str, limit_s: float) -> Seen:
    seen = Seen()
    for text in texts:
        began, found = time.monotonic(), list[list[Any]]()
        seen.statements += 1
        try:
            found = await store.ask(read_statement(text, 20), limit_s)
            seen.answered += 1
        except Refused:
            seen.refused += 1
        except AskFailed:
            pass
        _count(seen, found, secret, (time.monotonic() - began, limit_s))
    began = time.monotonic()
    await store.ask(read_statement(_SAFE, 20), limit_s)
    seen.next_s = time.monotonic() - began
    return seen


def _count(seen: Seen, found: Sequence[Sequence[Any]], secret: str, took: tuple[float, float]) -> None:
    seconds, limit_s = took
    seen.rows += len(found)
    seen.files += int(secret in repr(found))
    seen.late += int(seconds > 2 * limit_s)
    seen.longest_s = max(seen.longest_s, seconds)


def _unguarded(kind: StoreKind, index: Path, bait: Bait, limit_s: float) -> Seen:
    """The statements that name a file or an address, sent directly to the database."""
    seen = Seen()
    with _session(kind, index, limit_s) as ask:
        for text in (*hostile_cypher.READS_FILES, *hostile_cypher.SENDS_REQUESTS):
            began, found = time.monotonic(), list[list[Any]]()
            seen.statements += 1
            try:
                found = ask(bait.named_in(text))
                seen.answered += 1
            except Exception:  # each database has its own errors
                seen.refused += 1
            _count(seen, found, bait.secret, (time.monotonic() - began, limit_s))
    return seen


@contextmanager
def _session(kind: StoreKind, index: Path, limit_s: float) -> Iterator[Callable[[str], list[list[Any]]]]:
    """A read-only session of the store's database."""
    if kind == "ladybug":
        import ladybug

        (path,) = index.glob("graph*")
        connection = ladybug.Connection(ladybug.Database(path, read_only=True))
        connection.set_query_timeout(round(1000 * limit_s))
        yield lambda text: _all(connection.execute(text))
        return
    import neo4j

    address, auth = os.environ["NEO4J_URI"], ("neo4j", os.environ["NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(address, auth=auth, notifications_min_severity="OFF") as driver:

        def ask(text: str) -> list[list[Any]]:
            with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
                return [list(row.values()) for row in session.run(neo4j.Query(text, timeout=limit_s))]

        yield ask


def _all(result: Any) -> list[list[Any]]:
    rows: list[list[Any]] = result.get_all()
    return rows


async def _state(store: GraphStore) -> object:
    """The content of the graph."""
    return await store.size(), [await store.ask(read_statement(text, _MOST_ROWS), 60.0) for text in _DUMPS]


@contextmanager
def _server(state: Path) -> Iterator[None]:
    home = neo4j_home()
    if home is None and not has_docker_engine():
        raise ServiceUnavailable("there is no Neo4j to start", "set NEO4J_HOME, or --stores ladybug")
    kept = {name: value for name, value in os.environ.items() if name.startswith("NEO4J_")}
    with running_neo4j(state, home) as server:
        os.environ.update(server.environment)
        try:
            yield
        finally:
            for name in server.environment:
                os.environ.pop(name, None)
            os.environ.update(kept)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _row(kind: str, way: str, seen: Seen, counted: tuple[int | None, int, int]) -> Sequence[str]:
    writes, files, requests = counted
    ended = seen.statements - seen.refused - seen.answered
    numbers = (seen.statements, seen.refused, seen.answered, ended, seen.rows, "-" if writes is None else writes)
    shown = map(str, (*numbers, files, requests, seen.late))
    return (kind, way, *shown, f"{seen.longest_s:.1f}", f"{seen.next_s:.2f}", str(seen.peak_mb or "-"))


if __name__ == "__main__":
    started(main)
