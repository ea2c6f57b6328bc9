"""Formats values for all renderers."""

from __future__ import annotations

from math import isfinite

from harness.display.text_format import NOTHING, number, short_number
from harness.display.types import Entry, NumberForm, Quantity, ValueGroup

LEAST_CHANCE = 0.001
"""Smaller p values are shown as below this."""
_LOPSIDED = 0.2
"""From this part of its half width on, an interval that is off its value is no ±."""
_DECIMALS: dict[NumberForm, int] = {"share": 3, "coefficient": 2, "%": 1}


def format_value(entry: Entry) -> str:
    """The complete text: `0.770 [0.707, 0.823] (n = 41 of 50)`, `2.1 / 3.0`; texts are unchanged."""
    if isinstance(entry, Quantity):
        return f"{bare(entry)} {value_details(entry)}".rstrip()
    if isinstance(entry, ValueGroup):
        return entry.between.join(map(format_value, entry.quantities))
    return NOTHING if entry is None else entry


def bare(quantity: Quantity) -> str:
    """Only the value: `0.770`, `≥ 2,208`, `41 of 50`, `+0.060`."""
    value = _finite(quantity.value)
    if value is None:
        return NOTHING
    shown = _figure(quantity, value)
    if quantity.unit in {"±", "± %"}:
        shown = _with_half_width(quantity, shown)
    if quantity.unit == "count" and quantity.of not in {None, value}:
        shown = f"{shown} of {quantity.of:,}"
    return f"≥ {shown}" if quantity.at_least else shown


def value_details(quantity: Quantity) -> str:
    """What follows the value: interval, population, mark."""
    n, of = quantity.n, quantity.of
    population = "" if n is None else f"(n = {n:,})" if of in {None, n} else f"(n = {n:,} of {of:,})"
    return " ".join(filter(None, (interval(quantity), population, quantity.mark)))


def interval(quantity: Quantity) -> str:
    """`[0.707, 0.823]`; empty if there is none."""
    low, high = _finite(quantity.low), _finite(quantity.high)
    if _finite(quantity.value) is None or low is None or high is None or quantity.unit in {"±", "± %"}:
        return ""
    return f"[{_figure(quantity, low)}, {_figure(quantity, high)}]"


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _with_half_width(quantity: Quantity, shown: str) -> str:
    """`55 ± 9 %`, `0.53 ± 0.07`; `96 [80, 99] %` if the interval is lopsided or ± would leave 0 to 1."""
    low, high = _finite(quantity.low), _finite(quantity.high)
    unit = " %" if quantity.unit == "± %" else ""
    if quantity.value is None or low is None or high is None:
        return f"{shown}{unit}"
    half, middle = (high - low) / 2, (high + low) / 2
    is_beyond = quantity.value - half < 0 <= low or quantity.value + half > 1 >= high
    if is_beyond or abs(quantity.value - middle) > _LOPSIDED * half:
        return f"{shown} [{_figure(quantity, low)}, {_figure(quantity, high)}]{unit}"
    return f"{shown} ± {_figure(quantity, half)}{unit}"


def _figure(quantity: Quantity, value: float) -> str:
    """The formatted number; a value that rounds to zero has no sign."""
    if quantity.unit == "p":
        return f"<{LEAST_CHANCE}" if value < LEAST_CHANCE else f"{value:.3f}"
    if quantity.unit in {"± %", "points"}:
        value = 100 * value
        small = f"{round(value, 1) + 0.0:.1f}" if quantity.unit == "points" else short_number(value)
        shown = f"{round(value) + 0.0:.0f}" if abs(value) >= 0.95 or not value else small
    elif quantity.unit in {"two", "±"}:
        shown = short_number(value)
    elif decimals := _DECIMALS.get(quantity.unit):
        value = round(100 * value if quantity.unit == "%" else value, decimals) + 0.0
        shown = f"{value:.{decimals}f}"
    else:
        shown = number(value)
    return f"+{shown}" if quantity.signed and value > 0 else shown
