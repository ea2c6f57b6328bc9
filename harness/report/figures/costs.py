"""What a query and the index cost: distribution of latency, time throttled by providers, tokens, dollars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.display import NOTHING, Drawing, format_value, printable
from harness.display.number_format import bare
from harness.display.plotting import GREY, PALETTE, WIDTH_IN, NewFigure, tell
from harness.display.text_format import number
from harness.report.figures import marks
from harness.report.figures.marks import LETTERS_PT, RunStyle
from harness.report.quantities import cost_of, cost_quantity, population, self_reported_note
from harness.report.tables.costs import THROTTLED, restricted
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHORTEST_S = 1e-3
_WORTH_SHOWING_S = 0.01
_NAME_LETTERS = 26
_EDGE: Mapping[str, Any] = {"edgecolor": "white", "linewidth": 0.3}


def draw_latency(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A row for each run: 5th to 95th percentile, quartiles, median and single queries, on a log scale."""
    if not any(view.latencies for view in group.views):
        return []
    waited = [
        row for view in group.views if (row := view.row("throttled_s")) and (row.mean or 0) > _WORTH_SHOWING_S
    ]
    names, ratios = marks.names_of(group.views, _NAME_LETTERS), (2.2, 1.0) if waited else (1.0,)
    figure, panels = marks.row_figure(new_figure, names, besides_in=0.95, row_in=0.3, ratios=ratios)
    # More dots are a smear, and a page's worth of bytes.
    has_dots = sum(len(view.latencies) for view in group.views) <= 600
    _distributions(panels[0], group.views, has_dots=has_dots)
    if waited:
        _throttling(panels[1], group.views)
    n = marks.n_of(view.row("latency_s") for view in group.views)
    caption = (
        f"Seconds per query without throttling (n = {n}, answered live or timed out; log scale). Thin line: 5th "
        "to 95th percentile; thick line: the middle half; mark: median, printed with its 95 % CI and the number "
        f"of queries. {'Light dots: single queries. ' if has_dots else ''}"
        f"{_waiting(group.views, is_drawn=bool(waited))}{restricted(group)}"
    )
    alt = marks.alt_of(["Median latency of a query:", *_spoken(group.views, "latency_s_p50", "s")])
    return [Drawing("latency", "Latency", caption, alt, figure)]


def _waiting(views: Sequence[RunView], *, is_drawn: bool) -> str:
    """The time throttled by providers, if known; otherwise latency is the whole wall time."""
    timed = [view for view in views if view.row("latency_s")]
    unknown = [printable(view.label, 40) for view in timed if view.value("throttled_s") is None]
    said = []
    if is_drawn:
        said.append(
            f"Right: {THROTTLED}, with 95 % CI. Waiting for max_concurrency or for a retry counts as latency."
        )
    elif len(unknown) < len(timed):
        who = "No other system" if unknown else "No system"
        said.append(f"{who} waited for its provider for more than {_WORTH_SHOWING_S:g} s a query.")
    if unknown:
        whose = f" of {', '.join(unknown)}" if len(unknown) < len(timed) else ""
        said.insert(0, f"Throttling{whose} is unknown and included in the seconds.")
    return " ".join(said)


