"""The contract of graph stores, with what both do alike."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, Concatenate, Literal, ParamSpec, Protocol, TypeVar

from harness.core.records import Context, Document
from harness.protocols import Vectors
from systems.common.knowledge_graph import GraphSize, KnowledgeGraph
from systems.common.vector_index import passage

T = TypeVar("T")
P = ParamSpec("P")


class Calls:
    """Runs blocking work in threads. close() can wait for work that cancelled coroutines left running."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(thread_name_prefix="graph-store")
        self._running: set[Future[Any]] = set()
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """work() in a thread. A cancelled caller continues immediately; the thread ends later."""
        self.check()
        future = self._threads.submit(work)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return await asyncio.wrap_future(future)

    def check(self) -> None:
        """Raise if close() was called; long work calls this between its steps."""
        if self._closed:
            raise RuntimeError("the graph store is closed")

    def close(self, wait_s: float | None = None) -> bool:
        """Start nothing more and wait for running work, for at most `wait_s` if given; returns whether nothing
        runs now.
        """
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        return not wait(self._running, wait_s).not_done


class _HasCalls(Protocol):
    _calls: Calls


Owner = TypeVar("Owner", bound=_HasCalls)


def in_thread(work: Callable[Concatenate[Owner, P], T]) -> Callable[Concatenate[Owner, P], Coroutine[Any, Any, T]]:
    """The blocking method as a coroutine, run by its owner's `_calls`."""

    @wraps(work)
    async def run(owner: Owner, /, *args: P.args, **named: P.kwargs) -> T:
        return await owner._calls.run(lambda: work(owner, *args, **named))

    return run


PASSAGE_COLUMNS = ("chunk_id", "text", "doc_id", "start", "end", "heading")
PASSAGE = ", ".join(f"c.`{column}`" for column in PASSAGE_COLUMNS)
EDGE = "RETURN h.entity_id, r.relation, t.entity_id, h.name, t.name, r.chunk_ids"
"""Parts of queries for a passage c, and for an edge r from h to t."""


@dataclass(frozen=True)
class EntityHit:
    """An entity found by full-text search."""

    entity_id: str
    name: str
    kind: str
    score: float
    """BM25 score of the search, comparable only within one result."""
    degree: int
    """Number of its relations."""


@dataclass(frozen=True)
class StoredTriplet:
    head: str
    """Names, not ids."""
    relation: str
    tail: str
    head_id: str
    tail_id: str
    chunk_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    """Documents of the chunks that state it, in the same order, without duplicates."""

    @property
    def ends(self) -> tuple[str, str]:
        return self.head_id, self.tail_id


@dataclass(frozen=True)
class Sources:
    published: Mapping[str, str]
    """doc_id -> date of publication, for documents that have one."""
    owners: Mapping[str, str]
    """chunk_id -> its document."""


RELATES = "RELATES"
"""The type of an edge between two entities."""
PieceKind = Literal["as_is", "label", "any_node", "type", "edge", "property", "text"]


@dataclass(frozen=True)
class StatementPiece:
    """One part. `as_is`: a checked keyword, name, number or sign; `text`: a string, which becomes a parameter;
    `any_node`: the position of a missing node label; `edge`: the end of an edge, after its type and properties.
    """

    kind: PieceKind
    value: str
    of: str = ""
    """The variable of the edge that ends there."""


@dataclass(frozen=True)
class Column:
    name: str
    """Its displayed name."""
    source: str
    """The kind of ids that it contains (`GraphSchema.sources`); empty: none."""


Spelling = Callable[[StatementPiece], str]
"""How a database writes a label, a node without one, or a type of relationship."""


@dataclass(frozen=True)
class ReadStatement:
    """A query that cannot write, read a file or send a request, and returns at most `rows` rows."""

    pieces: tuple[StatementPiece, ...]
    columns: tuple[Column, ...]
    rows: int

    def spelled(self, spell: Spelling) -> tuple[str, Mapping[str, Any]]:
        """The text for a database, and its parameters. It contains only checked parts of the original."""
        parameters: dict[str, Any] = {}
        parts = []
        for piece in self.pieces:
            if piece.kind == "text":
                name = f"text{len(parameters)}"
                parameters[name] = piece.value
                parts.append(f"${name}")
            elif piece.kind == "property":
                parts.append(f"`{piece.value}`")
            else:
                parts.append(piece.value if piece.kind == "as_is" else spell(piece))
        # Ladybug's grammar does not allow a space between DESC and a comma.
        return f"{' '.join(parts).replace(' ,', ',')} LIMIT {self.rows}", parameters


class AskFailed(Exception):
    """A database did not answer a statement; the message gives the reason in one line."""


