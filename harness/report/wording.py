"""Numbers and names as they stand in a sentence: no difference without its interval, no name without an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.intervals import UNKNOWN, Interval
from harness.analysis.paired import MeasureComparison, Pair
from harness.report.text import number, printable

_LONGEST_NAME = 28
_MOST_NAMES = 3
_PLAIN = {
    "hallucination_rate": "hallucination rate",
    "false_abstention_rate": "false abstention rate",
    "latency_s": "latency",
    "usd": "USD",
}
SHARES = ("accuracy", "hallucination_rate", "false_abstention_rate")
"""Measures that are shares of queries, whatever the repeats made of their values."""


@dataclass(frozen=True)
class Gap:
    """How far one run is ahead of another: positive is better, whichever way the measure counts."""

    measure: MeasureComparison
    difference: float
    interval: Interval
    pair: Pair

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
        if low is None or high is None:
            return f"{amount(self.measure, self.difference)} (the same on every query)"
        span = f"{bare(self.measure, low)} to {bare(self.measure, high)}"
        return f"{amount(self.measure, self.difference)} (95 % interval {span})"

    def size(self) -> str:
        """`words`, of a gap that is a disadvantage: how large it is."""
        return self.words() if self.difference >= 0 else self.turned().words()

    def turned(self) -> Gap:
        """How far the other one is ahead."""
        low, high = self.interval
        interval = UNKNOWN if low is None or high is None else Interval(-high, -low)
        return Gap(self.measure, -self.difference, interval, self.pair)


def name(label: str) -> str:
    """A label, bounded: of a longer one the beginning, which is the system, and the end, which tells it apart."""
    line = printable(label, 10 * _LONGEST_NAME)
    half = _LONGEST_NAME // 2
    return line if len(line) <= _LONGEST_NAME else f"{line[: half - 1]}…{line[-half:]}"


def listed(labels: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 others`."""
    names = [name(label) for label in labels]
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1:,} others"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def measure_name(measure: str) -> str:
    """A measure as a word where it has one."""
    return _PLAIN.get(measure, printable(measure, _LONGEST_NAME))


def is_share(measure: MeasureComparison) -> bool:
    """Whether its values are shares of queries, and so written in per cent."""
    return measure.measure.name in SHARES or measure.measure.test == "mcnemar"


def level(measure: MeasureComparison, mean: float | None) -> str:
    """A mean: `62.0 %`, `0.532`, `2,208`."""
    if mean is None:
        return "not measured"
    if is_share(measure):
        return f"{100 * mean:.1f} %"
    return bare(measure, mean)


def amount(measure: MeasureComparison, difference: float) -> str:
    """A difference: `6.0 points`, `0.032`, `4,400`."""
    return f"{bare(measure, difference)} points" if is_share(measure) else bare(measure, difference)


def bare(measure: MeasureComparison, value: float) -> str:
    """The figure alone, without a unit; what rounds to zero has no sign."""
    if is_share(measure):
        return f"{round(100 * value, 1) + 0.0:.1f}"
    if measure.measure.is_cost or abs(value) > 1:
        return number(value + 0.0)
    return f"{round(value, 3) + 0.0:.3f}"


def times(ratio: float) -> str:
    """`140 times`, `3.1 times`."""
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
