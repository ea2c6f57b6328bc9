"""Figure of a parameter sweep: means of unchanged and perturbed answers over its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.display import Drawing, printable
from harness.display.plotting import LIGHT, PALETTE, WIDTH_IN, tell
from harness.extensions.meta_evaluation.sensitivity import PerturbationEffect
from harness.report.figures.marks import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_COLUMNS = 4
_MOST_PANELS = 24


class MovedParameter(NamedTuple):
    """One measure with a parameter at one value."""

    parameter: str
    value: str
    effect: PerturbationEffect


def draw_sweeps(points: Sequence[MovedParameter], new_figure: NewFigure) -> list[Drawing]:
    """A panel for each metric and parameter with at least two values."""
    lines: dict[tuple[str, str], list[MovedParameter]] = {}
    for point in points:
        if point.effect.n:
            lines.setdefault((point.effect.measure.name, point.parameter), []).append(point)
    drawn = [(key, own) for key, own in sorted(lines.items()) if len(own) > 1][:_MOST_PANELS]
    if not drawn:
        return []
    columns = min(_COLUMNS, len(drawn))
    rows = math.ceil(len(drawn) / columns)
    figure = new_figure(figsize=(WIDTH_IN, 0.4 + 1.75 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False, sharey=True).flat)
    for axes, ((measure, parameter), own) in zip(panels, drawn, strict=False):
        _panel(axes, own)
        axes.set_title(wrapped(printable(measure, 60).replace("_", " "), 22), fontsize=6)
        axes.set_xlabel(printable(parameter), fontsize=7)
    for axes in panels[len(drawn) :]:
        axes.set_axis_off()
    caption = "Means of original answers (upper, solid) and of wrong ones (lower, dashed)."
    first = drawn[0][1]
    said = ", ".join(f"{point.value}: {point.effect.mean_before or 0:.2f}" for point in first)
    alt = f"{drawn[0][0][0]} along {drawn[0][0][1]}: {said}"
    return [Drawing("sweep", "A parameter moved", caption, alt, figure)]


def _panel(axes: Axes, points: Sequence[MovedParameter]) -> None:
    places = range(len(points))
    before = [point.effect.mean_before or 0.0 for point in points]
    after = [point.effect.mean_after or 0.0 for point in points]
    (upper,) = axes.plot(places, before, color=PALETTE[2], marker="o", markersize=3)
    (lower,) = axes.plot(places, after, color=PALETTE[5], marker="s", markersize=3, linestyle="--")
    tell(upper, "as it was")
    tell(lower, "wrong answer")
    axes.set_xticks(places, [printable(point.value, 8) for point in points], fontsize=6)
    axes.grid(axis="y", color=LIGHT, linewidth=0.5)
