"""CPU and RAM over the time of a run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.report.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, plotting, save
from harness.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def resources_over_time(view: RunView, folder: Path, stem: str) -> list[Path]:
    """CPU and RAM of the machine, the system and the model server over time; no file where nothing was sampled.

    Time counts the sessions in which the run was under way: an interruption is a mark, not a line and not a gap.
    """
    if view.resources is None or not view.resources.samples:
        return []
    sessions = view.resources.sessions()
    starts = _session_starts([(session[0].time_s, session[-1].time_s) for session in sessions])
    with plotting() as new_figure:
        figure = new_figure(figsize=(WIDTH_IN, 3.8), layout="constrained")
        cpu, ram = figure.subplots(2, 1, sharex=True)
        cores = view.manifest.machine.get("cores")
        per_core = 1 / cores if isinstance(cores, int) and cores > 0 else None
        unit = _time_unit(starts[-1] + sessions[-1][-1].time_s - sessions[-1][0].time_s)
        for number, (whose, color) in enumerate(
            (("machine", GREY), ("system", PALETTE[0]), ("server", PALETTE[5]))
        ):
            # A process is measured in percent of one core, the machine in percent of all.
            scale = 1.0 if whose == "machine" or per_core is None else per_core
            _draw(cpu, (sessions, starts, unit[0]), 2 * number, (color, scale, _WHOSE[whose]))
            _draw(ram, (sessions, starts, unit[0]), 2 * number + 1, (color, 1e-9, _WHOSE[whose]))
        cpu.set_ylabel("CPU, % of all cores" if per_core else "CPU, % (processes: of one core)")
        ram.set_ylabel("RAM, GB")
        ram.set_xlabel(f"time, {unit[1]}")
        for axes in (cpu, ram):
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", color=LIGHT, linewidth=0.6)
            axes.margins(x=0.01)
        cpu.set_ylim(top=max(100.0, cpu.get_ylim()[1]))
        _shade_phases((cpu, ram), sessions, starts, unit[0])
        handles, names = cpu.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper right", ncols=3, handlelength=1.5)
        figure.suptitle(view.label, x=0.01, ha="left", fontsize=9)
        return save(figure, folder, stem)


_WHOSE = {"machine": "whole machine", "system": "system's processes", "server": "model server"}


def _session_starts(spans: Sequence[tuple[float, float]]) -> list[float]:
    """Where each session begins when all are laid end to end."""
    lengths = [end - start for start, end in spans]
    return [0.0, *itertools.accumulate(lengths[:-1])]


def _time_unit(total_s: float) -> tuple[float, str]:
    if total_s < 300:
        return 1.0, "s"
    return (60.0, "min") if total_s < 3 * 3600 else (3600.0, "h")


def _draw(axes: Axes, time: tuple[Any, Sequence[float], float], column: int, look: tuple[str, float, str]) -> None:
    """One quantity, one line for each phase of each session: every phase is a process of its own."""
    sessions, starts, unit_s = time
    color, scale, label = look
    named: str | None = label
    for session, start in zip(sessions, starts, strict=True):
        for _, samples in itertools.groupby(session, key=lambda sample: sample.phase):
            points = [
                ((start + sample.time_s - session[0].time_s) / unit_s, value * scale)
                for sample in samples
                if (value := sample.quantities[column]) is not None
            ]
            if points:
                marker = "." if len(points) == 1 else ""
                axes.plot(*zip(*points, strict=True), color=color, linewidth=1.0, marker=marker, label=named)
                named = None


def _shade_phases(panels: Sequence[Axes], sessions: Any, starts: Sequence[float], unit_s: float) -> None:
    """A tint and a name for each phase; a dotted mark with the time lost where the run was interrupted."""
    whole = (starts[-1] + sessions[-1][-1].time_s - sessions[-1][0].time_s) / unit_s
    for number, (session, start) in enumerate(zip(sessions, starts, strict=True)):
        if number:
            lost = session[0].time_s - sessions[number - 1][-1].time_s
            for axes in panels:
                axes.axvline(start / unit_s, color="black", linewidth=0.8, linestyle=":")
            text = f" resumed after {_duration(lost)}"
            panels[1].annotate(
                text, (start / unit_s, 0.97), xycoords=("data", "axes fraction"), va="top", fontsize=6.5
            )
        for phase, samples in itertools.groupby(session, key=lambda sample: sample.phase):
            own = list(samples)
            left, right = ((start + own[at].time_s - session[0].time_s) / unit_s for at in (0, -1))
            for axes in panels:
                axes.axvspan(
                    left, right, color="#56B4E9" if phase == "index" else "#F0E442", alpha=0.13, linewidth=0
                )
            if right - left < 0.08 * whole:
                # No room for its name: the tint alone tells, and its neighbour is named.
                continue
            panels[0].annotate(
                phase, (left, 1.01), xycoords=("data", "axes fraction"), va="bottom", fontsize=7, color=GREY
            )


def _duration(seconds: float) -> str:
    if seconds < 0:
        return "a clock change"
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
