"""Details of queries as blocks of deflated bytes, a unit of queries of all runs at a time, until the page would be
too large.

A unit is a block of details and the blocks of the texts that it is the first to use: systems that share an index
retrieve the same texts, and each is stored once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from harness.core.records import Evidence
from harness.report.page.explorer_reading import NO_WORDS, TEXT_CHARS, Detail, ShownWords, UnitDetails, cut

Block = tuple[str, str]
"""The id of its element, and its base64."""

_LEVEL = 9
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_TEXTS_BYTES = 96_000
"""Of one block of texts before it is packed: deflate looks back 32 kB, so that larger blocks gain little and cost
the browser more when it wants one text of them."""
_DOC_CHARS = 300


def pack(data: bytes) -> str:
    """zlib (RFC 1950) at level 9, as base64. The same zlib gives the same bytes; another build may not."""
    return base64.b64encode(zlib.compress(data, _LEVEL)).decode("ascii")


def pack_json(value: Any) -> str:
    """A value as JSON, packed. Half of a surrogate pair becomes a question mark."""
    return pack(as_json(value))


def as_json(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return _encoded(value).encode("utf-8", errors="replace")


class Details:
    """The blocks so far."""

    def __init__(self, name: str, measures: Sequence[str]) -> None:
        self.blocks: list[Block] = []
        self.first_texts: list[int] = []
        """The number of the first text of each block of texts."""
        self.documents: list[str] = []
        self._name = name
        self._measures = measures
        self._texts: dict[bytes, int] = {}
        self._new_texts: list[bytes] = []
        """Of the unit under way, as JSON."""
        self._documents: dict[str, int] = {}
        self._units = 0
        self._size = 0

    def add(self, gold: Sequence[Sequence[Evidence]], runs: Sequence[UnitDetails], room: int) -> bool:
        """Add the next unit: the gold facts of its queries and the answers of each run.

        Returns False, and accepts nothing more, if all details together would exceed `room` bytes.
        """
        first_text, self._new_texts = len(self._texts), []
        body = pack_json(self._encoded(gold, runs))
        packed = [(first, pack(data)) for first, data in _in_blocks(self._new_texts, first_text)]
        documents = list(self._documents)[len(self.documents) :]
        size = len(body) + sum(len(text) for _, text in packed) + len(pack_json(documents))
        if self._size + size > room:
            return False
        self._size += size
        self.blocks.append((f"{self._name}-d{self._units}", body))
        for first, text in packed:
            self.blocks.append((f"{self._name}-t{len(self.first_texts)}", text))
            self.first_texts.append(first)
        self.documents += documents
        self._units += 1
        return True

    def _encoded(self, gold: Sequence[Sequence[Evidence]], runs: Sequence[UnitDetails]) -> Detail:
        """The unit as JSON. Scores are grouped by metric, since similar neighbours compress better."""
        facts = [
            [
                self._text([cut(item.fact, TEXT_CHARS), "fact", [self._document(item.doc_id)]])
                for item in dict.fromkeys(evidence)
            ]
            for evidence in gold
        ]
        records = [[[self._record(one) for one in repeats] for repeats in run.records] for run in runs]
        scores = [
            _column([run.scores.get(name) or [NO_WORDS] * run.n_records for run in runs])
            for name in self._measures
        ]
        return {"gold": facts, "runs": records, "scores": scores}

    def _record(self, detail: Detail) -> Detail:
        told = dict(detail)
        for part in ("contexts", "evidence"):
            if part in detail:
                told[part] = [self._context(*context) for context in detail[part]]
        return told

    def _context(self, text: Any, kind: str, doc_ids: Sequence[str], score: float | None, place: str) -> list[Any]:
        where = [place] if place else []
        return [self._text([text, kind, [self._document(doc_id) for doc_id in doc_ids], *where]), score]

    def _text(self, text: list[Any]) -> int:
        whole, about = text[0], (isinstance(text[0], str), text[1:])
        key = hashlib.blake2b(repr(about).encode("utf-8", "replace"), digest_size=16)
        key.update((whole if isinstance(whole, str) else repr(whole)).encode("utf-8", "replace"))
        known = len(self._texts)
        number = self._texts.setdefault(key.digest(), known)
        if number == known:
            self._new_texts.append(as_json(text))
        return number

    def _document(self, doc_id: str) -> int:
        return self._documents.setdefault(doc_id[:_DOC_CHARS], len(self._documents))


def _column(runs: Sequence[Sequence[ShownWords]]) -> Detail:
    """One measure: a letter, a value and the number of an explanation for each record, and the explanations."""
    reasons: dict[str, int] = {}
    found = [score for run in runs for score in run]
    return {
        "status": "".join(status for status, _, _ in found),
        "value": [None if value is None else float(f"{value:.4g}") for _, value, _ in found],
        "why": [reasons.setdefault(why, len(reasons)) for _, _, why in found],
        "reasons": list(reasons),
    }


def _in_blocks(texts: Iterable[bytes], first: int) -> Iterable[tuple[int, bytes]]:
    """(number of the first text, JSON list of texts) for each block."""
    block: list[bytes] = []
    size = 0
    for data in texts:
        if block and size + len(data) > _TEXTS_BYTES:
            yield first, b"[" + b",".join(block) + b"]"
            first, block, size = first + len(block), [], 0
        block.append(data)
        size += len(data)
    if block:
        yield first, b"[" + b",".join(block) + b"]"
