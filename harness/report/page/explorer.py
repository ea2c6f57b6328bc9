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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from harness.core.records import Context, Cost, Evidence, RunRecord
from harness.display import printable
from harness.report.page.explorer_reading import UNIT, ContextPlaces, Detail, RunReader, ShownColumn, ShownWords
from harness.report.records import Sample
from harness.report.tables.scores import found_labels
from harness.report.view import Group, collector_paused
from harness.store import rows_by_id

_TEXT_CHARS = 20_000
"""Of any text in the page."""
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


def build_explorer(group: Group, name: str, budget_bytes: int = 12_000_000) -> Explorer:
    """Every query of a group with the answers and scores of each run.

    `budget_bytes`: beyond so much base64, contexts, traces, times and explanations of the last queries are left
    out, and the explorer says so. The same runs and the same zlib give the same blocks.
    """
    sample = group.widest.sample if group.views else rows_by_id(())
    # Metrics that label answers, if any run has a label.
    sorting = [group.known[one] for one in group.measures if one in group.known and group.known[one].labels]
    kinds = [(one, labels) for one in sorting if (labels := found_labels(group, one))]
    with collector_paused():
        readers = [RunReader(view, sample) for view in group.views]
        bits = {measure.name: [label.name for label in labels] for measure, labels in kinds}
        runs = [reader.cells(bits) for reader in readers]
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
        core = _core(group, sample) | {"runs": runs, "measures": facts}
        core["kinds"] = [
            {
                "name": printable(measure.name),
                "title": printable(measure.display_name),
                "labels": [[printable(label.title), printable(label.advice, 400)] for label in labels],
            }
            for measure, labels in kinds
        ]
        room = budget_bytes - len(_pack_json(core)) - sum(len(text) for _, text in values)
        details, ids, detailed = Details(name, names), list(sample), len(sample)
        for start in range(0, len(ids), UNIT):
            gold = [row.reference.evidence for row in sample.at(ids[start : start + UNIT])]
            if not details.add(gold, readers, start, room):
                detailed = start
                break
    core |= {"detailed": detailed, "texts": details.first_texts}
    blocks = [(f"{name}-core", _pack_json(core)), *values, *details.blocks]
    blocks.append((f"{name}-docs", _pack_json(details.documents)))
    context = {"name": name, "n_queries": len(sample), "n_runs": len(runs), "n_detailed": detailed}
    return Explorer(name, context, blocks)


