"""Answers to which a metric does not apply, above all refusals. A mean without them is over different queries in
each run, and a system gains by refusing what is hard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.core.records import Reference
from harness.evaluators.score_preconditions import is_null, why_not
from harness.protocols import Measure, RunFacts
from harness.report.samples import References
from harness.report.view import Group, RunView


@dataclass(frozen=True)
class Refusals:
    """One measure of the complete runs of a group."""

    measure: Measure
    views: Sequence[RunView]
    """Those that have a value, scored in one way."""
    applies: frozenset[str]
    """The queries to which the metric applies, whatever the answer."""
    refused: Mapping[str, frozenset[str]]
    """By run id: the answerable ones among them that were refused, and so have no value."""

    @property
    def is_any(self) -> bool:
        """Whether any run has no value of a query because of its answer."""
        return any(self.applies - view.values[self.measure.name].expected for view in self.views)

    @cached_property
    def common(self) -> frozenset[str]:
        """The queries for which every run has a value."""
        return frozenset.intersection(*(frozenset(view.values[self.measure.name].values) for view in self.views))

    def on_common(self, view: RunView) -> dict[str, float]:
        """The values of a run on the queries that all have."""
        values = view.values[self.measure.name].values
        return {query_id: values[query_id] for query_id in self.common}

    def counting_refused(self, view: RunView) -> dict[str, float]:
        """The values of a run, with the worst for each answerable query that it refused."""
        worst = self.measure.failure_value or 0.0
        refused = dict.fromkeys(sorted(self.refused[view.run.run_id]), worst)
        return {**view.values[self.measure.name].values, **refused}


def refusals_of(group: Group, names: Sequence[str]) -> dict[str, Refusals]:
    """By metric: those that read answers, and that have no value for some answer of a run."""
    found = {}
    for name in names:
        measure = group.known.get(name)
        views = [view for view in group.views if view.is_complete and name in view.values]
        others = group.scored_otherwise(name) if views else frozenset()
        views = [view for view in views if view.values[name].values and view.run.run_id not in others]
        if measure is None or "answer" not in measure.reads or not views:
            continue
        if all(len(view.values[name].expected) == len(view.frame.query_types) for view in views):
            continue
        one = _refusals(measure, views, References(group.widest.sample, list(group.widest.sample)))
        if one.is_any:
            found[name] = one
    return found


def _refusals(measure: Measure, views: Sequence[RunView], references: Sequence[Reference]) -> Refusals:
    # Query id -> whether it has an answer.
    about = {one.query_id: not is_null(one) for one in references if not why_not(measure, one, RunFacts())}
    refused, answerable = {}, {query_id for query_id, has_answer in about.items() if has_answer}
    applies = frozenset().union(*(view.values[measure.name].expected for view in views))
    for view in views:
        unmeasured = [query_id for query_id in about if query_id not in view.values[measure.name].expected]
        abstained = set(filter(view.abstained, unmeasured))
        applies |= abstained
        refused[view.run.run_id] = frozenset(abstained & answerable)
    return Refusals(measure, views, applies, refused)