class GraphStore(ABC):
    """The graph of one index.

    `write` once, then read in any process. Calls may overlap and be cancelled. Texts and names are stored exactly,
    control characters included. Every list has a fixed order, the same in every process.
    """

    _EDGES: ClassVar[Sequence[str]]
    """Queries for head_id, relation, tail_id, head, tail and chunk_ids: edges from, and to, some entities."""
    _MENTIONS: ClassVar[str]
    _PUBLISHERS: ClassVar[str]
    _CHUNKS: ClassVar[str]
    _DOCUMENTS: ClassVar[str]
    """The document of each chunk."""
    _PUBLISHED: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = Calls()

    @abstractmethod
    def _rows(self, query: str, ids: Iterable[str] = ()) -> list[list[Any]]:
        """The rows of one of the queries above about these distinct ids."""

    @abstractmethod
    def _write(self, graph: KnowledgeGraph, vectors: Vectors) -> None:
        """See `write`."""

    async def write(self, graph: KnowledgeGraph, vectors: Vectors) -> None:
        """Store the graph, replacing the rest of an interrupted build; vectors[i] (normalised) belongs to
        chunks[i].
        """
        await self._calls.run(lambda: self._write(graph, vectors))

    @abstractmethod
    async def find_entities(self, phrase: str, limit: int) -> list[EntityHit]:
        """Entities whose names share words with `phrase`, best first, ties by entity_id.

        `phrase` may be any text: search syntax is treated as text, and a phrase without a word finds nothing.
        """

    @abstractmethod
    async def entities(self, entity_ids: Sequence[str]) -> list[EntityHit]:
        """The stored entities of these ids, in the given order without duplicates, with score 0."""

    @in_thread
    def publishers(self) -> list[str]:
        """The distinct publishers in the documents' metadata (`source`), in order."""
        return sorted(source for (source,) in self._rows(self._PUBLISHERS) if source)

    @in_thread
    def mentions_of(self, entity_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The chunks that mention each of them, in corpus order; entities without a mention are left out."""
        found: dict[str, list[str]] = {}
        for entity_id, chunk_id in self._rows(self._MENTIONS, dict.fromkeys(entity_ids)):
            found.setdefault(entity_id, []).append(chunk_id)
        # Chunk ids are in corpus order when sorted.
        return {entity_id: tuple(sorted(chunk_ids)) for entity_id, chunk_ids in found.items()}

    @in_thread
    def triplets_of(self, entity_ids: Sequence[str]) -> list[StoredTriplet]:
        """Every distinct relation that starts or ends at one of them, by (head_id, relation, tail_id)."""
        ids = dict.fromkeys(entity_ids)
        once = {tuple(edge[:3]): edge[3:] for query in self._EDGES for edge in self._rows(query, ids)}
        stated_in = sorted({chunk_id for *_, chunk_ids in once.values() for chunk_id in chunk_ids})
        document_of = dict(self._rows(self._DOCUMENTS, stated_in))
        # Sorted here, because databases sort characters differently.
        return [
            StoredTriplet(
                head=head,
                relation=relation,
                tail=tail,
                head_id=head_id,
                tail_id=tail_id,
                chunk_ids=tuple(chunk_ids),
                doc_ids=tuple(dict.fromkeys(document_of[chunk_id] for chunk_id in chunk_ids)),
            )
            for (head_id, relation, tail_id), (head, tail, chunk_ids) in sorted(
                once.items(), key=lambda each: each[0]
            )
        ]

    @abstractmethod
    async def nearest_chunks(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k nearest passages by cosine, best first, ties in corpus order, as `PassageIndex.search`; with
        `among`, only of these stored chunks.
        """

    @in_thread
    def chunks(self, chunk_ids: Sequence[str]) -> list[Context]:
        """These passages, in the given order, without scores. KeyError for a passage that is not stored."""
        rows = self._rows(self._CHUNKS, dict.fromkeys(chunk_ids))
        found = {row[0]: passage_of(row) for row in rows}
        return [found[chunk_id] for chunk_id in chunk_ids]

    @in_thread
    def sources(self, doc_ids: Sequence[str], chunk_ids: Sequence[str]) -> Sources:
        owners = dict(self._rows(self._DOCUMENTS, dict.fromkeys(chunk_ids)))
        published = self._rows(self._PUBLISHED, dict.fromkeys([*doc_ids, *owners.values()]))
        return Sources({doc_id: said or "" for doc_id, said in published}, owners)

    @abstractmethod
    async def ask(self, statement: ReadStatement, limit_s: float) -> list[list[Any]]:
        """The rows of a statement, in order.

        It runs read-only for at most `limit_s` seconds. Raises AskFailed if the database rejects it or exceeds the
        time.
        """

    @abstractmethod
    async def size(self) -> GraphSize:
        """Counts of what is stored."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections; may be called twice."""


def passage_of(row: Sequence[Any], score: float | None = None) -> Context:
    """The passage in a row of `PASSAGE`."""
    at = dict(zip(PASSAGE_COLUMNS, row, strict=True))
    return passage(at["text"], at, score)


def document_row(document: Document) -> tuple[str, str, str, str, str]:
    """doc_id, title, source, published_at, url."""
    source, published_at, url = (document.metadata.get(key, "") for key in ("source", "published_at", "url"))
    return document.doc_id, document.title, source, published_at, url


def why_unanswered(error: object, timed_out: str, limit_s: float) -> str:
    """A database's error about a statement, for its author: one line of at most 200 characters.

    `timed_out`: the message to use after a timeout.
    """
    said = " ".join(str(error).split())
    return too_late(limit_s) if timed_out in said else said[:200]


def too_late(limit_s: float) -> str:
    return f"no answer within {limit_s:g} s: ask for less"
