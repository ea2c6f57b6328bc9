"""CPU and RAM over the time of a run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.display import Drawing
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, NewFigure
from harness.display.text_format import counted, duration, file_name, number
from harness.report.figures.marks import alt_of, name_of, wrapped
from harness.report.tables.costs import percent_of_ram
from harness.report.view import Group, RunView
from harness.statistics.resource_usage import ResourceSample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 600
"""Of a line: a point for each of 18,000 samples would be no more to see, and a page of a megabyte."""
_WHOSE = {
    "machine": ("whole machine", GREY, ":"),
    "system": ("system's processes", PALETTE[0], "-"),
    "server": ("model server", PALETTE[5], "--"),
    "database": ("database", PALETTE[3], "-."),
}
_PHASES = {
    "index": (PALETTE[4], "blue tint: the index is built"),
    "answer": (PALETTE[7], "yellow tint: queries are answered"),
}


class _Stretch(NamedTuple):
    """A phase of a session: every one is a process of its own, and so a line of its own."""

    phase: str
    times: NDArray[np.float64]
    """In seconds of the figure, in which sessions are laid end to end."""
    values: NDArray[np.float64]
    """A column for each of `QUANTITIES`; NaN where it was not measured."""
    lost_s: float | None
    """Between the session before and this one; None: its session began earlier, or is the first."""

    def thinned(self, seconds: float) -> _Stretch:
        """Means over so many seconds each."""
        starts = np.flatnonzero(np.diff(self.times // seconds, prepend=-1.0))
        n = np.diff(starts, append=len(self.times))
        sums = np.add.reduceat(np.nan_to_num(self.values), starts)
        known = np.add.reduceat(~np.isnan(self.values), starts, dtype=np.int64)
        means = np.divide(sums, known, out=np.full_like(sums, np.nan), where=known > 0)
        return self._replace(times=np.add.reduceat(self.times, starts) / n, values=means)


def _stretches(sessions: Sequence[Sequence[ResourceSample]]) -> tuple[list[_Stretch], float]:
    """Of all sessions, and how many seconds they took together."""
    found: list[_Stretch] = []
    at, before = 0.0, None
    for session in sessions:
        start, lost = session[0].time_s, None if before is None else session[0].time_s - before
        for phase, group in itertools.groupby(session, key=lambda sample: sample.phase):
            samples = list(group)
            times = np.array([at + sample.time_s - start for sample in samples])
            values = np.array([sample.quantities for sample in samples], dtype=np.float64)
            found.append(_Stretch(phase, times, values, lost))
            lost = None
        before = session[-1].time_s
        at += before - start
    return found, at


def draw_resources(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """CPU and RAM of each run that was sampled. The time axis joins its sessions: interruptions take no space."""
    return [_draw(view, new_figure) for view in group.views if view.resources and view.resources.samples]


def _draw(view: RunView, new_figure: NewFigure) -> Drawing:
    sessions = view.resources.sessions() if view.resources else []
    whole, length_s = _stretches(sessions)
    unit_s, unit = (1.0, "s") if length_s < 300 else (60.0, "min") if length_s < 3 * 3600 else (3600.0, "h")
    n = sum(map(len, sessions))
    mean_s = length_s / (_MOST_POINTS - 1) if n > _MOST_POINTS else None
    drawn = [one.thinned(mean_s) for one in whole] if mean_s else whole
    cores = view.manifest.machine.get("cores")
    per_core = 1 / cores if isinstance(cores, int) and cores > 0 else None
    figure = new_figure(figsize=(WIDTH_IN, 3.8), layout="constrained")
    cpu, ram = figure.subplots(2, 1, sharex=True)
    for whose, place in zip(_WHOSE, (0, 2, 4, 6), strict=True):
        # A process is measured in percent of one core, the machine in percent of all.
        _lines(cpu, drawn, unit_s, place, whose, 1.0 if whose == "machine" or per_core is None else per_core)
        _lines(ram, drawn, unit_s, place + 1, whose, 1e-9)
    cpu.set_ylabel("CPU, % of all cores" if per_core else "CPU, % (processes: of one core)")
    ram.set_ylabel("RAM, GB")
    ram.set_xlabel(f"time, {unit}")
    if share := percent_of_ram(view):
        percent = ram.secondary_yaxis(
            "right", functions=(lambda gb: gb * 1e9 * share, lambda at: at / 1e9 / share)
        )
        percent.set_ylabel("% of the machine's")
    for axes in (cpu, ram):
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=LIGHT, linewidth=0.6)
        axes.margins(x=0.01)
    cpu.set_ylim(top=max(100.0, cpu.get_ylim()[1]))
    _shade_phases(cpu, ram, whole, unit_s, length_s)
    figure.legend(*cpu.get_legend_handles_labels(), loc="outside upper right", ncols=4, handlelength=1.8)
    figure.suptitle(wrapped(name_of(view), 100), x=0.01, ha="left", fontsize=9)
    in_turns = view.manifest.config.get("schedule") == "interleaved" or view.race is not None
    said = [tint for phase, (_, tint) in _PHASES.items() if any(one.phase == phase for one in whole)]
    if len(sessions) > 1:
        paused = "paused while other runs took their turn, or until the command was given again"
        said.append(f"dotted upright line: {paused if in_turns else 'the run was interrupted and resumed'}")
    tints = "; ".join(said)
    unseen = tuple(view.resources.not_sampled) if view.resources else ()
    names = [title for key, (title, *_) in _WHOSE.items() if any(one.startswith(key) for one in unseen)]
    missed = f" Not sampled, because it runs elsewhere or is not visible: {' and '.join(names)}." if names else ""
    caption = (
        f"CPU and RAM while the run was under way, {counted(n, 'sample')}"
        f"{f', drawn as means over {number(mean_s)} s each' if mean_s else ''}. "
        f"{tints[:1].upper()}{tints[1:]}.{missed}"
    )
    stem = f"resources--{file_name(view.run.run_id)}"
    return Drawing(stem, f"CPU and RAM over time: {view.label}", caption, _alt(view), figure)


def _alt(view: RunView) -> str:
    sentences = [f"CPU and RAM of {view.label} over time."]
    for phase, name in (("index", "Building the index"), ("answer", "Answering")):
        cpu, ram = (view.value(f"{phase}_machine_{what}") for what in ("cpu_percent_mean", "ram_bytes_max"))
        if cpu is not None and ram is not None:
            sentences.append(
                f"{name}: the machine's CPU {number(cpu)} % on average, its RAM {number(ram * 1e-9)} GB at most."
            )
    return alt_of(sentences)


def _lines(
    axes: Axes, stretches: Sequence[_Stretch], unit_s: float, column: int, whose: str, scale: float
) -> None:
    label: str | None
    label, color, linestyle = _WHOSE[whose]
    for one in stretches:
        known = ~np.isnan(one.values[:, column])
        if known.any():
            marker = "." if known.sum() == 1 else ""
            style: dict[str, Any] = {"color": color, "linestyle": linestyle, "marker": marker}
            times, values = one.times[known] / unit_s, one.values[known, column] * scale
            axes.plot(times, values, linewidth=1.0, label=label, **style)
            label = None


def _shade_phases(cpu: Axes, ram: Axes, stretches: Sequence[_Stretch], unit_s: float, length_s: float) -> None:
    """A tint and a name for each phase; a dotted line, with the time lost, for each interruption."""
    style: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "fontsize": 7}
    for one in stretches:
        left, right = one.times[0] / unit_s, one.times[-1] / unit_s
        for axes in (cpu, ram):
            if one.lost_s is not None:
                axes.axvline(left, color="black", linewidth=0.8, linestyle=":")
            axes.axvspan(left, right, color=_PHASES[one.phase][0], alpha=0.13, linewidth=0)
        if one.lost_s is not None:
            resumed = f" resumed after {duration(one.lost_s) if one.lost_s >= 0 else 'a clock change'}"
            ram.annotate(resumed, (left, 0.97), va="top", color="black", **style)
        if right - left >= 0.08 * length_s / unit_s:
            # Without room for its name the tint alone tells, and its neighbour is named.
            cpu.annotate(one.phase, (left, 1.01), va="bottom", color=GREY, **style)
