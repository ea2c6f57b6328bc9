"""The numbers of a comparison, as tables hold them."""

from __future__ import annotations

from typing import Literal

from harness.display import Entry, Quantity, Rank, ValueGroup, counted
from harness.display.types import NumberForm
from harness.report.aggregates import count
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison

WhichAsGood = Literal["a", "b", "both", "neither"]
TESTS = {"mcnemar": "McNemar's exact test", "flips": "flips of signs"}
SIGNS = {"a": ">", "b": "<", "tie": "~", "differ": "≠"}
RESULTS = {"a": "A is better", "b": "B is better", "tie": "tie", "differ": "they differ"}
ON = {"documents": "on these documents", "new documents": "also on new documents", "queries": ""}
PAIR_HEADER = (
    *("n", "A", "B", "A - B [CI]", "balanced", "A / B", "better/equal/worse", "p", "p (Holm)"),
    *("p by document", "detectable", "result"),
)
LEFT_TO_FILES = frozenset({"A", "B", "balanced", "A / B", "p", "p by document", "result"})
"""Columns that a terminal does without: the sign behind a difference tells the result."""


def described(compared: MeasureComparison) -> str:
    """Direction, test, family, mix and n of a measure."""
    way = {True: "higher is better", False: "lower is better", None: "no direction known"}
    pairs = len(compared.pairs)
    family = f"Holm over {pairs:,} pairs" if pairs > 1 else "one pair"
    mix = "; types as they are mixed in the data set" if compared.weights is not None else ""
    return f"{way[compared.measure.higher_is_better]}; {TESTS[compared.test]}; {family}{mix}"


def means_over(compared: MeasureComparison) -> str:
    """Over which queries the means of the ranking are."""
    return f"means over {counted(compared.n_common, 'query', 'queries')} with a value in every run"


def ranking(compared: MeasureComparison) -> list[int]:
    """Positions of the runs, the best mean first where a direction is known."""
    way = compared.measure.higher_is_better
    places = list(range(len(compared.means)))
    if way is None:
        return places
    return sorted(places, key=lambda place: _merit(compared.means[place], higher_is_better=way))


def rank(compared: MeasureComparison, position: int) -> Rank | None:
    """The places that a run may have among those compared with each other; None where it was not, or no direction
    is known.
    """
    places = compared.ranks[position] if compared.ranks else None
    return Rank(*places) if places else None


def mean(compared: MeasureComparison, quantity: float | None) -> Quantity | None:
    """A mean, or what is of its size."""
    return None if quantity is None else Quantity(quantity, unit=_unit(compared))


def difference(compared: MeasureComparison, pair: ComparedPair) -> Quantity:
    """`+0.060 [-0.005, +0.125] ~`."""
    mark = SIGNS[compared.verdict(pair)]
    return Quantity(pair.difference, *pair.interval, unit=_unit(compared), signed=True, mark=mark)


def chance(p: float) -> Quantity:
    """A p value."""
    return Quantity(p, unit="p")


def result(compared: MeasureComparison, pair: ComparedPair) -> str:
    """`A is better, on these documents`."""
    found, on = RESULTS[compared.verdict(pair)], ON[pair.population]
    return f"{found}, {on}" if on and pair.significant else found


def as_good(compared: MeasureComparison, pair: ComparedPair, margin: float) -> WhichAsGood | None:
    """Which of the two is shown to be worse than the other by less than `margin` points, by the interval of their
    difference; None: nobody knows what is better, how large a difference can be, or how sure this one is.
    """
    way, span = compared.measure.higher_is_better, compared.measure.span
    low, high = pair.interval
    if way is None or span is None or low is None or high is None:
        return None
    limit = margin / 100 * span
    a, b = (low > -limit, high < limit) if way else (high < limit, low > -limit)
    return "both" if a and b else "a" if a else "b" if b else "neither"


def pair_entries(compared: MeasureComparison, pair: ComparedPair) -> tuple[Entry, ...]:
    """What stands below `PAIR_HEADER`, whoever the two are called."""
    return (
        Quantity(pair.n, of=pair.n_expected, unit="count"),
        mean(compared, pair.mean_a),
        mean(compared, pair.mean_b),
        difference(compared, pair),
        None if pair.balanced is None else difference(compared, pair.balanced),
        None if pair.ratio is None else Quantity(pair.ratio),
        ValueGroup(tuple(map(count, compared.outcomes(pair))), "/"),
        chance(pair.p),
        chance(pair.p_holm),
        None if pair.p_clusters is None else chance(pair.p_clusters),
        mean(compared, pair.detectable),
        result(compared, pair),
    )


def _unit(compared: MeasureComparison) -> NumberForm:
    """Three decimals for what lies within -1 and 1, three digits for what does not, and for costs."""
    small = all(one is None or abs(one) <= 1 for one in compared.means)
    return "share" if small and not compared.measure.is_cost else ""


def _merit(value: float | None, *, higher_is_better: bool) -> tuple[bool, float]:
    if value is None:
        return True, 0.0
    return False, -value if higher_is_better else value
