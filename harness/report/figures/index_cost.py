"""What an index took and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.display import Drawing
from harness.display.plotting import PALETTE, tell
from harness.display.text_format import number
from harness.report.figures.marks import alt_of, name_of
from harness.report.figures.rows import leave_room, print_at, print_nothing, row_panels
from harness.report.tables.index import REBUILT, index_seconds
from harness.report.view import Group, RunView
from harness.statistics.cost import is_lower_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_BAR = 0.62
KnownAmount = tuple[float | None, bool]
"""A value, and whether it is only a lower bound."""


@dataclass(frozen=True)
class _Quantity:
    unit: str
    color: str
    of: Callable[[RunView], KnownAmount]
    of_what: str = ""
    where_zero: bool = True
    """Shown even where it is 0 in every run."""


def _counted(measure: str, scale: float = 1.0) -> Callable[[RunView], KnownAmount]:
    def of(view: RunView) -> KnownAmount:
        row = view.row(measure)
        if row is None or row.mean is None:
            return None, False
        return row.mean * scale, is_lower_bound(row)

    return of


def _seconds(view: RunView) -> KnownAmount:
    """As if it had been built alone."""
    seconds = index_seconds(view)
    return (seconds.value, seconds.at_least) if seconds else (None, False)


_QUANTITIES = (
    _Quantity("tokens", PALETTE[2], _counted("index_tokens")),
    _Quantity("seconds", PALETTE[0], _seconds),
    _Quantity("MB", PALETTE[3], _counted("index_bytes", 1e-6), "size, "),
    _Quantity("USD", PALETTE[1], _counted("index_usd"), where_zero=False),
)


def draw_index_cost(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A row for each run: tokens, seconds and size of its index, and dollars where anything was paid."""
    shown = [quantity for quantity in _QUANTITIES if _is_shown(quantity, group.views)]
    if not any(quantity.of(view)[0] for quantity in shown for view in group.views):
        return []
    figure, panels = row_panels(new_figure, group.views, (1.0,) * len(shown))
    bounds = False
    for axes, quantity in zip(panels, shown, strict=True):
        bounds = _bars(axes, group.views, quantity, 1 / len(shown)) or bounds
    rebuilt = any(seconds.mark for view in group.views if (seconds := index_seconds(view)))
    rebuilt_says = f" Where an earlier build had helped, seconds are rebuilt: {REBUILT}." if rebuilt else ""
    why = "since an earlier build had paid for a part or a server did not count every call"
    least = f" Hatched and ≥: a lower bound, {why}." if bounds else ""
    caption = (
        f"What building the index took, whoever paid for it, and its size on disk; measured once for each of "
        f"{len(group.views):,} runs, so there is no interval.{rebuilt_says}{least}"
    )
    return [Drawing("index_cost", "The index", caption, alt_of(_sentences(group.views, shown)), figure)]


def _sentences(views: Sequence[RunView], shown: Sequence[_Quantity]) -> list[str]:
    """`kg: 16,485 tokens, ≥ 215 seconds.` of each run."""
    return [
        f"{view.label}: {', '.join(f'{_written(quantity.of(view))} {quantity.unit}' for quantity in shown)}."
        for view in views
    ]


def _written(measured: KnownAmount) -> str:
    value, is_bound = measured
    return f"{'≥ ' if is_bound and value is not None else ''}{number(value)}"


def _is_shown(quantity: _Quantity, views: Sequence[RunView]) -> bool:
    values = [quantity.of(view)[0] for view in views]
    return any(values) or (quantity.where_zero and any(value is not None for value in values))


def _bars(axes: Axes, views: Sequence[RunView], quantity: _Quantity, share: float) -> bool:
    """Whether any of them is a lower bound."""
    highest, letters, bounds = 0.0, 1, False
    for place, view in enumerate(views):
        measured = value, is_bound = quantity.of(view)
        if value is None:
            print_nothing(axes, place)
            continue
        hatch = "///" if is_bound else ""
        (bar,) = axes.barh(place, value, _BAR, color=quantity.color, hatch=hatch, edgecolor="white", linewidth=0.3)
        tell(bar, f"{name_of(view)}: {_written(measured)} {quantity.unit}")
        print_at(axes, value, place, _written(measured))
        highest, letters = max(highest, value), max(letters, len(_written(measured)))
        bounds = bounds or is_bound
    leave_room(axes, highest, share, letters)
    axes.set_xlabel(f"{quantity.of_what}{quantity.unit}", fontsize=8)
    return bounds
