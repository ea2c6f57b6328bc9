"""Mean and maximum of CPU and RAM, by phase and system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.display import Drawing
from harness.display.plotting import PALETTE
from harness.display.text_format import number
from harness.report.figures.marks import alt_of
from harness.report.figures.rows import leave_room, print_nothing, row_panels
from harness.report.view import Group, RunView
from harness.statistics.resource_usage import PHASES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure


@dataclass(frozen=True)
class _Source:
    key: str
    name: str
    color: str
    marker: str
    shift: float


_SOURCES = (
    _Source("system", "system's processes", PALETTE[0], "o", -0.17),
    _Source("server", "model server", PALETTE[5], "s", 0.17),
    _Source("database", "database", PALETTE[3], "^", 0.34),
)


def draw_resources_summary(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A row for each run, a panel for CPU and RAM of each phase; nothing where nothing was sampled."""
    phases = [phase for phase in PHASES if any(_sampled(view, phase) for view in group.views)]
    if not phases:
        return []
    figure, panels = row_panels(new_figure, group.views, (1.0,) * (2 * len(phases)), row_in=0.32)
    for place, phase in enumerate(phases):
        cpu, ram = panels[2 * place : 2 * place + 2]
        share = 1 / (2 * len(phases))
        _panel(cpu, group.views, (f"{phase}_{{}}_cpu_percent", 1.0), share)
        _panel(ram, group.views, (f"{phase}_{{}}_rss_bytes", 1e-9), share)
        cpu.set_xlabel("CPU, % of a core", fontsize=8)
        ram.set_xlabel("RAM, GB", fontsize=8)
        cpu.set_title(phase, loc="left", fontsize=8)
    sources = [source for source in _SOURCES if _is_drawn(group, source, phases)]
    _legend(figure, sources)
    unbuilt = any(not _sampled(view, "index") for view in group.views)
    caption = (
        f"CPU and RAM by phase: mean (filled) and maximum (bar) of samples, of the {_names(sources)}; "
        f"100 % is one core. {_samples(group, phases)} Neighbouring samples are alike, so that there is no "
        f"interval.{' A run that reused an index has no index phase.' if unbuilt else ''}"
        f"{not_sampled(group.views)}"
    )
    return [Drawing("resources_summary", "CPU and RAM by phase", caption, _alt(group, phases), figure)]


def not_sampled(views: Sequence[RunView]) -> str:
    """Whose CPU and RAM are missing though they were used; a sentence that begins with a space, or nothing."""
    unseen = {name for view in views if view.resources for name in view.resources.not_sampled}
    whose = [source.name for source in _SOURCES if any(name.startswith(source.key) for name in unseen)]
    return f" Not sampled, for not on this machine or not to be seen: {' and '.join(whose)}." if whose else ""


def _sampled(view: RunView, phase: str) -> bool:
    return view.row(f"{phase}_machine_cpu_percent_mean") is not None


def _panel(axes: Axes, views: Sequence[RunView], shown: tuple[str, float], share: float) -> None:
    """`shown`: a measure with a place for whose it is, and in what it is counted; `share`: of the width."""
    (measure, scale), highest = shown, 0.0
    for place, view in enumerate(views):
        spans = [(source, _mean_max(view, measure.format(source.key), scale)) for source in _SOURCES]
        for source, span in spans:
            if span:
                _span(axes, span, place + source.shift, source)
                highest = max(highest, span[1])
        if not any(span for _, span in spans):
            print_nothing(axes, place)
    leave_room(axes, highest * 1.08, share, letters=0)


def _mean_max(view: RunView, measure: str, scale: float) -> tuple[float, float] | None:
    mean, highest = view.value(f"{measure}_mean"), view.value(f"{measure}_max")
    return None if mean is None or highest is None else (mean * scale, highest * scale)


def _span(axes: Axes, span: tuple[float, float], height: float, source: _Source) -> None:
    mean, highest = span
    axes.plot([mean, highest], [height, height], color=source.color, linewidth=0.9)
    axes.plot(highest, height, marker="|", markersize=6, color=source.color, clip_on=False)
    axes.plot(mean, height, marker=source.marker, markersize=4, color=source.color, clip_on=False, zorder=3)


def _is_drawn(group: Group, source: _Source, phases: Sequence[str]) -> bool:
    names = [f"{phase}_{source.key}_{what}" for phase in phases for what in ("cpu_percent", "rss_bytes")]
    return any(_mean_max(view, name, 1.0) for view in group.views for name in names)


def _names(sources: Sequence[_Source]) -> str:
    return " and of the ".join(source.name for source in sources) or "machine"


def _legend(figure: Figure, sources: Sequence[_Source]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=source.color, marker=source.marker, markersize=4, linewidth=0.9, label=source.name)
        for source in sources
    ]
    maximum = Line2D([], [], color="black", marker="|", markersize=6, linestyle="", label="maximum")
    figure.legend(handles=[*handles, maximum], loc="outside upper left", ncols=4, fontsize=7.5)


def _samples(group: Group, phases: Sequence[str]) -> str:
    counts = [
        row.n_scored
        for view in group.views
        for phase in phases
        if (row := view.row(f"{phase}_machine_cpu_percent_mean"))
    ]
    return f"{min(counts):,} to {max(counts):,} samples for a run and phase."


def _alt(group: Group, phases: Sequence[str]) -> str:
    """What the system's processes took on average."""
    told = []
    for view in group.views:
        for phase in phases:
            cpu = _mean_max(view, f"{phase}_system_cpu_percent", 1.0)
            ram = _mean_max(view, f"{phase}_system_rss_bytes", 1e-9)
            if cpu and ram:
                told.append(f"{view.label}, {phase}: {number(cpu[0])} % CPU, {number(ram[0])} GB.")
    return alt_of(["Means of the systems' processes.", *told])
