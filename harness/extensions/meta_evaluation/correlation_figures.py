"""Figures of correlations: scatter plots of pairs, and heat maps of all columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.display import Drawing, Quantity, format_value, printable
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, tell
from harness.extensions.meta_evaluation.correlations import CorrelatedPair, CorrelationFindings
from harness.report.figures.marks import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure
    from harness.statistics.correlation import Coefficient

_MOST_PANELS = 12
_COLUMNS = 3
_MOST_NAMES = 30
_LARGEST_DOT, _DOT = 60.0, 9.0
_KINDS = ("pearson", "spearman", "kendall")


def draw_correlations(findings: CorrelationFindings, new_figure: NewFigure) -> list[Drawing]:
    """Scatter plots of the first pairs and, of three columns and more, a heat map for each coefficient."""
    shown = sorted(findings.measurable, key=lambda pair: -abs(_value(pair, "spearman") or 0.0))[:_MOST_PANELS]
    drawings = [_scatters(findings, shown, new_figure)]
    if 3 <= len(findings.names) <= _MOST_NAMES:
        drawings += [_heat(findings, kind, new_figure) for kind in _KINDS]
    return drawings


def _scatters(findings: CorrelationFindings, pairs: Sequence[CorrelatedPair], new_figure: NewFigure) -> Drawing:
    columns = min(_COLUMNS, len(pairs))
    rows = math.ceil(len(pairs) / columns)
    height = 0.3 + (2.5 if columns > 1 else 3.6) * rows
    figure = new_figure(figsize=(WIDTH_IN if columns > 1 else 4.6, height), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for axes, pair in zip(panels, pairs, strict=False):
        _scatter(axes, findings, pair)
    for axes in list(panels)[len(pairs) :] if len(pairs) < rows * columns else []:
        axes.set_axis_off()
    for axes in figure.axes[len(pairs) :]:
        axes.set_axis_off()
    left = len(findings.measurable) - len(pairs)
    caption = "Each dot is an answer, larger if several answers share a position; rho is Spearman's."
    caption += f" The {len(pairs)} strongest of {left + len(pairs)} pairs." if left else ""
    alt = "; ".join(f"{pair.one} and {pair.other}: {_said(pair)}" for pair in pairs[:4])
    return Drawing("scatter", "Answer by answer", caption, alt, figure)


def _scatter(axes: Axes, findings: CorrelationFindings, pair: CorrelatedPair) -> None:
    left, right = (findings.columns.values[name] for name in (pair.one, pair.other))
    places = Counter((left[answer], right[answer]) for answer in left.keys() & right.keys())
    points = sorted(places)
    largest = max(places.values())
    sizes = [_DOT + (_LARGEST_DOT - _DOT) * (places[point] - 1) / max(1, largest - 1) for point in points]
    axes.scatter([x for x, _ in points], [y for _, y in points], sizes, color=PALETTE[0], alpha=0.55, linewidths=0)
    axes.set_title(_said(pair), fontsize=7)
    axes.set_xlabel(_name(pair.one), fontsize=7)
    axes.set_ylabel(_name(pair.other), fontsize=7)
    axes.margins(0.06)
    axes.grid(color=LIGHT, linewidth=0.5)
    axes.locator_params(nbins=4)


def _heat(findings: CorrelationFindings, kind: str, new_figure: NewFigure) -> Drawing:
    rows, columns, values = _matrix(findings, kind)
    inch = min(0.55, max(0.24, 4.6 / len(columns)))
    size = (min(WIDTH_IN, 2.6 + inch * len(columns)), 1.7 + min(inch, 0.42) * len(rows))
    figure = new_figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    drawn = [[values.get((row, column), math.nan) for column in columns] for row in rows]
    image = axes.imshow(drawn, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    letters = 7 if inch > 0.4 else 5
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            value = values.get((row, column))
            text = "" if value is None else f"{value:.2f}"
            shade = "white" if value is not None and abs(value) > 0.6 else "black"
            label = axes.text(x, y, text, ha="center", va="center", fontsize=letters, color=shade)
            tell(label, f"{row} and {column}: {text}")
    axes.set_xticks(range(len(columns)), map(_name, columns), rotation=60, ha="right", fontsize=letters)
    axes.set_yticks(range(len(rows)), map(_name, rows), fontsize=letters)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.8).outline.set_edgecolor(GREY)
    strongest = sorted(values.items(), key=lambda one: -abs(one[1]))
    alt = "; ".join(f"{one} and {other} {value:.2f}" for (one, other), value in strongest[:6])
    caption = f"{kind.capitalize()}'s coefficient; empty: too few answers, or a column that never varies."
    return Drawing(f"heat_{kind}", f"{kind.capitalize()}", caption, alt, figure)


def _matrix(findings: CorrelationFindings, kind: str) -> tuple[list[str], list[str], dict[tuple[str, str], float]]:
    """Labels against measures, or all measures against each other."""
    values: dict[tuple[str, str], float] = {}
    labels = findings.columns.labels
    for pair in findings.measurable:
        value = _value(pair, kind)
        if value is not None:
            values[pair.one, pair.other] = value
            if not labels:
                values[pair.other, pair.one] = value
    names = findings.names
    if labels:
        return [name for name in names if name not in labels], [name for name in names if name in labels], values
    return list(names), list(names), values


def _value(pair: CorrelatedPair, kind: str) -> float | None:
    coefficient: Coefficient | None = getattr(pair.found, kind) if pair.found else None
    return coefficient.value if coefficient else None


def _said(pair: CorrelatedPair) -> str:
    if pair.found is None:
        return pair.why_not
    rho = pair.found.spearman
    return f"rho {format_value(Quantity(rho.value, *rho.interval, n=pair.n, unit='coefficient'))}"


def _name(name: str) -> str:
    return wrapped(printable(name, 60).replace("_", " "), 26)
