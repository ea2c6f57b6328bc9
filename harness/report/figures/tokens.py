"""Tokens and dollars of a query and of the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.display import Drawing
from harness.display.number_format import bare, format_value
from harness.display.plotting import PALETTE, tell
from harness.display.text_format import NOTHING
from harness.report.aggregates import cost_quantity
from harness.report.comparable_costs import self_reported_mark, self_reported_note
from harness.report.figures.marks import alt_of, interval_of, n_of, name_of
from harness.report.figures.rows import leave_room, print_at, print_nothing, row_panels, spoken
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

_BAR = 0.62
_PANELS = (1.5, 1.0)
_SHARES = tuple(wide / sum(_PANELS) for wide in _PANELS)


@dataclass(frozen=True)
class _Part:
    """One segment of a bar: the sum of some measures less some others."""

    name: str
    color: str
    hatch: str
    plus: str
    minus: str = ""

    def of(self, view: RunView) -> float | None:
        whole = view.value(self.plus)
        return (
            None if whole is None else max(0.0, whole - ((view.value(self.minus) or 0.0) if self.minus else 0.0))
        )

    def said(self, view: RunView) -> str:
        """The amount: `2,208`; with `≥` if not everything was counted."""
        whole = cost_quantity(view.row(self.plus))
        return bare(replace(whole, value=self.of(view))) if whole else NOTHING


_QUERY_PARTS = (
    _Part("input, generator", PALETTE[0], "", "generator_input_tokens"),
    _Part("input, other models", PALETTE[4], "///", "input_tokens", "generator_input_tokens"),
    _Part("output", PALETTE[1], "---", "output_tokens"),
)
_INDEX_PARTS = (
    _Part("input, to build the index", PALETTE[2], "\\\\\\", "index_input_tokens"),
    _Part("output", PALETTE[1], "---", "index_output_tokens"),
)
_USD = ("usd", "index_usd")
_USD_PARTS = (_Part("query", PALETTE[0], "", "usd"),), (_Part("index", PALETTE[2], "\\\\\\", "index_usd"),)


def draw_tokens(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Bars of the tokens, and of the dollars if any were paid, of a query and of the index."""
    return [*_draw_tokens(group, new_figure), *_draw_usd(group, new_figure)]


def _draw_tokens(group: Group, new_figure: NewFigure) -> list[Drawing]:
    if not _any(group, "tokens", "index_tokens"):
        return []
    figure, panels = row_panels(new_figure, group.views, _PANELS)
    used = _bars((panels[0], _SHARES[0]), group.views, _QUERY_PARTS, "tokens")
    used += _bars((panels[1], _SHARES[1]), group.views, _INDEX_PARTS, "index_tokens")
    panels[0].set_xlabel("tokens a query (mean, 95 % CI of the sum)", fontsize=8)
    panels[1].set_xlabel("tokens of the index, once", fontsize=8)
    _legend(figure, used)
    caption = (
        f"Tokens of all models. Left: of one query, the mean of the sum with its 95 % CI ({_n(group, 'tokens')}; "
        "failed queries included). Right: of the index, built once, whoever paid for it."
        f"{self_reported_note(group.views)}"
    )
    return [Drawing("tokens", "Tokens", caption, _alt(group, "tokens", "tokens"), figure)]


def _draw_usd(group: Group, new_figure: NewFigure) -> list[Drawing]:
    if not _any(group, "usd", "index_usd"):
        return []
    figure, panels = row_panels(new_figure, group.views, _PANELS)
    for panel, parts, measure in zip(zip(panels, _SHARES, strict=True), _USD_PARTS, _USD, strict=True):
        _bars(panel, group.views, parts, measure)
    panels[0].set_xlabel("USD a query (mean, 95 % CI)", fontsize=8)
    panels[1].set_xlabel("USD of the index, once", fontsize=8)
    caption = (
        f"US dollars by the price table. Left: of one query, mean and 95 % CI ({_n(group, 'usd')}). Right: of the "
        "index, whoever paid for it. No number: a model has no price."
    )
    return [Drawing("usd", "Dollars", caption, _alt(group, "usd", "USD"), figure)]


def _any(group: Group, *measures: str) -> bool:
    return any(view.value(measure) for view in group.views for measure in measures)


def _n(group: Group, measure: str) -> str:
    return f"n = {n_of(view.row(measure) for view in group.views)}"


def _alt(group: Group, measure: str, unit: str) -> str:
    """The query's numbers; then, if there is room, the index's."""
    per_query, once = (spoken(group.views, name, unit) for name in (measure, f"index_{measure}"))
    return alt_of(["A query:", *per_query, "The index:", *once])


def _bars(panel: tuple[Axes, float], views: Sequence[RunView], parts: Sequence[_Part], total: str) -> list[_Part]:
    """Stacked bars with the interval and the number of `total`; the parts that any run has. `panel`: and its share
    of the width.
    """
    axes, share = panel
    highest, letters, used = 0.0, 1, []
    for place, view in enumerate(views):
        row, end = view.row(total), 0.0
        if row is None or row.mean is None:
            print_nothing(axes, place)
            continue
        for part in parts:
            if value := part.of(view):
                _segment(axes, place, (end, value), part, f"{name_of(view)}, {part.name}: {part.said(view)}")
                used.append(part)
                end += value
        limits = interval_of(row)
        if limits:
            axes.plot(limits, [place, place], color="black", linewidth=0.9, marker="|", markersize=4)
        right = max(row.mean, limits[1] if limits else 0.0)
        text = format_value(cost_quantity(row, mark=self_reported_mark(view, total)))
        print_at(axes, right, place, text)
        highest, letters = max(highest, right), max(letters, len(text))
    leave_room(axes, highest, share, letters)
    return used


def _segment(axes: Axes, place: int, span: tuple[float, float], part: _Part, tip: str) -> None:
    start, length = span
    (bar,) = axes.barh(
        place, length, _BAR, left=start, color=part.color, hatch=part.hatch, edgecolor="white", linewidth=0.3
    )
    tell(bar, tip)


def _legend(figure: Figure, parts: Sequence[_Part]) -> None:
    from matplotlib.patches import Patch

    by_name = {part.name: part for part in parts}
    handles = [
        Patch(facecolor=part.color, hatch=part.hatch, edgecolor="white", label=name, linewidth=0.3)
        for name, part in by_name.items()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), handlelength=1.5, fontsize=7.5)
