"""Positions of the library's chunks in the corpus; the library knows only texts."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel

from harness.core.records import Context, Document, Span
from systems.common.chunking import Chunk
from systems.common.headings import document_heading, origin_of, under_heading
from systems.common.wrapped_libraries import SEPARATOR

_FILE = "places.json"


class ChunkPlace(BaseModel):
    """One chunk. The library merges documents with equal texts, so it belongs to all of them."""

    doc_ids: tuple[str, ...]
    start: int
    end: int
    heading: str
    origins: tuple[str, ...]
    """Sources and dates of its documents."""

    @classmethod
    def of(cls, chunk: Chunk, documents: Sequence[Document]) -> Self:
        """A chunk of these documents with equal texts; its span is in the first one."""
        return cls(
            doc_ids=tuple(document.doc_id for document in documents),
            start=chunk.span.start,
            end=chunk.span.end,
            heading=document_heading(chunk.document),
            origins=tuple(dict.fromkeys(origin_of(document) for document in documents)),
        )


class ChunkPlaces(BaseModel):
    """The positions of all chunks of an index by id; ids sort in corpus order."""

    dimension: int
    """Dimension of the index's vectors; 0 without any."""
    chunks: Mapping[str, ChunkPlace]

    def write(self, folder: Path) -> None:
        (folder / _FILE).write_text(json.dumps(self.model_dump(), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        return cls.model_validate_json((folder / _FILE).read_bytes())

    def passage(self, chunk_id: str, text: str) -> Context:
        """A chunk as the generator sees it, below the heading of its document."""
        place = self.chunks[chunk_id]
        span = Span(doc_id=place.doc_ids[0], start=place.start, end=place.end)
        return Context(text=under_heading(place.heading, text), doc_ids=place.doc_ids, kind="passage", span=span)

    def stating(self, source_id: str) -> list[ChunkPlace]:
        """The positions of the chunks of an entity or a relation, in corpus order."""
        return [self.chunks[key] for key in sorted(set(source_id.split(SEPARATOR))) if key in self.chunks]
