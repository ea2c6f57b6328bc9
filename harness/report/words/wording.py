"""Numbers and names as they stand in a sentence: no difference without its interval, no name without an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.display.number_format import LEAST_CHANCE
from harness.display.text_format import counted, number, printable
from harness.report.labels import shortened
from harness.statistics.intervals import UNKNOWN, Interval
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison
from harness.statistics.power import can_show_anything

_LONGEST_TITLE = 60
"""Of a measure: its end often says of what it is."""
_MOST_NAMES = 3


@dataclass(frozen=True)
class Gap:
    """How far one run is ahead of another: positive is better, whichever way the measure counts."""

    measure: MeasureComparison
    difference: float
    interval: Interval
    pair: ComparedPair

    @classmethod
    def between(cls, measure: MeasureComparison, a: int, b: int) -> Gap | None:
        """Of run `a` ahead of run `b`; None where they were not compared."""
        pair = next((one for one in measure.pairs if {one.a, one.b} == {a, b}), None)
        if pair is None:
            return None
        turned = (pair.a == b) != (measure.measure.higher_is_better is False)
        gap = cls(measure, pair.difference, pair.interval, pair)
        return gap.turned() if turned else gap

    @property
    def is_told_apart(self) -> bool:
        """Whether it is more than chance."""
        return self.pair.significant

    @property
    def farthest(self) -> float:
        """The largest difference, either way, that the interval holds."""
        return max(abs(limit) for limit in (self.difference, *self.interval) if limit is not None)

    def words(self) -> str:
        """`6.0 points (95 % interval 0.5 to 11.5)`."""
        low, high = self.interval
        shown = amount(self.measure, self.difference)
        if self.pair.n > 1 and self.pair.spread is None:
            return f"{shown} (the same on every query)"
        if low is None or high is None:
            return f"{shown} ({counted(self.pair.n, 'query is', 'queries are')} too few for an interval)"
        span = f"{bare(self.measure, low)} to {bare(self.measure, high)}"
        return f"{shown} ({per_cent(self.pair.level)} % interval {span})"

    def undecided(self, whom: str, of: str = "a difference of") -> str:
        """What is said of two that are not told apart, behind "is": where no outcome of so few queries would tell
        them apart, that, for a difference of 100 points that is "not told apart" reads like a mistake.
        """
        if can_show_anything(self.pair.n, len(self.measure.pairs)):
            return f"not told apart from {whom}: {of} {self.words()}"
        side = "ahead of" if self.difference > 0 else "behind"
        by = f"{amount(self.measure, abs(self.difference))} {side}" if self.difference else "level with"
        few = f"{counted(self.pair.n, 'query is', 'queries are')} too few to tell anything apart"
        return f"{by} {whom} ({few})"

    def size(self) -> str:
        """`words`, of a gap that is a disadvantage: how large it is."""
        return self.words() if self.difference >= 0 else self.turned().words()

    def turned(self) -> Gap:
        """How far the other one is ahead."""
        low, high = self.interval
        interval = UNKNOWN if low is None or high is None else Interval(-high, -low)
        return Gap(self.measure, -self.difference, interval, self.pair)


def name(label: str) -> str:
    """A run as a sentence calls it: its label, bounded, and still not another's."""
    return shortened(label)


def listed(labels: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 others`."""
    names = [name(label) for label in labels]
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1:,} others"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def title_of(measure: MeasureComparison) -> str:
    """A measure as a sentence calls it."""
    return printable(measure.measure.title or measure.measure.name, _LONGEST_TITLE)


def level(measure: MeasureComparison, mean: float | None) -> str:
    """A mean: `62.0 %`, `0.532`, `2,208`."""
    if mean is None:
        return "not measured"
    if measure.measure.is_share:
        return f"{100 * mean:.1f} %"
    return bare(measure, mean)


def amount(measure: MeasureComparison, difference: float) -> str:
    """A difference: `6.0 points`, `0.032`, `4,400`."""
    return f"{bare(measure, difference)} points" if measure.measure.is_share else bare(measure, difference)


def bare(measure: MeasureComparison, value: float) -> str:
    """The figure alone, without a unit; what rounds to zero has no sign."""
    if measure.measure.is_share:
        return f"{round(100 * value, 1) + 0.0:.1f}"
    if measure.measure.is_cost or abs(value) > 1:
        return number(value + 0.0)
    return f"{round(value, 3) + 0.0:.3f}"


def per_cent(share: float) -> str:
    """`95`, `99.2`."""
    return f"{100 * share:.1f}".removesuffix(".0")


def odds(p: float) -> str:
    """A p value: `p = 0.031`, `p < 0.001`."""
    return f"p < {LEAST_CHANCE}" if p < LEAST_CHANCE else f"p = {p:.3f}"


def times(ratio: float) -> str:
    """`140 times`, `3.1 times`."""
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
