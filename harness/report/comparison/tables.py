"""The tables of a comparison: the ranking by a metric, its pairs, and a matrix of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from harness.display import Entry, Quantity, Rank, Table, ValueGroup, counted, file_name, printable
from harness.display.types import NumberForm
from harness.report.comparison.compare import Comparison
from harness.report.quantities import count, plain
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, PairPlaces

WhichAsGood = Literal["a", "b", "both", "neither"]
TESTS = {"mcnemar": "McNemar's exact test", "flips": "flips of signs"}
SIGNS = {"a": ">", "b": "<", "tie": "~", "differ": "≠"}
RESULTS = {"a": "A is better", "b": "B is better", "tie": "tie", "differ": "they differ"}
ON = {"documents": "on these documents", "new documents": "also on new documents", "queries": ""}
LEFT_TO_FILES = frozenset({"A", "B", "balanced", "A / B", "p", "p by document", "result"})
"""Columns that a terminal does without: the sign behind a difference tells the result."""
BESIDES = " (not the metric that ranks)"
_AS_GOOD = {"a": "A", "b": "B", "both": "both", "neither": "neither", None: None}
_Column = tuple[str, Callable[[ComparedPair], Entry]]


def described(compared: MeasureComparison) -> str:
    """Direction, test, family, mix and n of a measure."""
    way = {True: "Higher is better", False: "Lower is better", None: "No direction known"}
    pairs = len(compared.pairs)
    family = f"Holm over {pairs:,} pairs" if pairs > 1 else "one pair"
    mix = "; types as they are mixed in the data set" if compared.weights is not None else ""
    return f"{way[compared.measure.higher_is_better]}; {TESTS[compared.test]}; {family}{mix}."


def mean(compared: MeasureComparison, value: float | None) -> Quantity | None:
    return None if value is None else Quantity(value, unit=_unit(compared))


def difference(compared: MeasureComparison, pair: ComparedPair) -> Quantity:
    """`+0.060 [-0.005, +0.125] ~`."""
    mark = SIGNS[compared.verdict(pair)]
    return Quantity(pair.difference, *pair.interval, unit=_unit(compared), signed=True, mark=mark)


def which_as_good(compared: MeasureComparison, pair: ComparedPair, margin: float) -> WhichAsGood | None:
    """Which of the two is shown to be worse than the other by less than `margin` points, by the interval of the
    difference. None if the metric has no direction or no range, or without an interval.
    """
    way, span = compared.measure.higher_is_better, compared.measure.span
    low, high = pair.interval
    if way is None or span is None or low is None or high is None:
        return None
    limit = margin / 100 * span
    a, b = (low > -limit, high < limit) if way else (high < limit, low > -limit)
    return "both" if a and b else "a" if a else "b" if b else "neither"


def _unit(compared: MeasureComparison) -> NumberForm:
    """Three decimals for values within -1 and 1; three significant digits for others and for costs."""
    small = all(one is None or abs(one) <= 1 for one in compared.means)
    return "share" if small and not compared.measure.is_cost else ""


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """The ranking and the pairs by each metric, then the pairs with a baseline."""
    names = [one.label for one in comparison.runs]
    for place, compared in enumerate(comparison.measures):
        besides = BESIDES if place or compared.measure.higher_is_better is None else ""
        for table in (ranking_table(names, compared), pair_table(names, compared, comparison.margin)):
            yield replace(table, title=f"{table.title}{besides}")
    for compared in comparison.apart:
        table = pair_table(names, compared)
        yield replace(table, name=f"apart-{table.name}", title=f"{table.title} (with a baseline)")


def ranking_table(names: Sequence[str], compared: MeasureComparison) -> Table:
    """The best mean first if the metric has a direction."""
    places, way = list(range(len(names))), compared.measure.higher_is_better
    if way is not None:
        sign = -1 if way else 1
        places.sort(key=lambda at: (compared.means[at] is None, sign * (compared.means[at] or 0.0)))
    ranks = compared.ranks or (None,) * len(names)
    rows = tuple(
        (names[at], Rank(*own) if (own := ranks[at]) else None, mean(compared, compared.means[at]))
        for at in places
    )
    title = f"{printable(compared.measure.name)}: ranks"
    note = f"Means over {counted(compared.n_common, 'query', 'queries')} with a value in every run."
    return Table(_name("ranks", compared), title, ("system", "rank", "mean"), rows, note=note)


def pair_table(names: Sequence[str], compared: MeasureComparison, margin: float | None = None) -> Table:
    """Every pair of runs by one measure; with a margin in points, which of the two is as good as the other."""
    columns = list(_pair_columns(names, compared))
    note = (
        f"{described(compared)} CI: at the level at which Holm's correction decided the pair, at least 95 %. "
        "Detectable: the true difference that so many queries would show four times out of five after Holm."
    )
    as_good = partial(which_as_good, compared, margin=margin or 0.0)
    if margin is not None and any(map(as_good, compared.pairs)):
        columns.append((f"within {margin:g} points", lambda pair: _AS_GOOD[as_good(pair)]))
        note += f" Within {margin:g} points: whose interval rules out more of a disadvantage."
    header = tuple(title for title, _ in columns)
    rows = tuple(tuple(of(pair) for _, of in columns) for pair in compared.pairs)
    title = f"Pairs: {printable(compared.measure.name)}"
    return Table(_name("pairs", compared), title, header, rows, note=note, details=LEFT_TO_FILES & {*header})


def _pair_columns(names: Sequence[str], compared: MeasureComparison) -> Iterator[_Column]:
    yield "A, B", lambda pair: f"{names[pair.a]}, {names[pair.b]}"
    yield "n", lambda pair: Quantity(pair.n, of=pair.n_expected, unit="count")
    yield "A", lambda pair: mean(compared, pair.mean_a)
    yield "B", lambda pair: mean(compared, pair.mean_b)
    yield "A - B [CI]", lambda pair: difference(compared, pair)
    if any(pair.balanced for pair in compared.pairs):
        yield "balanced", lambda pair: None if pair.balanced is None else difference(compared, pair.balanced)
    yield "A / B", lambda pair: plain(pair.ratio)
    yield "better/equal/worse", lambda pair: ValueGroup(tuple(map(count, compared.outcomes(pair))), "/")
    yield "p", lambda pair: Quantity(pair.p, unit="p")
    yield "p (Holm)", lambda pair: Quantity(pair.p_holm, unit="p")
    if any(pair.p_clusters is not None for pair in compared.pairs):
        yield "p by document", lambda pair: Quantity(pair.p_clusters, unit="p")
    yield "detectable", lambda pair: mean(compared, pair.detectable)
    yield "result", lambda pair: _result(compared, pair)


def _result(compared: MeasureComparison, pair: ComparedPair) -> str:
    """Such as `A is better, on these documents`."""
    result, on = RESULTS[compared.verdict(pair)], ON[pair.population]
    return f"{result}, {on}" if on and pair.significant else result


def matrix_table(names: Sequence[str], order: Sequence[int], compared: MeasureComparison) -> Table:
    """Row less column, both in that order."""
    pairs = {(pair.a, pair.b): pair for one in compared.pairs for pair in (one, one.turned)}
    rows = tuple((names[a], *[_against(compared, (a, b), pairs) for b in order]) for a in order)
    measure = printable(compared.measure.name)
    note = (
        f"Row minus column, {measure}, with its interval (95 % or more, see the pairs). "
        f"{described(compared)} "
        "> the row is better, < the column is, ~ no more than chance (which is no proof of equality)."
    )
    header = ("system", *[names[place] for place in order])
    return Table("significance", f"Who differs from whom: {measure}", header, rows, note=note)


def _against(compared: MeasureComparison, place: PairPlaces, pairs: dict[PairPlaces, ComparedPair]) -> Entry:
    if place[0] == place[1]:
        return ""
    return difference(compared, pairs[place]) if place in pairs else None


def _name(kind: str, compared: MeasureComparison) -> str:
    return f"{kind}-{file_name(printable(compared.measure.name))}"
