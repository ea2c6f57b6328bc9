"""Chunks as stored by nano-graphrag (text units, by the hash of their text)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.records import Context, Span, Triplet
from systems.common.chunking import Chunk
from systems.common.headings import under_heading
from systems.common.token_estimate import count_tokens
from systems.community import library

TRIPLETS = "triplets"
"""The attribute of a node or an edge with its statements as JSON; missing for the library's own extraction."""
UnitRow = dict[str, Any]


@dataclass(frozen=True)
class TextUnits:
    """The text units of a corpus. Chunks with equal texts are one unit with several positions."""

    records: tuple[UnitRow, ...]
    """As stored by the library, in corpus order; `places` is ours: doc_id, start, end, heading and origin of each
    chunk.
    """
    id_of: Mapping[str, str]
    """From chunk_id to the unit's id."""

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "TextUnits":
        records: dict[str, UnitRow] = {}
        id_of = {}
        for chunk in chunks:
            unit_id = id_of[chunk.chunk_id] = _hash(chunk.text, "chunk-")
            record = records.setdefault(unit_id, _record(chunk, len(records)))
            span = chunk.span
            place = {
                "doc_id": span.doc_id,
                "start": span.start,
                "end": span.end,
                "heading": chunk.heading,
                "origin": chunk.origin,
            }
            record["places"].append(place)
        return cls(tuple(records.values()), id_of)

    def ids_of(self, chunk_ids: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(self.id_of[chunk_id] for chunk_id in chunk_ids))

    def in_order(self) -> list[str]:
        """Every unit's id, in corpus order."""
        return list(dict.fromkeys(self.id_of.values()))


def _record(chunk: Chunk, number: int) -> UnitRow:
    return {
        "tokens": count_tokens(chunk.text),
        "content": chunk.text,
        "chunk_order_index": number,
        "full_doc_id": _hash(chunk.document.text.strip(), "doc-"),
        "places": [],
    }


def _hash(text: str, prefix: str) -> str:
    hashed: str = library.utilities().compute_mdhash_id(text, prefix=prefix)
    return hashed


def triplets_in(record: UnitRow) -> tuple[Triplet, ...]:
    return tuple(Triplet(*stated) for stated in json.loads(record.get(TRIPLETS, "[]")))


def doc_ids_of(records: Iterable[UnitRow]) -> tuple[str, ...]:
    """The distinct documents of these units, in the units' order."""
    return tuple(dict.fromkeys(place["doc_id"] for record in records for place in record["places"]))


def passage(record: UnitRow) -> Context:
    """The unit as a context: heading and span of its first position, documents of all."""
    first = record["places"][0]
    text = record["content"]
    return Context(
        text=under_heading(first["heading"], text),
        doc_ids=doc_ids_of([record]),
        kind="passage",
        span=Span(doc_id=first["doc_id"], start=first["start"], end=first["end"]),
    )


def within(contexts: Iterable[Context], tokens: int) -> list[Context]:
    kept: list[Context] = []
    for context in contexts:
        tokens -= count_tokens(context.text)
        if tokens < 0:
            break
        kept.append(context)
    return kept
