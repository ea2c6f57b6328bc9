"""Growing quantities: points, fitted power laws, a table and a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import print_table

from harness.display.plotting import WIDTH_IN, plotting, save
from harness.report.figures.costs import compact
from harness.report.figures.marks import style_of

FAR = 1_000_000
"""Documents for which costs are extrapolated."""


class Points(NamedTuple):
    """One quantity of one variant."""

    variant: str
    quantity: str
    along: str
    """documents or queries."""
    at: Sequence[int]
    values: Sequence[float]


class Fit(NamedTuple):
    """y = e^constant * x^exponent; without intervals for two points."""

    exponent: float
    interval: tuple[float, float] | None
    far: float
    """At `FAR`."""
    far_interval: tuple[float, float] | None


def fitted(points: Points) -> Fit | None:
    """A power law by least squares of logarithms; None for fewer than two points."""
    from scipy.special import stdtrit
    from scipy.stats import linregress

    x, y, n = np.log(points.at), np.log(points.values), len(points.at)
    if n < 2:
        return None
    line = linregress(x, y)
    exponent, there = float(line.slope), float(line.intercept + line.slope * log(FAR))
    if n < 3:
        return Fit(exponent, None, exp(there), None)
    spread, t = float(n * x.var()), float(stdtrit(n - 2, 0.975))
    half = t * float(line.stderr)
    far_half = half * sqrt(spread * (1 + 1 / n) + (log(FAR) - float(x.mean())) ** 2)
    return Fit(
        exponent, (exponent - half, exponent + half), exp(there), (exp(there - far_half), exp(there + far_half))
    )


def tell(points: Sequence[Points], sizes: Sequence[int], numbers: Sequence[int]) -> None:
    for along, at in (("documents", sizes), ("queries", numbers)):
        header = ("system", "quantity", *(f"{one:,} {along}" for one in at), "exponent")
        own = [one for one in points if one.along == along]
        print_table(
            (*header, f"at {FAR:,}, extrapolated") if along == "documents" else header, map(_row_of(at), own)
        )
        print()


def _row_of(at: Sequence[int]) -> Callable[[Points], Sequence[str]]:
    def row(points: Points) -> Sequence[str]:
        values = dict(zip(points.at, points.values, strict=True))
        fit = fitted(points)
        shown = [short(values[one]) if one in values else "-" for one in at]
        exponent = "-" if fit is None else f"{fit.exponent:.2f}{_limits(fit.interval, '{:.2f}')}"
        far = "-" if fit is None else f"{short(fit.far)}{_limits(fit.far_interval)}"
        return (points.variant, points.quantity, *shown, exponent, *([far] if points.along == "documents" else []))

    return row


def _limits(interval: tuple[float, float] | None, form: str = "") -> str:
    if interval is None:
        return ""
    low, high = (form.format(one) if form else short(one) for one in interval)
    return f" [{low}, {high}]"


def short(value: float) -> str:
    """Three digits: `0.0123`, `12.3`, `4.57e+08`."""
    return f"{value:,.3g}" if 1e-3 <= value < 1e4 else f"{value:.2e}"


def draw(points: Sequence[Points], folder: Path) -> Path:
    """A panel for each quantity, a line for each variant."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    panels = list(dict.fromkeys((one.quantity, one.along) for one in points if len(one.at) > 1))
    looks = {name: style_of(number) for number, name in enumerate(dict.fromkeys(one.variant for one in points))}
    with plotting() as new_figure:
        lines = -(-len(panels) // 3)
        figure = new_figure(figsize=(WIDTH_IN, 0.7 + 1.9 * lines), layout="constrained")
        grid = figure.subplots(lines, 3, squeeze=False)
        for axes, panel in zip(grid.flat, [*panels, *[None] * (grid.size - len(panels))], strict=True):
            if panel is None:
                axes.remove()
                continue
            for one in points:
                if (one.quantity, one.along) == panel:
                    look = looks[one.variant]
                    style = {"color": look.color, "linestyle": look.linestyle, "marker": look.marker}
                    axes.loglog(one.at, one.values, label=one.variant, linewidth=1.1, markersize=4, **style)
            for axis in (axes.xaxis, axes.yaxis):
                low, high = axis.get_view_interval()
                axis.set_major_locator(LogLocator(subs=(1,) if high > 30 * low else (1, 2, 5)))
                # Powers of ten would be formatted as mathematical text, which is disabled here.
                axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
                axis.set_minor_formatter(NullFormatter())
            axes.tick_params(labelsize=7)
            axes.set_title(panel[0], fontsize=8)
            axes.set_xlabel(panel[1], fontsize=8)
        handles = {
            text: line
            for axes in figure.axes
            for line, text in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=4, fontsize=7)
        return save(figure, folder, "growth")
