"""Aggregates as table entries and as text for captions."""

from harness.display import NOTHING, Quantity, ValueGroup
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound


def share(row: Aggregate | None, *, with_n: bool = False) -> Quantity | None:
    """A mean between -1 and 1 with its interval; `with_n`: and over how many values."""
    if row is None:
        return None
    n, of = (values_in(row), row.n_expected) if with_n else (None, None)
    return Quantity(row.mean, row.ci_low, row.ci_high, n=n, of=of, unit="share")


def amount(row: Aggregate | None) -> Quantity | None:
    """A mean of any size with its interval."""
    return None if row is None else Quantity(row.mean, row.ci_low, row.ci_high)


def cost_quantity(
    row: Aggregate | None, scale: float = 1.0, *, interval: bool = False, mark: str = ""
) -> Quantity | None:
    """The cost of a query, an index or a run; marked `≥` if it is only a lower bound."""
    if row is None or row.mean is None:
        return None
    low, high = (None if limit is None or not interval else limit * scale for limit in (row.ci_low, row.ci_high))
    return Quantity(row.mean * scale, low, high, at_least=is_lower_bound(row), mark=mark)


def plain(value: float | None, scale: float = 1.0) -> Quantity | None:
    """A number by itself."""
    return None if value is None else Quantity(value * scale)


def rare(part: float) -> Quantity:
    """A share in per cent with three significant digits, so that rare events are not shown as 0."""
    return Quantity(round(100 * part, 9))


def count(n: int) -> Quantity:
    """A whole number."""
    return Quantity(n, unit="count")


def part(n: int, of: int) -> ValueGroup:
    """`200 of 200`."""
    return ValueGroup((count(n), count(of)), " of ")


def population(row: Aggregate | None) -> Quantity:
    """How many values the mean is over: `200`, or `170 of 200` where scores are missing."""
    if row is None:
        return count(0)
    return Quantity(values_in(row), of=row.n_expected, unit="count")


def values_in(row: Aggregate) -> int:
    """How many values the mean is over."""
    return row.n_scored + row.n_imputed


def percent(row: Aggregate | None, *, interval: bool = False) -> str:
    """`77.0`, or `77.0 [70.7, 82.3]`."""
    if row is None or row.mean is None:
        return NOTHING
    if not interval or row.ci_low is None or row.ci_high is None:
        return f"{100 * row.mean:.1f}"
    return f"{100 * row.mean:.1f} [{100 * row.ci_low:.1f}, {100 * row.ci_high:.1f}]"


def value_of(row: Aggregate | None) -> float | None:
    """The mean, or None without a row."""
    return row.mean if row else None
