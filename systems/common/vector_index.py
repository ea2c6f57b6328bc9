"""Passages in a persistent Chroma collection, searched by cosine."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.core.records import Context, Span
from harness.protocols import Vectors
from systems.common.chunking import Chunk
from systems.common.headings import under_heading

_COLLECTION = "passages"
_ADD_BATCH = 2000
# With its defaults, Chroma's graph search misses a tenth of the ten nearest among 6,600 random vectors; with these
# settings it misses none, and a query still takes 5 ms. Otherwise a benchmark would measure the vector store.
_HNSW = {"space": "cosine", "ef_construction": 400, "ef_search": 1000, "max_neighbors": 32}
_Row = tuple[float, str, str, dict[str, Any]]
"""Distance, id, text, metadata."""


class PassageIndex:
    """Build once with `create`, open in another process with `open`, search with `nearest_chunks`."""

    def __init__(self, client: Any, collection: Any) -> None:
        self._client = client
        self._collection = collection

    @staticmethod
    def create(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Store vectors[i] (unit rows) for chunks[i] under `folder`."""
        with closing(_client(folder)) as client:
            collection = client.create_collection(
                _COLLECTION, embedding_function=None, configuration={"hnsw": dict(_HNSW)}
            )
            for start in range(0, len(chunks), _ADD_BATCH):
                batch = chunks[start : start + _ADD_BATCH]
                collection.add(
                    ids=[chunk.chunk_id for chunk in batch],
                    embeddings=vectors[start : start + _ADD_BATCH],
                    documents=[chunk.text for chunk in batch],
                    metadatas=[passage_metadata(chunk) for chunk in batch],
                )

    @classmethod
    def open(cls, folder: Path) -> "PassageIndex":
        """The stored index, read into memory."""
        client = _client(folder)
        try:
            collection = client.get_collection(_COLLECTION, embedding_function=None)
            # Otherwise Chroma reads its files at the first search: a second for 6,600 passages, charged to a
            # query.
            collection.get(limit=1, include=["embeddings"])
        except BaseException:
            client.close()
            raise
        return cls(client, collection)

    async def nearest_chunks(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        """The k nearest passages, best first; equal scores in corpus order. Fewer if there are fewer; with
        `among`, only of the chunks with these ids.
        """
        return await asyncio.to_thread(self.nearest_here, vector, k, among)

    def nearest_here(self, vector: Vectors, k: int, among: Sequence[str] | None = None) -> list[Context]:
        """`nearest_chunks` in the caller's own thread."""
        ids = None if among is None else list(dict.fromkeys(among))
        if ids == []:
            return []
        wanted = k + 1
        rows = self._nearest(vector, wanted, ids)
        # At ties Chroma returns any of them: fetch more until all candidates of the cut-off score are included.
        while len(rows) == wanted and rows[-1][0] == rows[k - 1][0]:
            wanted *= 2
            rows = self._nearest(vector, wanted, ids)
        return [passage(text, metadata, 1.0 - distance) for distance, _, text, metadata in rows[:k]]

    def _nearest(self, vector: Vectors, n: int, ids: list[str] | None) -> list[_Row]:
        found = self._collection.query(
            query_embeddings=[vector], ids=ids, n_results=n, include=["documents", "metadatas", "distances"]
        )
        columns = (found[name][0] for name in ("distances", "ids", "documents", "metadatas"))
        return sorted(zip(*columns, strict=True), key=lambda row: (row[0], row[1]))

    def close(self) -> None:
        self._client.close()


def _client(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    # Otherwise it reads settings from a `.env` file in the current folder: class names, and where to send traces.
    return chromadb.PersistentClient(str(folder), settings=Settings(_env_file=None))


def passage_metadata(chunk: Chunk) -> dict[str, str | int]:
    return {
        "doc_id": chunk.span.doc_id,
        "start": chunk.span.start,
        "end": chunk.span.end,
        "heading": chunk.heading,
    }


def passage(text: str, metadata: Mapping[str, Any], score: float | None = None) -> Context:
    """A stored passage as a context: below its heading, if it has one.

    `metadata` has doc_id, start, end and heading, as from `passage_metadata`.
    """
    doc_id = str(metadata["doc_id"])
    span = Span(doc_id=doc_id, start=int(metadata["start"]), end=int(metadata["end"]))
    shown = under_heading(str(metadata["heading"]), text)
    return Context(text=shown, doc_ids=(doc_id,), kind="passage", score=score, span=span)