def _distributions(axes: Axes, views: Sequence[RunView], *, has_dots: bool) -> None:
    axes.set_xscale("log")
    for height, view in enumerate(views):
        values, look = [max(value, _SHORTEST_S) for value in view.latencies], marks.style_of(view.position)
        if not values:
            _print_nothing(axes, height)
            continue
        if has_dots:
            # Below the line at three alternating heights, so that they do not overlap.
            heights = [height + 0.2 + 0.07 * (number % 3) for number in range(len(values))]
            style: dict[str, Any] = {"marker": ".", "markersize": 3, "markeredgewidth": 0}
            axes.plot(values, heights, linestyle="", color=look.color, alpha=0.5, **style)
        _quantiles(axes, values, height, look, marks.name_of(view))
        row = view.row("latency_s_p50")
        axes.annotate(
            f"{format_value(cost_quantity(row, interval=True))}, {format_value(population(row) if row else None)}",
            (1.01, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=LETTERS_PT,
        )
    _limits(axes, [max(value, _SHORTEST_S) for view in views for value in view.latencies])
    axes.set_xlabel("seconds per query without throttling", fontsize=8)
    small: dict[str, Any] = {"va": "bottom", "fontsize": LETTERS_PT, "color": GREY}
    axes.annotate("median [95 % CI], n", (1.01, 1), xycoords="axes fraction", **small)


def _quantiles(axes: Axes, values: Sequence[float], height: int, look: RunStyle, name: str) -> None:
    p5, p25, p50, p75, p95 = (float(value) for value in np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)))
    axes.plot([p5, p95], [height, height], color=look.color, linewidth=1.0)
    box: dict[str, Any] = {"linewidth": 4.5, "alpha": 0.55, "solid_capstyle": "butt"}
    (middle,) = axes.plot([p25, p75], [height, height], color=look.color, **box)
    style: dict[str, Any] = {"marker": look.marker, "markersize": 5, "markeredgecolor": "white"}
    (median,) = axes.plot(p50, height, color=look.color, zorder=3, **style)
    parts = zip(("5 %", "25 %", "median", "75 %", "95 %"), (p5, p25, p50, p75, p95), strict=True)
    told = f"{name}: {', '.join(f'{part} {number(value)} s' for part, value in parts)}"
    tell(middle, told)
    tell(median, told)


