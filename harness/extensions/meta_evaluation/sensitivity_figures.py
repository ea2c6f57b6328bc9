"""Figures of sensitivity: every value before and after, and the AUC of each perturbation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.display import Drawing, Quantity, format_value, printable
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, tell
from harness.extensions.meta_evaluation.sensitivity import PerturbationEffect
from harness.extensions.meta_evaluation.sensitivity_tables import by_measure
from harness.protocols import Measure
from harness.report.figures.marks import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.display.plotting import NewFigure

_MOST_PANELS = 12
_COLUMNS = 3
_MOST_ROWS = 45
_SPREAD = 0.28


def draw_sensitivity(effects: Sequence[PerturbationEffect], new_figure: NewFigure) -> list[Drawing]:
    """The values of the most sensitive measures, and an overview of all."""
    groups = [(measure, _readable(own)) for measure, own in by_measure(effects)]
    shown = sorted((one for one in groups if one[1]), key=lambda one: -max(map(_area, one[1])))[:_MOST_PANELS]
    if not shown:
        return []
    drawings = [_distributions(shown, new_figure)]
    return [*drawings, _overview(groups[:_MOST_ROWS], new_figure)]


def _readable(effects: Sequence[PerturbationEffect]) -> list[PerturbationEffect]:
    return [effect for effect in effects if effect.verdict not in {"cannot notice", "too few"}]


def _area(effect: PerturbationEffect) -> float:
    return effect.auc.value or 0.0


def _distributions(groups: Sequence[tuple[Measure, list[PerturbationEffect]]], new_figure: NewFigure) -> Drawing:
    columns = min(_COLUMNS, len(groups))
    rows = math.ceil(len(groups) / columns)
    most = max(len(own) for _, own in groups)
    figure = new_figure(figsize=(WIDTH_IN, 0.4 + rows * (0.75 + 0.24 * (most + 1))), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (measure, own) in zip(panels, groups, strict=False):
        _panel(axes, measure, own)
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    caption = "Each dot is an answer, each line a mean: above the original, below with one change."
    first, own = groups[0]
    alt = f"{first.name}: " + "; ".join(f"{one.swap.title}, mean {one.mean_after or 0:.2f}" for one in own[:5])
    return Drawing("distributions", "Values before and after", caption, alt, figure)


def _panel(axes: Axes, measure: Measure, effects: Sequence[PerturbationEffect]) -> None:
    longest = max(effects, key=lambda effect: effect.n)
    rows = [("as it was", longest.before), *((effect.swap.title, effect.after) for effect in effects)]
    jitter = random.Random(0)  # noqa: S311 - the same picture every time
    for place, (_, values) in enumerate(rows):
        colour = PALETTE[2] if place == 0 else PALETTE[5]
        heights = [place + jitter.uniform(-_SPREAD, _SPREAD) for _ in values]
        axes.scatter(values, heights, 3, color=colour, alpha=0.35, linewidths=0)
        mean = sum(values) / len(values)
        (line,) = axes.plot([mean, mean], [place - 0.4, place + 0.4], color="black", linewidth=1.4)
        tell(line, f"{measure.name}: mean {mean:.3f} of {len(values)}")
    axes.set_yticks(range(len(rows)), [wrapped(printable(name), 20) for name, _ in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_title(wrapped(measure.name.replace("_", " "), 30), fontsize=7)
    axes.grid(axis="x", color=LIGHT, linewidth=0.5)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


def _overview(groups: Sequence[tuple[Measure, list[PerturbationEffect]]], new_figure: NewFigure) -> Drawing:
    kept = [(measure, own) for measure, own in groups if own]
    titles = list(dict.fromkeys(effect.swap.title for _, own in kept for effect in own))
    values = [
        [next((_area(one) for one in own if one.swap.title == title), math.nan) for title in titles]
        for _, own in kept
    ]
    figure = new_figure(figsize=(WIDTH_IN, 1.4 + 0.22 * len(kept)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(values, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            if not math.isnan(value):
                shade = "white" if abs(value - 0.5) > 0.35 else "black"
                axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=6, color=shade)
    axes.set_xticks(
        range(len(titles)), [wrapped(title, 16) for title in titles], rotation=45, ha="right", fontsize=7
    )
    axes.set_yticks(range(len(kept)), [printable(measure.name, 48) for measure, _ in kept], fontsize=6)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.8).outline.set_edgecolor(GREY)
    best = max((effect for _, own in kept for effect in own), key=_area)
    area = format_value(Quantity(best.auc.value, *best.auc.interval))
    alt = f"best: {best.measure.name} on {best.swap.title}, {area}"
    caption = "AUC of each measure on each change; 0.5 is chance. Empty: too few answers, or an unread input."
    return Drawing("auc", "What each measure notices", caption, alt, figure)
