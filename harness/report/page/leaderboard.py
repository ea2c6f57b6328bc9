"""The leaderboard: who is where, how sure that is, and what a query costs with each."""

from __future__ import annotations

from dataclasses import dataclass

from harness.display import Quantity, Rank, number
from harness.display.types import NumberForm
from harness.report.aggregates import population
from harness.report.view import Group
from harness.report.words.findings import Findings
from harness.report.words.standings import Line
from harness.statistics import Aggregate
from harness.statistics.cost import TIMES
from harness.statistics.paired_values import COSTS

_MOST_SLOTS = 12
"""Ranks that a strip of slots shows; beyond them the numbers have to do."""


@dataclass(frozen=True)
class CostColumn:
    """Something that a query takes."""

    measure: str
    title: tuple[str, str]
    """On two lines."""
    unit: str
    """After a number, where there is no room for columns."""


_COSTS = (
    CostColumn("tokens", ("Tokens", "a query"), "tokens"),
    CostColumn("usd", ("USD", "a query"), "USD"),
    CostColumn("latency_s_p50", ("Latency", "p50, s"), "s (p50)"),
)


@dataclass(frozen=True)
class Track:
    """Where a mean and its interval lie, in percent of the width."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Standing:
    """One run's line."""

    label: str
    rank: Rank | None
    slots: tuple[bool, ...]
    """One for each place of the ranking: whether this run may be there. Empty: no rank, or too many to draw."""
    score: Quantity | None
    track: Track | None
    n: Quantity | None
    """None: there is no score."""
    costs: tuple[Quantity | None, ...]
    remarks: tuple[str, ...]
    """What keeps its numbers from being the whole story."""

    @property
    def is_tied(self) -> bool:
        """Whether the queries cannot tell it from a neighbour."""
        return self.rank is not None and self.rank.is_tied


@dataclass(frozen=True)
class Leaderboard:
    """All runs of a group, the best first."""

    measure: str
    costs: tuple[CostColumn, ...]
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
        return any(one.track for one in self.standings)


def leaderboard(group: Group, findings: Findings) -> Leaderboard:
    """The lines in the order of `findings`, which may know no measure: then there are no scores and no bars."""
    measure = findings.measure
    costs = tuple(cost for cost in _COSTS if any(view.value(cost.measure) for view in group.views))
    lines = findings.lines(group)
    known = group.known.get(measure or "")
    percent = known is not None and known.is_share
    is_cost = measure in group.costs
    full, n_places = (
        _full_width([line.row for line in lines], least=0.0 if is_cost else 1.0),
        max((rank.worst for rank in findings.ranks if rank), default=0),
    )
    standings = []
    for line in lines:
        row = line.row
        standings.append(
            Standing(
                label=line.label,
                rank=line.rank,
                slots=_slots(line.rank, n_places),
                score=line.mean if is_cost else _score(row, percent=percent),
                track=_track(row, full),
                n=population(row) if row else None,
                costs=tuple(line.spent(cost.measure) for cost in costs),
                remarks=tuple(_remarks(line, measure)),
            )
        )
    spoken = group.spoken(measure) if measure else "score"
    mix = ", natural mix" if findings.is_natural else ""
    shown = f"{spoken[:1].upper()}{spoken[1:]}{', %' if percent else ''}{mix}"
    return Leaderboard(shown, costs, tuple(standings), ("0", "100" if percent else number(full)))


def _full_width(rows: list[Aggregate | None], least: float) -> float:
    """What the whole track stands for: 1 for a share, else the largest value or end of an interval."""
    ends = [end for row in rows if row for end in (row.mean, row.ci_high) if end is not None]
    return max([least, *ends]) or 1.0


def _score(row: Aggregate | None, *, percent: bool) -> Quantity | None:
    if row is None:
        return None
    small = all(abs(end) <= 1 for end in (row.mean, row.ci_low, row.ci_high) if end is not None)
    unit: NumberForm = "%" if percent else "share" if small else ""
    return Quantity(row.mean, row.ci_low, row.ci_high, unit=unit)


def _track(row: Aggregate | None, full: float) -> Track | None:
    if row is None or row.mean is None:
        return None
    low, high = (None if end is None else _share(end, full) for end in (row.ci_low, row.ci_high))
    return Track(_share(row.mean, full), low, high)


def _share(value: float, full: float) -> float:
    return round(100 * min(max(value / full, 0.0), 1.0), 2)


def _slots(rank: Rank | None, n_places: int) -> tuple[bool, ...]:
    if rank is None or not 1 < n_places <= _MOST_SLOTS:
        return ()
    return tuple(rank.best <= place <= rank.worst for place in range(1, n_places + 1))


def _remarks(line: Line, measure: str | None) -> list[str]:
    remarks = [line.aside] if line.aside else []
    if line.view is None:
        return remarks
    own = line.view.row(measure) if measure else None
    if own is None:
        remarks.append("not scored")
    elif own.n_imputed:
        remarks.append(f"{own.n_imputed:,} {_imputed(own.measure)}")
    return remarks


def _imputed(measure: str) -> str:
    """What became of a query whose value was put in place of one."""
    if measure in TIMES:
        return "timed out"
    return "not counted in full" if measure in COSTS else "failed, counted as worst"