def _limits(axes: Axes, values: Sequence[float]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = min(values), max(values)
    axes.set_xlim(low / 1.3, high * 1.3)
    few_decades = high / low < 300
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few_decades else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    _name_ticks(axes)


def _throttling(axes: Axes, views: Sequence[RunView]) -> None:
    rows = [view.row("throttled_s") for view in views]
    marks.dot_rows(axes, zip(rows, views, strict=True))
    ends = [end for row in rows if row for end in (row.mean, row.ci_high) if end is not None]
    _leave_room(axes, max(ends, default=0.0), 0.29, letters=1)
    axes.set_xlabel("throttled, s a query\n(mean, 95 % CI)", fontsize=8)


class _Part(NamedTuple):
    name: str
    color: str
    hatch: str
    plus: str
    minus: str = ""

    def of(self, view: RunView) -> float | None:
        whole, less = view.value(self.plus), view.value(self.minus) if self.minus else None
        return None if whole is None else max(0.0, whole - (less or 0.0))


_QUERY_PARTS = (
    _Part("input, generator", PALETTE[0], "", "generator_input_tokens"),
    _Part("input, other models", PALETTE[4], "///", "input_tokens", "generator_input_tokens"),
    _Part("output", PALETTE[1], "---", "output_tokens"),
)
_INDEX_PARTS = (
    _Part("input, to build the index", PALETTE[2], "\\\\\\", "index_input_tokens"),
    _Part("output", PALETTE[1], "---", "index_output_tokens"),
)


def draw_tokens(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Bars of the tokens, and of the dollars if any were paid, of a query and of the index."""
    n_tokens, n_usd = (f"n = {marks.n_of(view.row(name) for view in group.views)}" for name in ("tokens", "usd"))
    tokens = (
        "Tokens of all models. Left: of one query, the mean of the sum with its 95 % CI "
        f"({n_tokens}; failed queries included). Right: of the index, built once, whoever paid for "
        f"it.{self_reported_note(group.views)}"
    )
    dollars = (
        f"US dollars by the price table. Left: of one query, mean and 95 % CI ({n_usd}). Right: of "
        "the index, whoever paid for it. No number: a model has no price."
    )
    of_query = [_Part("query", PALETTE[0], "", "usd")]
    of_index = [_Part("index", PALETTE[2], "\\\\\\", "index_usd")]
    return [
        *_two_panels(group, "tokens", "tokens", _QUERY_PARTS, _INDEX_PARTS, "Tokens", tokens, new_figure),
        *_two_panels(group, "usd", "USD", of_query, of_index, "Dollars", dollars, new_figure),
    ]


def _two_panels(
    group: Group,
    measure: str,
    unit: str,
    of_query: Sequence[_Part],
    of_index: Sequence[_Part],
    title: str,
    caption: str,
    new_figure: NewFigure,
) -> Iterator[Drawing]:
    """Bars of a query and of the index, with a key of what they consist of; nothing if nothing was used."""
    if not any(view.value(name) for view in group.views for name in (measure, f"index_{measure}")):
        return
    names = marks.names_of(group.views, _NAME_LETTERS)
    figure, panels = marks.row_figure(new_figure, names, besides_in=0.95, row_in=0.26, ratios=(1.5, 1.0))
    used = _bars(panels[0], 0.6, group.views, of_query, measure)
    used += _bars(panels[1], 0.4, group.views, of_index, f"index_{measure}")
    of_sum = " of the sum" if len(of_query) > 1 else ""
    panels[0].set_xlabel(f"{unit} a query (mean, 95 % CI{of_sum})", fontsize=8)
    panels[1].set_xlabel(f"{unit} of the index, once", fontsize=8)
    if of_sum:
        looks = {part.name: {"facecolor": part.color, "hatch": part.hatch, **_EDGE} for part in used}
        marks.key_above(figure, looks, handlelength=1.5, fontsize=7.5)
    per_query, once = (_spoken(group.views, name, unit) for name in (measure, f"index_{measure}"))
    alt = marks.alt_of(["A query:", *per_query, "The index:", *once])
    yield Drawing(measure, title, caption, alt, figure)


def _bars(axes: Axes, share: float, views: Sequence[RunView], parts: Sequence[_Part], total: str) -> list[_Part]:
    """Stacked bars, with the interval of `total`; the parts that any run has. `share`: of the width."""
    highest, letters, used = 0.0, 1, []
    for height, view in enumerate(views):
        row, end = view.row(total), 0.0
        if row is None or row.mean is None:
            _print_nothing(axes, height)
            continue
        for part in parts:
            if value := part.of(view):
                (bar,) = axes.barh(height, value, 0.62, left=end, color=part.color, hatch=part.hatch, **_EDGE)
                whole = cost_quantity(view.row(part.plus))
                amount = bare(replace(whole, value=value)) if whole else NOTHING
                tell(bar, f"{marks.name_of(view)}, {part.name}: {amount}")
                used.append(part)
                end += value
        limits = marks.interval_of(row)
        if limits:
            axes.plot(limits, [height, height], color="black", linewidth=0.9, marker="|", markersize=4)
        right = max(row.mean, limits[1] if limits else 0.0)
        text = format_value(cost_of(view, total))
        beside: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": LETTERS_PT}
        axes.annotate(text, (right, height), (3, 0), **beside).set_in_layout(False)
        highest, letters = max(highest, right), max(letters, len(text))
    _leave_room(axes, highest, share, letters)
    return used


def _print_nothing(axes: Axes, row: float) -> None:
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(NOTHING, (0, row), (3, 0), va="center", color=GREY, **place)


def _leave_room(axes: Axes, highest: float, share: float, letters: int) -> None:
    """Limits from 0 so that `letters` fit right of `highest`; `share`: of the figure's width, the panel's."""
    # Names and gaps between panels take about 1.5 inches, a letter of `LETTERS_PT` 0.065.
    width_in = (WIDTH_IN - 1.5) * share
    axes.set_xlim(0, highest / max(0.3, 1 - (letters + 1) * 0.065 / width_in) if highest > 0 else 1)
    _name_ticks(axes)
    if highest > 0:
        axes.locator_params(axis="x", nbins=max(2, round(width_in * 2)))
    else:
        axes.set_xticks([0])


def _name_ticks(axes: Axes) -> None:
    """Numbers in words of few letters, and no offset that a reader would have to multiply with."""
    from matplotlib.ticker import NullFormatter

    axes.xaxis.set_major_formatter(lambda value, _: compact(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=LETTERS_PT)


def compact(value: float) -> str:
    """`9,500`, `12.5k`, `3M`: for an axis; a table holds the number itself."""
    if 0 < abs(value) < 1e-4:
        return f"{value:.0e}"
    if abs(value) < 1e4:
        return f"{value:,.4g}" if abs(value) < 1e3 else f"{value:,.0f}"
    sizes = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    size, letter = next((size, letter) for size, letter in sizes if abs(value) >= size)
    return f"{value / size:.4g}{letter}"


def _spoken(views: Sequence[RunView], measure: str, unit: str) -> list[str]:
    """`kg 2,208 tokens.`, `kg ≥ 2,208 tokens as reported.` of each run, for an alt text."""
    costs = ((view.label, cost_of(view, measure)) for view in views)
    said = ((label, f"{bare(one)} {unit} {one.mark}".rstrip() if one else "not measured") for label, one in costs)
    return [f"{label} {amount}." for label, amount in said]
