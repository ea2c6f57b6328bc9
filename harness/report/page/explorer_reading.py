"""Reads runs for the explorer. What the list shows is kept in memory; details are read again when they
are packed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import StoreError
from harness.core.page_and_section import PlacesOfText
from harness.core.records import Context, Cost, RunRecord, with_share_read
from harness.display.text_format import printable
from harness.evaluators.run_answers import CachedSearch
from harness.protocols import Measure, ScoreLabel
from harness.report.records import MISSING
from harness.report.view import RunView
from harness.statistics.aggregate import means_of
from harness.store import RecordKey, RunDir
from harness.store.score_files import ScoreLine


class ContextPlaces:
    """Where a context is in its document. The corpus is read when first needed, if it has pages or sections."""

    def __init__(self, run: RunDir) -> None:
        self._search = CachedSearch(run)
        self._is_known = run.manifest().dataset.get("has_places") is True
        self._of = lru_cache(maxsize=256)(PlacesOfText)

    def describe(self, context: Context) -> str:
        """`page 12, 3.1 Ovens`; empty if unknown."""
        if not self._is_known or context.span is None:
            return ""
        try:
            text = self._search.documents.get(context.span.doc_id, "")
        except StoreError:  # A damaged corpus costs the report its page numbers, nothing else.
            self._is_known = False
            return ""
        return printable(self._of(text).describe(context.span.start, context.span.end))


TEXT_CHARS = 20_000
"""Of any text in the page."""
_EXPLANATION_CHARS = 400
UNIT = 24

Detail = dict[str, Any]
"""One record of one query, as JSON."""
ShownWords = tuple[str, float | None, str]
"""The status of a score (s scored, i imputed, f failed, m missing, n not applicable, - none), its value and its
explanation.
"""
NO_WORDS: ShownWords = ("-", None, "")
_LETTERS = np.frombuffer(b"-nmfis", np.uint8)
"""The letter of a query's scores by rank. The highest of its repeats counts, so that one failed repeat does not
hide the others."""
_RANKS = np.array([0, 5, 4, 3, 2, 1], np.uint8)
"""Of the states `NONE`, `SCORED`, `IMPUTED`, `FAILED`, `MISSING`, `NOT_APPLICABLE`."""


ShownColumn = tuple[NDArray[np.uint8], NDArray[np.float64]]
"""A measure of one run: for each query its letter, and its mean over repeats; NaN without a value."""


@dataclass(frozen=True)
class AnswerKinds:
    """A measure that sorts answers, and the labels that any run of the group has."""

    measure: Measure
    labels: tuple[ScoreLabel, ...]

    def bits(self, labels: Iterable[str]) -> int:
        """One for each label that is any of these, the first the lowest."""
        given = {*labels}
        return sum(1 << number for number, label in enumerate(self.labels) if label.name in given)

    def as_json(self) -> Detail:
        return {
            "name": printable(self.measure.name),
            "title": printable(self.measure.display_name),
            "labels": [[printable(label.title), printable(label.advice, 400)] for label in self.labels],
        }


class UnitDetails(NamedTuple):
    """Of a unit of queries of one run."""

    records: list[list[Detail]]
    """Of each query its repeats."""
    scores: Mapping[str, list[ShownWords]]
    """Metric -> one score for each of these records."""


class RunReader:
    """One run: the list of all queries, and the details of some. `query_ids` are those of the group."""

    def __init__(self, view: RunView, query_ids: Iterable[str]) -> None:
        self._view = view
        self._ids = list(query_ids)
        self._repeats = range(view.frame.repeats)
        self._lines = view.scores.lines
        self._columns = view.scores.over(self._ids).by_measure
        self._contexts = ContextPlaces(view.run)

    def cells(self, kinds: Sequence[AnswerKinds] = ()) -> Detail:
        """What the list shows, one value per query; `kinds`: of each a bit for each label that any answer has."""
        briefs, statuses, answers = self._view.briefs, [], []
        for query_id in self._ids:
            own = [briefs.get((query_id, repeat)) for repeat in self._repeats]
            statuses.append(reduce(or_, (one.status if one else MISSING for one in own), 0))
            answers.append(next((one.answer for one in own if one and one.answer is not None), None))
        return {
            "label": self._view.label,
            "id": self._view.run.run_id,
            "baseline": self._view.is_baseline,
            "status": statuses,
            "answers": answers,
            "kinds": [self._bits(one) for one in kinds],
        }

    def column(self, measure: str) -> ShownColumn:
        """The cells of a metric: the mean over repeats with a value, otherwise why there is none."""
        if measure not in self._columns:
            return np.full(len(self._ids), _LETTERS[0]), np.full(len(self._ids), np.nan)
        own = self._columns[measure]
        return _LETTERS[_RANKS[own.states].max(axis=1, initial=0)], means_of(own.values)

    def details(self, start: int) -> UnitDetails:
        ids = self._ids[start : start + UNIT]
        keys = [(query_id, repeat) for query_id in ids for repeat in self._repeats]
        briefs = self._view.briefs
        there = [key for key in keys if key in briefs]
        found = self._view.run.records_at([briefs.place(key) for key in there])
        records = dict(zip(there, found, strict=True))
        return UnitDetails(
            [[_detail(records.get((one, repeat)), self._contexts) for repeat in self._repeats] for one in ids],
            self._scores_of(start, {key: place for place, key in enumerate(keys)}),
        )

    def _scores_of(self, start: int, places: Mapping[RecordKey, int]) -> dict[str, list[ShownWords]]:
        scores: dict[str, list[ShownWords]] = defaultdict(lambda: [NO_WORDS] * len(places))
        for score in self._scores_at([own.lines[start : start + UNIT] for own in self._columns.values()]):
            why = with_share_read(score.get("explanation", ""), score.get("share_read"))[:_EXPLANATION_CHARS]
            shown = score["status"][0], score.get("value"), why
            scores[score["measure"]][places[score["query_id"], score["repeat"]]] = shown
        return scores

    def _bits(self, kinds: AnswerKinds) -> list[int]:
        bits = [0] * len(self._ids)
        column = self._columns.get(kinds.measure.name)
        if column is None:
            return bits
        for start in range(0, len(bits), UNIT):
            own = column.lines[start : start + UNIT]
            found: dict[str, list[str]] = defaultdict(list)
            for score in self._scores_at([own]):
                found[score["query_id"]].append(score.get("label", ""))
            bits[start : start + UNIT] = [kinds.bits(found[one]) for one in self._ids[start : start + UNIT]]
        return bits

    def _scores_at(self, lines: Sequence[NDArray[np.int64]]) -> list[ScoreLine]:
        places = np.concatenate([own.ravel() for own in lines]) if lines else np.zeros(0, np.int64)
        return self._lines.at(places[places >= 0].tolist()) if self._lines else []


def _detail(record: RunRecord | None, places: ContextPlaces) -> Detail:
    if record is None:
        return {}
    detail: Detail = {"cost": _cost(record.cost)}
    if record.attempt > 1:
        detail["attempt"] = record.attempt
    if record.failure:
        detail["failure"] = [record.failure.kind[:200], cut(record.failure.message, TEXT_CHARS)]
    if record.prediction:
        if record.prediction.answer is not None:
            detail["answer"] = cut(record.prediction.answer, TEXT_CHARS)
        detail["contexts"] = [_context(one, places) for one in record.prediction.contexts]
        detail["evidence"] = [_context(one, places) for one in record.prediction.evidence]
        detail["trace"] = [[step.name[:200], cut(step.content, TEXT_CHARS)] for step in record.prediction.trace]
    return detail


def _context(context: Context, places: ContextPlaces) -> list[Any]:
    score = None if context.score is None else float(f"{context.score:.3g}")
    return [cut(context.text, TEXT_CHARS), context.kind, list(context.doc_ids), score, places.describe(context)]


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


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.3g}")


def cut(text: str, longest: int) -> str | list[Any]:
    """The text, or [its first `longest` characters, how many more there are]."""
    return text if len(text) <= longest else [text[:longest], len(text) - longest]
