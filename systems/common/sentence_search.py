"""Semantic search over the sentences of the corpus, with the triplets that they state."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.protocols import Vectors
from systems.common.graph_stores.entity_name_search import words
from systems.common.headings import source_and_date
from systems.common.sentences import sentence_spans

if TYPE_CHECKING:
    from harness.core.records import Context
    from systems.common.chunking import Chunk
    from systems.common.graph_stores.contract import StoredTriplet
    from systems.common.knowledge_graph import KnowledgeGraph

_TEXTS, _VECTORS = "statements.sqlite", "vectors.npy"
_TABLES = """
CREATE TABLE sentences (number INTEGER PRIMARY KEY, chunk_id TEXT, doc_id TEXT, text TEXT, label TEXT);
CREATE TABLE states (head_id TEXT, relation TEXT, tail_id TEXT, number INTEGER);
"""
_KEY = "CREATE INDEX by_triplet ON states (head_id, relation, tail_id)"
_OF = "SELECT number FROM states WHERE head_id = ? AND relation = ? AND tail_id = ? ORDER BY number"
_ENDS = "SELECT head_id, tail_id FROM states WHERE number = ?"
_SENTENCE = "SELECT chunk_id, doc_id, text, label FROM sentences WHERE number = ?"


@dataclass(frozen=True)
class Sentence:
    chunk_id: str
    doc_id: str
    text: str
    label: str
    """Publisher and date, if the corpus has them: `The Post, 2023-10-05`."""

    @property
    def searched(self) -> str:
        return f"{self.text} ({self.label})" if self.label else self.text


@dataclass(frozen=True)
class StatedTriplet:
    triplet: StoredTriplet
    sentence: Sentence | None = None
    """A sentence that states it; None where sentences are not searched."""

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The chunks that state it."""
        return (self.sentence.chunk_id,) if self.sentence else self.triplet.chunk_ids

    def is_in(self, passage: Context) -> bool:
        """Whether a passage holds its sentence."""
        one = self.sentence
        return one is not None and one.doc_id in passage.doc_ids and one.text in passage.text


@dataclass(frozen=True)
class StatedGraph:
    sentences: tuple[Sentence, ...]
    """In corpus order."""
    triplets: tuple[tuple[str, str, str, int], ...]
    """head_id, relation, tail_id and the number of a sentence."""

    @property
    def texts(self) -> list[str]:
        return [sentence.searched for sentence in self.sentences]


def sentences_of_triplets(graph: KnowledgeGraph) -> StatedGraph:
    """For each triplet and each chunk that states it, the sentence with most of the words of head and tail."""
    chunks = {chunk.chunk_id: _ChunkSentences.of(chunk) for chunk in graph.chunks}
    names = {entity.entity_id: frozenset(words(entity.name)) for entity in graph.entities}
    found = [
        (chunk_id, chunks[chunk_id].best(names[edge.head_id], names[edge.tail_id]), edge)
        for edge in graph.relations
        for chunk_id in edge.chunk_ids
    ]
    places = sorted({(chunk_id, place) for chunk_id, place, _ in found})
    numbers = {place: number for number, place in enumerate(places)}
    return StatedGraph(
        tuple(chunks[chunk_id].sentence(place) for chunk_id, place in places),
        tuple(
            (edge.head_id, edge.relation, edge.tail_id, numbers[chunk_id, place])
            for chunk_id, place, edge in found
        ),
    )


@dataclass(frozen=True)
class _ChunkSentences:
    chunk: Chunk
    texts: tuple[str, ...]
    words: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, chunk: Chunk) -> _ChunkSentences:
        texts = tuple(chunk.text[start:end] for start, end in sentence_spans(chunk.text)) or (chunk.text,)
        return cls(chunk, texts, tuple(frozenset(words(text)) for text in texts))

    def best(self, head: frozenset[str], tail: frozenset[str]) -> int:
        """The first of the sentences with the most words of both."""
        shares = [_share(head, has) + _share(tail, has) for has in self.words]
        return shares.index(max(shares))

    def sentence(self, place: int) -> Sentence:
        document = self.chunk.document
        label = source_and_date(document) if self.chunk.shows_heading else ""
        return Sentence(self.chunk.chunk_id, document.doc_id, self.texts[place], label)


def _share(name: frozenset[str], has: frozenset[str]) -> float:
    return len(name & has) / len(name) if name else 0.0


class StatementIndex:
    """Build once with `create`, open in another process with `open`, search with `rank`."""

    def __init__(self, texts: sqlite3.Connection, vectors: Vectors) -> None:
        self._texts = texts
        self._vectors = vectors

    @staticmethod
    def create(folder: Path, stated: StatedGraph, vectors: Vectors) -> None:
        """Store vectors[i] (unit rows) for sentence i under `folder`."""
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / _TEXTS)) as file, file:
            file.executescript(_TABLES)
            rows = ((number, *astuple(each)) for number, each in enumerate(stated.sentences))
            file.executemany("INSERT INTO sentences VALUES (?, ?, ?, ?, ?)", rows)
            file.executemany("INSERT INTO states VALUES (?, ?, ?, ?)", stated.triplets)
            file.execute(_KEY)
        np.save(folder / _VECTORS, vectors)

    @classmethod
    def open(cls, folder: Path) -> StatementIndex:
        """The stored index; its texts and vectors stay on disk."""
        path = (folder / _TEXTS).absolute()
        texts = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, check_same_thread=False)
        return cls(texts, np.load(folder / _VECTORS, mmap_mode="r"))

    def rank(self, vector: Vectors, triplets: Iterable[StoredTriplet], k: int) -> list[StatedTriplet]:
        """The k distinct sentences nearest to `vector` that state any of the triplets, best first.

        A sentence is returned with the first of its triplets; ties are in corpus order.
        """
        first: dict[int, StoredTriplet] = {}
        for triplet in triplets:
            for (number,) in self._texts.execute(_OF, (triplet.head_id, triplet.relation, triplet.tail_id)):
                first.setdefault(number, triplet)
        if not first:
            return []
        numbers = np.array(sorted(first))
        scores = self._vectors[numbers] @ vector
        best = np.argsort(-scores, kind="stable")[:k]
        return [self._statement(int(number), first[int(number)]) for number in numbers[best]]

    def entities_near(self, vector: Vectors, k: int) -> list[str]:
        """The ids of at most k entities: heads and tails of the triplets of the nearest sentences."""
        found: dict[str, None] = {}
        if not len(self._vectors):  # Without a row the width of the vector is unknown.
            return []
        # Each sentence states at least one triplet, so k of them are enough.
        for number in np.argsort(-(self._vectors @ vector), kind="stable")[:k]:
            for ends in self._texts.execute(_ENDS, (int(number),)):
                found.update(dict.fromkeys(ends))
        return list(found)[:k]

    def _statement(self, number: int, triplet: StoredTriplet) -> StatedTriplet:
        (row,) = self._texts.execute(_SENTENCE, (number,))
        return StatedTriplet(triplet, Sentence(*row))

    def close(self) -> None:
        self._texts.close()
        # Memory-mapped; the file stays open as long as the array is used.
        self._vectors = np.empty((0, 0), dtype=np.float32)
