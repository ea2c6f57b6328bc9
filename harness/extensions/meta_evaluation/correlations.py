"""Which measures agree with each other, and which with people: correlation coefficients of pairs of columns, over
all answers and over parts of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from harness.core.errors import ConfigError
from harness.display.text_format import counted, printable
from harness.extensions.meta_evaluation.correlation_columns import ValueColumn, ValueColumns
from harness.llm_utils.concurrency import Progress
from harness.statistics.correlation import Auc, Coefficient, Correlation, correlate

FEWEST_PAIRS = 10
"""Answers with both values that a coefficient needs: with 9 uncorrelated answers, it exceeds .67 one time in
twenty."""
ALL = "all"
By = Literal["type", "run"]


HIGH, LOW = 0.6, 0.4
"""Bounds of LLM-eval's two groups of answers (Dong 2025, section V-A); neither bound is in a group."""


class ColumnSpread(NamedTuple):
    """Mean and sample standard deviation of a column; the latter None for a single answer."""

    n: int
    mean: float
    deviation: float | None


class GroupMeans(NamedTuple):
    """Means of one column over the answers with a high and with a low value of another; None: no such answer."""

    high: float | None
    n_high: int
    low: float | None
    n_low: int


@dataclass(frozen=True)
class CorrelatedPair:
    one: str
    other: str
    part: str
    """A query type, a run id, or `ALL`."""
    n: int
    n_of: int
    n_clusters: int
    found: Correlation | None
    why_not: str
    groups: GroupMeans | None
    """Means of `other` where `one` is high and low. None: not both are scores up to 1."""


@dataclass(frozen=True)
class CorrelationFindings:
    columns: ValueColumns
    pairs: tuple[CorrelatedPair, ...]
    parts: tuple[CorrelatedPair, ...]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for pair in self.pairs for name in (pair.one, pair.other)))

    @property
    def measurable(self) -> tuple[CorrelatedPair, ...]:
        return tuple(pair for pair in self.pairs if pair.found)


def correlate_columns(
    columns: ValueColumns, by: By | None = None, tell: Progress = lambda _done, _total: None
) -> CorrelationFindings:
    """Every metric against every dimension of labels, or without labels every pair of metrics.

    `tell(done, total)` reports progress in pairs. Raises ConfigError if there is no pair, or none with a
    coefficient; the message says why.
    """
    measures = [name for name in columns.values if name not in columns.labels]
    names = [(measure, label) for label in columns.labels for measure in measures]
    if not columns.labels:
        names = list(combinations(measures, 2))
    if not names:
        known = ", ".join(columns.values) or "none"
        raise ConfigError(f"two columns make a pair, and there is {known}", "name two measures, or --labels FILE")
    # A query type may itself be called `all`.
    parts = [(ALL, columns)]
    if by:
        of = {
            answer: facts.query_type if by == "type" else answer.run_id
            for answer, facts in columns.answers.items()
        }
        for part in sorted(set(of.values())):
            parts.append((part, columns.restricted(answer for answer, own in of.items() if own == part)))
    found = []
    for part, own in parts:
        for one, other in names:
            found.append(correlated_pair(own, one, other, part))
            tell(len(found), len(parts) * len(names))
    pairs = tuple(found[: len(names)])
    if not any(pair.found for pair in pairs):
        first = pairs[0]
        what = f"nothing to correlate: {first.one} and {first.other}: {first.why_not}"
        raise ConfigError(what, "choose other measures (--measure), or runs with more answers")
    notes = list(columns.notes)
    for name, column in columns.values.items():
        values = set(column.values())
        if len(values) == 1:
            answers = counted(len(column), "answer")
            said = f"is {values.pop():g} for all {answers} with it, so it correlates with nothing"
            notes.append(f"{printable(name)} {said}")
    return CorrelationFindings(columns, pairs, tuple(found[len(names) :]), tuple(notes))


def column_spread(values: Sequence[float]) -> ColumnSpread:
    return ColumnSpread(len(values), fmean(values), stdev(values) if len(values) > 1 else None)


def group_means(by: ValueColumn, of: ValueColumn) -> GroupMeans:
    """Means of `of` where `by` is above `HIGH` and below `LOW`."""
    shared = by.keys() & of.keys()
    high = [of[answer] for answer in shared if by[answer] > HIGH]
    low = [of[answer] for answer in shared if by[answer] < LOW]
    return GroupMeans(fmean(high) if high else None, len(high), fmean(low) if low else None, len(low))


def correlated_pair(columns: ValueColumns, one: str, other: str, part: str = ALL) -> CorrelatedPair:
    left, right = columns.values[one], columns.values[other]
    shared = sorted(left.keys() & right.keys())
    clusters = [columns.answers[answer].cluster for answer in shared]
    values = {name: [columns.values[name][answer] for answer in shared] for name in (one, other)}
    constant = [name for name, own in values.items() if len(set(own)) == 1]
    found, why_not, groups = None, "", None
    if len(shared) < FEWEST_PAIRS:
        why_not = f"{counted(len(shared), 'answer')} with both; at least {FEWEST_PAIRS} are needed"
    elif constant:
        name, n = constant[0], len(shared)
        why_not = f"{printable(name)} is {values[name][0]:g} for each of these {n} answers"
    else:
        found = correlate(values[one], values[other], clusters)
        if {one, other}.isdisjoint(columns.labels) and max(*left.values(), *right.values()) <= 1:
            groups = group_means(left, right)
    counts = (len(shared), len(columns.answers), len(set(clusters)))
    return CorrelatedPair(one, other, part, *counts, found, why_not, groups)


def coefficient_data(found: Coefficient | Auc) -> dict[str, float | None]:
    return {"value": found.value, "low": found.interval.low, "high": found.interval.high}
