"""The data of the explorer: every query of a group, each system's answer, and the reasons for its scores.

Details of queries are blocks of deflated bytes, a unit of queries of all runs at a time, until the page would be
too large: a block of details and the blocks of the texts that it is the first to use. Systems that share an index
retrieve the same texts, and each is stored once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from harness.core.records import Evidence
from harness.display import printable
from harness.report.page.explorer_reading import (
    NO_WORDS,
    TEXT_CHARS,
    UNIT,
    AnswerKinds,
    Detail,
    RunReader,
    ShownColumn,
    ShownWords,
    UnitDetails,
    cut,
)
from harness.report.records import Sample
from harness.report.tables.scores import found_labels
from harness.report.view import Group, collector_paused
from harness.store import rows_by_id

BUDGET_BYTES = 12_000_000
_QUERY_CHARS = 2_000
_GOLD_CHARS = 400
_GOLD_ANSWERS = 20
_LEVEL = 9
_TEXTS_BYTES = 96_000
"""Of one block of texts before it is packed: deflate looks back 32 kB, so that larger blocks gain little and cost
the browser more when it wants one text of them."""
_DOC_CHARS = 300
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

Block = tuple[str, str]
"""The id of its element, and its base64: a <script type="application/octet-stream"> of the page."""


@dataclass(frozen=True)
class Explorer:
    name: str
    """The beginning of every id: letters and digits."""
    context: Mapping[str, Any]
    """For templates/explorer.html: name, n_queries, n_runs, n_detailed."""
    blocks: Sequence[Block]


def build_explorer(group: Group, name: str, budget_bytes: int = BUDGET_BYTES) -> Explorer:
    """Every query of a group with the answers and scores of each run.

    `budget_bytes`: beyond so much base64, contexts, traces, times and explanations of the last queries are left
    out, and the explorer says so. The same runs and the same zlib give the same blocks.
    """
    sample = group.widest.sample if group.views else rows_by_id(())
    # Metrics that label answers, if any run has a label.
    sorting = [group.known[one] for one in group.measures if one in group.known and group.known[one].labels]
    labelled = [(one, tuple(found_labels(group, one))) for one in sorting]
    kinds = [AnswerKinds(one, labels) for one, labels in labelled if labels]
    with collector_paused():
        readers = [RunReader(view, sample) for view in group.views]
        runs = [reader.cells(kinds) for reader in readers]
        every = dict.fromkeys(name for view in group.views for name in view.scores.by_measure)
        columns = {name: ValueTable([reader.column(name) for reader in readers]) for name in every}
        tables = {name: table for name, table in columns.items() if table.has_scores}
        names = _ordered(group, tables)
        facts = [_facts(group, measure, tables[measure]) for measure in names]
        values = []
        for number, (measure, own) in enumerate(zip(names, facts, strict=True)):
            own["block"] = f"{name}-m{number}" if tables[measure].has_values else ""
            if own["block"]:
                values.append((own["block"], tables[measure].packed()))
        core = _core(group, sample, runs, facts) | {"kinds": [one.as_json() for one in kinds]}
        room = budget_bytes - len(pack_json(core)) - sum(len(text) for _, text in values)
        details, detailed = _details(name, room, sample, names, readers)
    core |= {"detailed": detailed, "texts": details.first_texts}
    blocks = [(f"{name}-core", pack_json(core)), *values, *details.blocks]
    blocks.append((f"{name}-docs", pack_json(details.documents)))
    context = {"name": name, "n_queries": len(sample), "n_runs": len(runs), "n_detailed": detailed}
    return Explorer(name, context, blocks)


def _details(
    name: str, room: int, sample: Sample, measures: Sequence[str], readers: Sequence[RunReader]
) -> tuple[Details, int]:
    """The details of as many queries as there is room for, and how many those are."""
    details, ids = Details(name, measures), list(sample)
    for start in range(0, len(ids), UNIT):
        gold = [row.reference.evidence for row in sample.at(ids[start : start + UNIT])]
        if not details.add(gold, [reader.details(start) for reader in readers], room):
            return details, start
    return details, len(ids)


def _core(group: Group, sample: Sample, runs: Sequence[Detail], measures: Sequence[Detail]) -> Detail:
    types = sorted({row.reference.query_type for row in sample.values()})
    numbers = {query_type: number for number, query_type in enumerate(types)}
    # Number of queries of each type in the whole data set; empty if unknown.
    mix = group.widest.frame.drawn.type_mix if group.views else {}
    return {
        "unit": UNIT,
        "cut": TEXT_CHARS,
        "types": [printable(query_type) for query_type in types],
        "mix": [mix.get(query_type, 0) for query_type in types],
        "queries": {
            "id": list(sample),
            "type": [numbers[row.reference.query_type] for row in sample.values()],
            "text": [row.query.text[:_QUERY_CHARS] for row in sample.values()],
            "gold": [
                [one[:_GOLD_CHARS] for one in row.reference.answers[:_GOLD_ANSWERS]] for row in sample.values()
            ],
        },
        "runs": list(runs),
        "measures": list(measures),
    }


class ValueTable:
    """The values of one measure: the distinct cells, and of each (run, query) which of them it has."""

    def __init__(self, columns: Sequence[ShownColumn]) -> None:
        """`columns`: those of each run, in order."""
        # One without a score comes last, so that the table always has it.
        letters = np.concatenate([*(own for own, _ in columns), [np.uint8(ord("-"))]])
        values = np.concatenate([*(own for _, own in columns), [np.nan]])
        distinct, which = np.unique(values, return_inverse=True)
        rounded, again = np.unique([float(f"{value:.6g}") for value in distinct.tolist()], return_inverse=True)
        found, codes = np.unique(letters * np.int64(len(rounded)) + again[which], return_inverse=True)
        shown = [None if isnan(value) else value for value in rounded.tolist()]
        self._cells = [(chr(one // len(shown)), shown[one % len(shown)]) for one in found.tolist()]
        self._codes = codes[:-1]

    @property
    def has_scores(self) -> bool:
        return any(letter != "-" for letter, _ in self._cells)

    @property
    def has_values(self) -> bool:
        return any(value is not None for _, value in self._cells)

    @property
    def is_binary(self) -> bool:
        """Whether every value, a mean over repeats, is 0 or 1."""
        return self.has_values and all(value in {None, 0, 1} for _, value in self._cells)

    def packed(self) -> str:
        """The distinct cells as a line of JSON, then each place's number in as few bytes as possible."""
        raw = self._codes.astype("<u4").tobytes()
        width = max(1, ((len(self._cells) - 1).bit_length() + 7) // 8)
        return pack(as_json(self._cells) + b"\n" + b"".join(raw[byte::4] for byte in range(width)))


def _ordered(group: Group, names: Iterable[str]) -> list[str]:
    """What ranks, then the measures of installed evaluators in their order, then the others by name."""
    evidence = [name for name, measure in group.known.items() if measure.ranks_where_answers_cannot]
    first = dict.fromkeys((group.ranking.name, *evidence, *group.known))
    rank = {name: place for place, name in enumerate(first)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def _facts(group: Group, measure: str, table: ValueTable) -> Detail:
    """What the explorer shows of a metric; `up` is None if the metric is unknown."""
    known = group.known.get(measure)
    owners = [one.evaluator for one in group.evaluations if measure in one.measures]
    is_binary = (known is not None and known.binary) or any(measure in one.binary for one in group.evaluations)
    return {
        "name": printable(measure),
        "title": group.display_name(measure),
        "evaluator": printable(owners[-1] if owners else "other"),
        "summary": known.summary if known else "",
        "up": known.higher_is_better if known else None,
        "binary": is_binary or table.is_binary,
    }


def pack(data: bytes) -> str:
    """zlib (RFC 1950), as base64. The same zlib gives the same bytes; another build may not."""
    return base64.b64encode(zlib.compress(data, _LEVEL)).decode("ascii")


def pack_json(value: Any) -> str:
    return pack(as_json(value))


def as_json(value: Any) -> bytes:
    """Compact JSON in UTF-8. Half of a surrogate pair becomes a question mark."""
    return _encoded(value).encode("utf-8", errors="replace")


class Details:
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
        """Add the next unit; False, and nothing is added, if all details together would exceed `room` bytes."""
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
            _column([run.scores.get(name) or [NO_WORDS] * sum(map(len, run.records)) for run in runs])
            for name in self._measures
        ]
        return {"gold": facts, "runs": records, "scores": scores}

    def _record(self, detail: Detail) -> Detail:
        lists = {part: detail[part] for part in ("contexts", "evidence") if part in detail}
        return {**detail, **{part: [self._context(*one) for one in own] for part, own in lists.items()}}

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
