"""Figure: the gain of each policy (forest plot), and the mean of each system on each query type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save
from harness.display.text_format import type_name
from harness.extensions.routing.eligible_systems import LABELS, RouteStudy
from harness.extensions.routing.tables import gains_of, named_gains
from harness.report.figures.marks import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME_LETTERS = 26
_ROW_IN = 0.34
_MOST_SYSTEMS = 8
"""Limited by the number of colours."""


def draw_routes(study: RouteStudy, folder: Path) -> Path:
    """Write `routes.svg`. Left: the gain of each policy over the best single system, with its interval and the
    gain expected by chance. Right: the mean of each system on each query type.
    """
    with plotting() as new_figure:
        figure = new_figure(figsize=(WIDTH_IN, 1.2 + _ROW_IN * max(5, len(study.names))), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(5, 4))
        _gains(left, study)
        _by_type(right, study)
        return save(figure, folder, "routes")


def _gains(axes: Axes, study: RouteStudy) -> None:
    gains = study.gains
    shown = {name: one for name, one in named_gains(study).items() if one is not gains.single}
    luck = {id(gains.by_type): gains.by_type_chance, id(gains.by_query): gains.by_query_chance}
    axes.axvline(0, color=GREY, linewidth=0.8)
    for row, one in enumerate(shown.values()):
        found = gains_of(study, one)
        color = GREY if id(one) in luck else PALETTE[0]
        low, high = found.interval
        if low is not None and high is not None:
            axes.plot([low, high], [row, row], color=color)
        is_shown = low is not None and low > 0
        axes.plot(
            found.mean, row, marker="o", markersize=5, color=color, markerfacecolor=color if is_shown else "white"
        )
        if id(one) in luck:
            axes.plot(
                luck[id(one)].gains.mean(), row, marker="x", markersize=6, color=PALETTE[5], linestyle="none"
            )
    axes.set_yticks(range(len(shown)), [wrapped(name, _NAME_LETTERS) for name in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_title("gain over the best single system\n(cross: by luck alone)", fontsize=8)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


def _by_type(axes: Axes, study: RouteStudy) -> None:
    types = np.array(study.told[LABELS])
    names = sorted(set(types.tolist()))
    for at, label in list(enumerate(study.names))[:_MOST_SYSTEMS]:
        means = [float(study.values[types == name, at].mean()) for name in names]
        rows = np.arange(len(names)) + 0.08 * (at - (len(study.names) - 1) / 2)
        axes.plot(
            means, rows, marker="o", markersize=4, linestyle="none", color=PALETTE[at], label=wrapped(label, 24)
        )
    axes.set_yticks(
        range(len(names)), [f"{type_name(name)}\n({(types == name).sum()})" for name in names], fontsize=7
    )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_title(f"mean {wrapped(study.compared.measure.name, 30)}", fontsize=8)
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