def _core(group: Group, sample: Sample) -> Detail:
    types = sorted({row.reference.query_type for row in sample.values()})
    numbers = {query_type: number for number, query_type in enumerate(types)}
    # Number of queries of each type in the whole data set; empty if unknown.
    mix = group.widest.frame.drawn.type_mix if group.views else {}
    return {
        "unit": UNIT,
        "cut": _TEXT_CHARS,
        "types": [printable(query_type) for query_type in types],
        "mix": [mix.get(query_type, 0) for query_type in types],
        "queries": {
            "id": list(sample),
            "type": [numbers[row.reference.query_type] for row in sample.values()],
            "text": [row.query.text[:2_000] for row in sample.values()],
            "gold": [[one[:400] for one in row.reference.answers[:20]] for row in sample.values()],
        },
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
        given = {value for _, value in self._cells} - {None}
        self.has_scores = any(letter != "-" for letter, _ in self._cells)
        self.has_values = bool(given)
        self.is_binary = bool(given) and given <= {0, 1}
        """Whether every value, a mean over repeats, is 0 or 1."""

    def packed(self) -> str:
        """The distinct cells as a line of JSON, then each place's number in as few bytes as possible."""
        raw = self._codes.astype("<u4").tobytes()
        width = max(1, ((len(self._cells) - 1).bit_length() + 7) // 8)
        return _pack(_as_json(self._cells) + b"\n" + b"".join(raw[byte::4] for byte in range(width)))


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


def _pack(data: bytes) -> str:
    """zlib (RFC 1950), as base64. The same zlib gives the same bytes; another build may not."""
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def _pack_json(value: Any) -> str:
    return _pack(_as_json(value))


def _as_json(value: Any) -> bytes:
    """Compact JSON in UTF-8. Half of a surrogate pair becomes a question mark."""
    return _encoded(value).encode("utf-8", errors="replace")


class Details:
    """The blocks of details, and the texts and documents that they refer to by number."""

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

    def add(self, gold: Sequence[Sequence[Evidence]], readers: Sequence[RunReader], start: int, room: int) -> bool:
        """Add the unit from query `start` on; False, and nothing is added, beyond `room` bytes."""
        first_text, self._new_texts = len(self._texts), []
        facts = [
            [self._text([_cut(one.fact), "fact", [self._document(one.doc_id)]]) for one in dict.fromkeys(evidence)]
            for evidence in gold
        ]
        runs = [
            [[self._record(one, reader.places) for one in repeats] for repeats in reader.records(start)]
            for reader in readers
        ]
        words = [reader.words(start) for reader in readers]
        # Scores are grouped by metric, since similar neighbours compress better.
        scores = [_column([score for own in words for score in own[name]]) for name in self._measures]
        body = _pack_json({"gold": facts, "runs": runs, "scores": scores})
        packed = [(first, _pack(data)) for first, data in _in_blocks(self._new_texts, first_text)]
        documents = list(self._documents)[len(self.documents) :]
        size = len(body) + sum(len(text) for _, text in packed) + len(_pack_json(documents))
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

    def _record(self, record: RunRecord | None, places: ContextPlaces) -> Detail:
        if record is None:
            return {}
        detail: Detail = {"cost": _cost(record.cost)}
        if record.attempt > 1:
            detail["attempt"] = record.attempt
        if record.failure:
            detail["failure"] = [record.failure.kind[:200], _cut(record.failure.message)]
        if said := record.prediction:
            if said.answer is not None:
                detail["answer"] = _cut(said.answer)
            detail["contexts"] = [self._context(one, places) for one in said.contexts]
            detail["evidence"] = [self._context(one, places) for one in said.evidence]
            detail["trace"] = [[step.name[:200], _cut(step.content)] for step in said.trace]
        return detail

    def _context(self, context: Context, places: ContextPlaces) -> list[Any]:
        where = places.describe(context)
        documents = [self._document(doc_id) for doc_id in context.doc_ids]
        number = self._text([_cut(context.text), context.kind, documents, *([where] if where else [])])
        return [number, _rounded(context.score)]

    def _text(self, text: list[Any]) -> int:
        whole, about = text[0], (isinstance(text[0], str), text[1:])
        key = hashlib.blake2b(repr(about).encode("utf-8", "replace"), digest_size=16)
        key.update((whole if isinstance(whole, str) else repr(whole)).encode("utf-8", "replace"))
        known = len(self._texts)
        number = self._texts.setdefault(key.digest(), known)
        if number == known:
            self._new_texts.append(_as_json(text))
        return number

    def _document(self, doc_id: str) -> int:
        return self._documents.setdefault(doc_id[:300], len(self._documents))


def _cost(cost: Cost) -> Detail:
    return {
        "latency_s": _rounded(cost.latency_s),
        "wall_s": _rounded(cost.wall_s),
        "throttled_s": _rounded(cost.throttled_s),
        "stages": [[name[:200], _rounded(seconds)] for name, seconds in cost.stages_s.items()],
        "usage": [
            [role, usage.calls if usage.calls_are_known else None, usage.input_tokens, usage.output_tokens]
            for role, usage in cost.usage.items()
            if usage.is_used
        ],
        "unmetered": sum(usage.unmetered_calls for usage in cost.usage.values()),
        "replayed": cost.replayed_calls,
        "cached": cost.cached_texts,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _cut(text: str) -> str | list[Any]:
    """The text, or [its first characters, how many more there are]."""
    return text if len(text) <= _TEXT_CHARS else [text[:_TEXT_CHARS], len(text) - _TEXT_CHARS]


def _column(scores: Sequence[ShownWords]) -> Detail:
    """One measure: a letter, a value and the number of an explanation for each record, and the explanations."""
    reasons: dict[str, int] = {}
    return {
        "status": "".join(status for status, _, _ in scores),
        "value": [None if value is None else float(f"{value:.4g}") for _, value, _ in scores],
        "why": [reasons.setdefault(why, len(reasons)) for _, _, why in scores],
        "reasons": list(reasons),
    }


def _in_blocks(texts: Iterable[bytes], first: int) -> Iterator[tuple[int, bytes]]:
    """(number of the first text, JSON list of texts) for each block of about 96 kB before it is packed: deflate
    looks back 32 kB, so that larger blocks gain little and cost the browser more when it wants one text of them.
    """
    block: list[bytes] = []
    size = 0
    for data in texts:
        if block and size + len(data) > 96_000:
            yield first, b"[" + b",".join(block) + b"]"
            first, block, size = first + len(block), [], 0
        block.append(data)
        size += len(data)
    if block:
        yield first, b"[" + b",".join(block) + b"]"
