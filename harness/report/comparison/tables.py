"""The tables of a comparison: the ranking by a metric, its pairs, and a matrix of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from harness.display import Entry, Quantity, Rank, Table, ValueGroup, counted, file_name, printable
from harness.display.types import NumberForm
from harness.report.comparison.compare import Comparison
from harness.report.quantities import count
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, PairPlaces

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


BESIDES = " (not the metric that ranks)"


def described(compared: MeasureComparison) -> str:
    """Direction, test, family, mix and n of a measure."""
    way = {True: "higher is better", False: "lower is better", None: "no direction known"}
    pairs = len(compared.pairs)
    family = f"Holm over {pairs:,} pairs" if pairs > 1 else "one pair"
    mix = "; types as they are mixed in the data set" if compared.weights is not None else ""
    return f"{way[compared.measure.higher_is_better]}; {TESTS[compared.test]}; {family}{mix}"


def ranking(compared: MeasureComparison) -> list[int]:
    """Positions of the runs, the best mean first if the metric has a direction."""
    way = compared.measure.higher_is_better
    places = list(range(len(compared.means)))
    sign = -1 if way else 1
    if way is None:
        return places
    return sorted(places, key=lambda at: (compared.means[at] is None, sign * (compared.means[at] or 0.0)))


def rank(compared: MeasureComparison, position: int) -> Rank | None:
    """The ranks that a run may have; None if it was not compared or the metric has no direction."""
    places = compared.ranks[position] if compared.ranks else None
    return Rank(*places) if places else None


def mean(compared: MeasureComparison, quantity: float | None) -> Quantity | None:
    return None if quantity is None else Quantity(quantity, unit=_unit(compared))


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


def pair_entries(compared: MeasureComparison, pair: ComparedPair) -> tuple[Entry, ...]:
    """The cells below `PAIR_HEADER`; the last is such as `A is better, on these documents`."""
    result, on = RESULTS[compared.verdict(pair)], ON[pair.population]
    return (
        Quantity(pair.n, of=pair.n_expected, unit="count"),
        mean(compared, pair.mean_a),
        mean(compared, pair.mean_b),
        difference(compared, pair),
        None if pair.balanced is None else difference(compared, pair.balanced),
        None if pair.ratio is None else Quantity(pair.ratio),
        ValueGroup(tuple(map(count, compared.outcomes(pair))), "/"),
        Quantity(pair.p, unit="p"),
        Quantity(pair.p_holm, unit="p"),
        None if pair.p_clusters is None else Quantity(pair.p_clusters, unit="p"),
        mean(compared, pair.detectable),
        f"{result}, {on}" if on and pair.significant else result,
    )


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
    rows = tuple(
        (names[place], rank(compared, place), mean(compared, compared.means[place])) for place in ranking(compared)
    )
    title = f"{printable(compared.measure.name)}: ranks"
    note = f"Means over {counted(compared.n_common, 'query', 'queries')} with a value in every run."
    return Table(_name("ranks", compared), title, ("system", "rank", "mean"), rows, note=note)


def pair_table(names: Sequence[str], compared: MeasureComparison, margin: float | None = None) -> Table:
    """Every pair of runs by one measure; with a margin in points, which of the two is as good as the other."""
    within = () if margin is None else (f"within {margin:g} points",)
    rows = tuple(
        (
            f"{names[pair.a]}, {names[pair.b]}",
            *pair_entries(compared, pair),
            *(() if margin is None else (_as_good(compared, pair, margin),)),
        )
        for pair in compared.pairs
    )
    detectable = (
        "CI: at the level at which Holm's correction decided the pair, at least 95 %. Detectable: the true "
        "difference that so many queries would show four times out of five after Holm."
    )
    title = f"Pairs: {printable(compared.measure.name)}"
    header, rows = _without_empty(("A, B", *PAIR_HEADER, *within), rows, {"balanced", "p by document", *within})
    shown = [f"{name.capitalize()}: whose interval rules out more of a disadvantage." for name in within]
    note = " ".join([_sentence(described(compared)), detectable, *(shown if header[-1:] == within else [])])
    return Table(_name("pairs", compared), title, header, rows, note=note, details=LEFT_TO_FILES & {*header})


def _without_empty(
    header: tuple[str, ...], rows: tuple[tuple[Entry, ...], ...], optional: Collection[str]
) -> tuple[tuple[str, ...], tuple[tuple[Entry, ...], ...]]:
    """The table without optional columns that are empty."""
    kept = [
        at for at, name in enumerate(header) if name not in optional or any(row[at] is not None for row in rows)
    ]
    return tuple(header[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows)


def _as_good(compared: MeasureComparison, pair: ComparedPair, margin: float) -> Entry:
    found = which_as_good(compared, pair, margin)
    return None if found is None else {"a": "A", "b": "B"}.get(found, found)


def matrix_table(names: Sequence[str], order: Sequence[int], compared: MeasureComparison) -> Table:
    """Row less column, both in that order."""
    pairs = {(pair.a, pair.b): pair for one in compared.pairs for pair in (one, one.turned)}
    rows = tuple((names[a], *[_against(compared, (a, b), pairs) for b in order]) for a in order)
    measure = printable(compared.measure.name)
    note = (
        f"Row minus column, {measure}, with its interval (95 % or more, see the pairs). "
        f"{_sentence(described(compared))} "
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


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
