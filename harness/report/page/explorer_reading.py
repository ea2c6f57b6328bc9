"""Reads runs for the explorer. What the list shows is kept in memory; details are read when they are packed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import StoreError
from harness.core.page_and_section import PlacesOfText
from harness.core.records import Context, RunRecord, with_share_read
from harness.display.text_format import printable
from harness.evaluators.run_answers import CachedSearch
from harness.report.view import RunView
from harness.statistics.aggregate import means_of
from harness.store import RunDir
from harness.store.score_files import ScoreLine

UNIT = 24
"""Queries whose details are read and packed together."""
_AT_ONCE = 1_024
"""Queries whose scores are read together for their labels."""

Detail = dict[str, Any]
"""An object of the page's JSON."""
ShownWords = tuple[str, float | None, str]
"""The status of a score (s scored, i imputed, f failed, m missing, n not applicable, - none), its value and its
explanation.
"""
ShownColumn = tuple[NDArray[np.uint8], NDArray[np.float64]]
"""A measure of one run: for each query its letter, and its mean over repeats; NaN without a value."""
_LETTERS = np.frombuffer(b"-nmfis", np.uint8)
"""The letter of a query's scores by rank. The highest of its repeats counts, so that one failed repeat does not
hide the others."""
_RANKS = np.array([0, 5, 4, 3, 2, 1], np.uint8)
"""Of the states `NONE`, `SCORED`, `IMPUTED`, `FAILED`, `MISSING`, `NOT_APPLICABLE`."""


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


class RunReader:
    """One run: the list of all queries, and the records and scores of some. `query_ids` are those of the group."""

    def __init__(self, view: RunView, query_ids: Iterable[str]) -> None:
        self.places = ContextPlaces(view.run)
        self._view = view
        self._ids = list(query_ids)
        self._repeats = range(view.frame.repeats)
        self._columns = view.scores.over(self._ids).by_measure

    def cells(self, kinds: Mapping[str, Sequence[str]]) -> Detail:
        """What the list shows, one value per query. `kinds`: measure -> labels, of which each has a bit."""
        briefs = self._view.briefs
        keys = [[(query_id, repeat) for repeat in self._repeats] for query_id in self._ids]
        answered = [next(filter(briefs.has_answer, own), None) for own in keys]
        said = iter(briefs.at(key for key in answered if key))
        return {
            "label": self._view.label,
            "id": self._view.run.run_id,
            "baseline": self._view.is_baseline,
            "status": [reduce(or_, map(briefs.status, own), 0) for own in keys],
            "answers": [next(said) if key else None for key in answered],
            "kinds": [self._bits(measure, labels) for measure, labels in kinds.items()],
        }

    def column(self, measure: str) -> ShownColumn:
        """The cells of a metric: the mean over repeats with a value, otherwise why there is none."""
        if measure not in self._columns:
            return np.full(len(self._ids), _LETTERS[0]), np.full(len(self._ids), np.nan)
        own = self._columns[measure]
        return _LETTERS[_RANKS[own.states].max(axis=1, initial=0)], means_of(own.values)

    def records(self, start: int) -> list[list[RunRecord | None]]:
        """Of each query of the unit that begins there its repeats."""
        ids, briefs = self._ids[start : start + UNIT], self._view.briefs
        there = [key for one in ids for repeat in self._repeats if (key := (one, repeat)) in briefs]
        found = dict(zip(there, self._view.run.records_at([briefs.place(key) for key in there]), strict=True))
        return [[found.get((one, repeat)) for repeat in self._repeats] for one in ids]

    def words(self, start: int) -> Mapping[str, list[ShownWords]]:
        """Metric -> one score for each of these records."""
        ids = self._ids[start : start + UNIT]
        numbers = {key: n for n, key in enumerate((one, repeat) for one in ids for repeat in self._repeats)}
        nothing: ShownWords = ("-", None, "")
        found: dict[str, list[ShownWords]] = defaultdict(lambda: [nothing] * len(numbers))
        for score in self._scores_at([own.lines[start : start + UNIT] for own in self._columns.values()]):
            why = with_share_read(score.get("explanation", ""), score.get("share_read"))[:400]
            shown = score["status"][0], score.get("value"), why
            found[score["measure"]][numbers[score["query_id"], score["repeat"]]] = shown
        return found

    def _bits(self, measure: str, labels: Sequence[str]) -> list[int]:
        """Of each query a bit for each label that any of its answers has, the first the lowest."""
        given: dict[str, set[str]] = defaultdict(set)
        # A part at a time: the scores of a large run with their explanations would fill the memory.
        for start in range(0, len(self._ids) if measure in self._columns else 0, _AT_ONCE):
            for score in self._scores_at([self._columns[measure].lines[start : start + _AT_ONCE]]):
                given[score["query_id"]].add(score.get("label", ""))
        return [sum(1 << n for n, label in enumerate(labels) if label in given[one]) for one in self._ids]

    def _scores_at(self, lines: Sequence[NDArray[np.int64]]) -> list[ScoreLine]:
        kept, places = self._view.scores.lines, [own.ravel() for own in lines]
        if not kept or not places:
            return []
        every = np.concatenate(places)
        return kept.at(every[every >= 0].tolist())
