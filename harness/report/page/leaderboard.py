"""The leaderboard: who is where, how sure that is, and what a query costs with each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.analysis import Aggregate
from harness.report.findings import Findings
from harness.report.text import number, percent, population, printable, ratio
from harness.report.view import Group, RunView

_MOST_SLOTS = 12
"""Ranks that a strip of slots shows; beyond them the numbers have to do."""


@dataclass(frozen=True)
class Cost:
    """Something that a query takes."""

    measure: str
    title: str
    unit: str
    """After a number, where there is no room for columns."""


_COSTS = (
    Cost("tokens", "Tokens a query", "tokens"),
    Cost("usd", "USD a query", "USD"),
    Cost("latency_s_p50", "Latency p50, s", "s (p50)"),
)


@dataclass(frozen=True)
class Bar:
    """Where a mean and its interval lie, in percent of the width."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Standing:
    """One run's line."""

    label: str
    rank: str
    slots: tuple[bool, ...]
    """One for each place of the ranking: whether this run may be there. Empty: no rank, or too many to draw."""
    score: str
    interval: str
    bar: Bar | None
    n: str
    """Empty: there is no score."""
    costs: tuple[str, ...]
    remarks: tuple[str, ...]
    """What keeps its numbers from being the whole story."""

    @property
    def is_tied(self) -> bool:
        """Whether the queries cannot tell it from a neighbour."""
        return sum(self.slots) > 1 or "-" in self.rank or "\N{EN DASH}" in self.rank


@dataclass(frozen=True)
class Leaderboard:
    """All runs of a group, the best first."""

    measure: str
    costs: tuple[Cost, ...]
    """Columns of what a query costs: only what was measured for a run, and is not 0 for all."""
    standings: tuple[Standing, ...]
    axis: tuple[str, str]
    """What the left and the right end of a bar's track stand for."""

    @property
    def has_ties(self) -> bool:
        """Whether any two are not told apart."""
        return any(one.is_tied for one in self.standings)

    @property
    def has_bars(self) -> bool:
        """Whether any run has a score."""
        return any(one.bar for one in self.standings)


def leaderboard(group: Group, findings: Findings) -> Leaderboard:
    """The lines in the order of `findings`, which may know no measure: then there are no scores and no bars."""
    measure = findings.measure
    costs = tuple(cost for cost in _COSTS if any(view.value(cost.measure) for view in group.views))
    rows = [view.row(measure) if measure else None for view in group.views]
    full = _full_width(rows)
    ranks = [_span(rank) for rank in findings.ranks]
    n_places = max((span[1] for span in ranks if span), default=0)
    standings = []
    for position in findings.order:
        view, row = group.views[position], rows[position]
        score, interval = _score(row, as_percent=measure == "accuracy")
        standings.append(
            Standing(
                label=view.label,
                rank=findings.ranks[position],
                slots=_slots(ranks[position], n_places),
                score=score,
                interval=interval,
                bar=_bar(row, full),
                n=population(row) if row else "",
                costs=tuple(number(view.value(cost.measure)) for cost in costs),
                remarks=tuple(_remarks(view, row)),
            )
        )
    shown = "Accuracy, %" if measure == "accuracy" else printable(measure or "Score")
    axis = ("0", "100" if measure == "accuracy" else number(full))
    return Leaderboard(shown, costs, tuple(standings), axis)


def _full_width(rows: list[Aggregate | None]) -> float:
    """What the whole track stands for: 1 for a share, else the largest value or end of an interval."""
    ends = [end for row in rows if row for end in (row.mean, row.ci_high) if end is not None]
    return max([1.0, *ends])


def _score(row: Aggregate | None, *, as_percent: bool) -> tuple[str, str]:
    text = percent(row, interval=True) if as_percent else ratio(row)
    value, bracket, rest = text.partition(" [")
    return value, f"[{rest}" if bracket else ""


def _bar(row: Aggregate | None, full: float) -> Bar | None:
    if row is None or row.mean is None:
        return None
    low, high = (None if end is None else _share(end, full) for end in (row.ci_low, row.ci_high))
    return Bar(_share(row.mean, full), low, high)


def _share(value: float, full: float) -> float:
    return round(100 * min(max(value / full, 0.0), 1.0), 2)


def _span(rank: str) -> tuple[int, int] | None:
    """`2` is (2, 2), `1-3` is (1, 3); what is no rank is None."""
    found = [int(place) for place in re.findall(r"\d+", rank)]
    return (found[0], found[-1]) if found else None


def _slots(span: tuple[int, int] | None, n_places: int) -> tuple[bool, ...]:
    if span is None or not 1 < n_places <= _MOST_SLOTS:
        return ()
    return tuple(span[0] <= place <= span[1] for place in range(1, n_places + 1))


def _remarks(view: RunView, row: Aggregate | None) -> list[str]:
    remarks = []
    if not view.run.done():
        remarks.append("unfinished")
    if row is None:
        remarks.append("not scored")
    elif row.n_imputed:
        remarks.append(f"{row.n_imputed:,} failed, counted as worst")
    return remarks
