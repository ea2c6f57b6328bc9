"""How the numbers of a comparison are written, in a file or on a terminal."""

from collections.abc import Sequence

from harness.analysis.paired import MeasureComparison, Pair
from harness.report.text import NOTHING, counted, number

TESTS = {"mcnemar": "McNemar's exact test", "wilcoxon": "Wilcoxon's signed-rank test"}
SIGNS = {"a": ">", "b": "<", "tie": "~", "differ": "≠"}


def described(compared: MeasureComparison) -> str:
    """Direction, test, family and n of a measure."""
    way = {True: "higher is better", False: "lower is better", None: "no direction known"}
    pairs = len(compared.pairs)
    family = f"Holm over {pairs:,} pairs" if pairs > 1 else "one pair"
    return f"{way[compared.measure.higher_is_better]}; {TESTS[compared.measure.test]}; {family}"


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


def rank(compared: MeasureComparison, position: int) -> str:
    """`1`, or `1-3` for a run that shares those ranks with others; nothing where there are none."""
    if compared.ranks is None:
        return NOTHING
    best, worst = compared.ranks[position]
    return str(best) if best == worst else f"{best}-{worst}"


def value(compared: MeasureComparison, quantity: float | None, *, signed: bool = False) -> str:
    """Three decimals for what lies within -1 and 1, three digits for what does not, and for costs."""
    if quantity is None:
        return NOTHING
    small = all(mean is None or abs(mean) <= 1 for mean in compared.means)
    if small and not compared.measure.is_cost:
        # What rounds to zero has no sign.
        quantity = round(quantity, 3) + 0.0
        shown = f"{quantity:.3f}"
    else:
        shown = number(quantity)
    return f"+{shown}" if signed and quantity > 0 else shown


def difference(compared: MeasureComparison, pair: Pair) -> str:
    """`+0.060 [-0.005, +0.125]`."""
    shown = value(compared, pair.difference, signed=True)
    if pair.interval.low is None or pair.interval.high is None:
        return shown
    low, high = (value(compared, limit, signed=True) for limit in (pair.interval.low, pair.interval.high))
    return f"{shown} [{low}, {high}]"


def population(pair: Pair) -> str:
    """`50`, or `41 of 50` where 9 have no value in one of the two."""
    return f"{pair.n:,}" if pair.n == pair.n_expected else f"{pair.n:,} of {pair.n_expected:,}"


PAIR_HEADER = (
    *("n", "A", "B", "A - B [95 % CI]", "A / B", "better/equal/worse", "p", "p (Holm)"),
    "detectable",
)


def pair_cells(compared: MeasureComparison, pair: Pair) -> tuple[str, ...]:
    """What stands below `PAIR_HEADER`, whoever the two are called."""
    return (
        population(pair),
        value(compared, pair.mean_a),
        value(compared, pair.mean_b),
        difference(compared, pair),
        NOTHING if pair.ratio is None else f"{pair.ratio:.3g}",
        outcomes(compared.outcomes(pair)),
        chance(pair.p),
        chance(pair.p_holm),
        value(compared, pair.detectable),
    )


def outcomes(counts: Sequence[int]) -> str:
    """`30/150/20`."""
    return "/".join(f"{count:,}" for count in counts)


def chance(p: float) -> str:
    """A p value to three decimals, never 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _merit(mean: float | None, *, higher_is_better: bool) -> tuple[bool, float]:
    if mean is None:
        return True, 0.0
    return False, -mean if higher_is_better else mean
