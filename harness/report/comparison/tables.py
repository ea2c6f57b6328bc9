"""What a comparison found, as tables: who ranks where by a measure, its pairs, and a matrix of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.display import Entry, Table, file_name, printable
from harness.report.comparison.quantities import (
    LEFT_TO_FILES,
    PAIR_HEADER,
    as_good,
    described,
    difference,
    mean,
    means_over,
    pair_entries,
    rank,
    ranking,
)
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, PairPlaces


def ranking_table(names: Sequence[str], compared: MeasureComparison) -> Table:
    """Every run with its rank and mean, the best first."""
    rows = tuple(
        (names[place], rank(compared, place), mean(compared, compared.means[place])) for place in ranking(compared)
    )
    title = f"{printable(compared.measure.name)}: ranks"
    return Table(
        _name("ranks", compared), title, ("system", "rank", "mean"), rows, note=_sentence(means_over(compared))
    )


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
    """Without those of the optional columns in which nothing stands, such as clusters where there are none."""
    kept = [
        at for at, name in enumerate(header) if name not in optional or any(row[at] is not None for row in rows)
    ]
    return tuple(header[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows)


def _as_good(compared: MeasureComparison, pair: ComparedPair, margin: float) -> Entry:
    found = as_good(compared, pair, margin)
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
