"""CPU and RAM over the time of a run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.display import Drawing
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, NewFigure
from harness.display.text_format import counted, file_name, number
from harness.report.figures.marks import alt_of, name_of, wrapped
from harness.report.tables.costs import percent_of_ram
from harness.report.view import Group, RunView
from harness.statistics.resource_usage import QUANTITIES, ResourceSample

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
"""What is sampled -> its name and how it is drawn."""
_TINTS = {"index": "blue tint: the index is built", "answer": "yellow tint: queries are answered"}


@dataclass(frozen=True)
class _Timeline:
    """The sessions in which a run was under way, laid end to end."""

    sessions: Sequence[Sequence[ResourceSample]]
    starts: Sequence[float]
    """Of each session, in seconds of the figure."""

    @classmethod
    def of(cls, sessions: Sequence[Sequence[ResourceSample]]) -> _Timeline:
        lengths = [session[-1].time_s - session[0].time_s for session in sessions]
        return cls(sessions, [0.0, *itertools.accumulate(lengths[:-1])])

    @property
    def length_s(self) -> float:
        return self.starts[-1] + self.sessions[-1][-1].time_s - self.sessions[-1][0].time_s

    @property
    def unit(self) -> tuple[float, str]:
        """Seconds of the unit of the axis, and its name."""
        if self.length_s < 300:
            return 1.0, "s"
        return (60.0, "min") if self.length_s < 3 * 3600 else (3600.0, "h")

    def place(self, session: int, time_s: float) -> float:
        return (self.starts[session] + time_s - self.sessions[session][0].time_s) / self.unit[0]

    def thinned(self) -> tuple[_Timeline, float | None]:
        """Means over at most `_MOST_POINTS` equal stretches of time, and the seconds of one; None: all samples."""
        if sum(map(len, self.sessions)) <= _MOST_POINTS:
            return self, None
        stretch = self.length_s / (_MOST_POINTS - 1)
        return _Timeline([_means(session, stretch) for session in self.sessions], self.starts), stretch


def draw_resources(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """CPU and RAM of the machine, the system, model servers and databases, one figure per run; none without
    samples.

    The time axis joins the sessions of a run: interruptions are marked and take no space.
    """
    return [_draw(view, new_figure) for view in group.views if view.resources and view.resources.samples]


def _draw(view: RunView, new_figure: NewFigure) -> Drawing:
    sessions = view.resources.sessions() if view.resources else []
    whole = _Timeline.of(sessions)
    timeline, stretch = whole.thinned()
    cores = view.manifest.machine.get("cores")
    per_core = 1 / cores if isinstance(cores, int) and cores > 0 else None
    figure = new_figure(figsize=(WIDTH_IN, 3.8), layout="constrained")
    cpu, ram = figure.subplots(2, 1, sharex=True)
    for whose, place in zip(_WHOSE, (0, 2, 4, 6), strict=True):
        # A process is measured in percent of one core, the machine in percent of all.
        _lines(cpu, timeline, place, whose, 1.0 if whose == "machine" or per_core is None else per_core)
        _lines(ram, timeline, place + 1, whose, 1e-9)
    cpu.set_ylabel("CPU, % of all cores" if per_core else "CPU, % (processes: of one core)")
    ram.set_ylabel("RAM, GB")
    ram.set_xlabel(f"time, {whole.unit[1]}")
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
    _shade_phases((cpu, ram), whole)
    figure.legend(*cpu.get_legend_handles_labels(), loc="outside upper right", ncols=4, handlelength=1.8)
    figure.suptitle(wrapped(name_of(view), 100), x=0.01, ha="left", fontsize=9)
    n = sum(map(len, sessions))
    in_turns = view.manifest.config.get("schedule") == "interleaved" or view.run.race() is not None
    caption = (
        f"CPU and RAM while the run was under way, {counted(n, 'sample')}"
        f"{f', drawn as means over {number(stretch)} s each' if stretch else ''}. "
        f"{_tints(sessions, in_turns=in_turns)}.{_not_sampled(view)}"
    )
    stem = f"resources--{file_name(view.run.run_id)}"
    return Drawing(stem, f"CPU and RAM over time: {view.label}", caption, _alt(view), figure)


def _not_sampled(view: RunView) -> str:
    """A sentence, preceded by a space, about processes that the run used and that could not be sampled."""
    unseen = view.resources.not_sampled if view.resources else ()
    names = [title for key, (title, *_) in _WHOSE.items() if any(quantity.startswith(key) for quantity in unseen)]
    return f" Not sampled, because it runs elsewhere or is not visible: {' and '.join(names)}." if names else ""


def _tints(sessions: Sequence[Sequence[ResourceSample]], *, in_turns: bool) -> str:
    phases = {sample.phase for session in sessions for sample in session}
    said = [tint for phase, tint in _TINTS.items() if phase in phases]
    if len(sessions) > 1:
        paused = "paused while other runs took their turn, or until the command was given again"
        said.append(f"dotted upright line: {paused if in_turns else 'the run was interrupted and resumed'}")
    told = "; ".join(said)
    return f"{told[:1].upper()}{told[1:]}"


def _alt(view: RunView) -> str:
    sentences = [f"CPU and RAM of {view.label} over time."]
    for phase, name in (("index", "Building the index"), ("answer", "Answering")):
        cpu, ram = (view.value(f"{phase}_machine_{what}") for what in ("cpu_percent_mean", "ram_bytes_max"))
        if cpu is not None and ram is not None:
            sentences.append(
                f"{name}: the machine's CPU {number(cpu)} % on average, its RAM {number(ram * 1e-9)} GB at most."
            )
    return alt_of(sentences)


def _means(session: Sequence[ResourceSample], stretch_s: float) -> list[ResourceSample]:
    """The means of each phase over stretches of the session; a quantity that was not measured in one has none."""
    start, thinned = session[0].time_s, []
    keyed = itertools.groupby(session, lambda sample: (sample.phase, (sample.time_s - start) // stretch_s))
    for (phase, _), group in keyed:
        samples = list(group)
        columns = [
            [value for sample in samples if (value := sample.quantities[column]) is not None]
            for column in range(len(QUANTITIES))
        ]
        means = tuple(sum(values) / len(values) if values else None for values in columns)
        thinned.append(ResourceSample(sum(sample.time_s for sample in samples) / len(samples), phase, means))
    return thinned


def _lines(axes: Axes, timeline: _Timeline, column: int, whose: str, scale: float) -> None:
    """One quantity, one line for each phase of each session: every phase is a process of its own."""
    named: str | None
    named, color, linestyle = _WHOSE[whose]
    for number_, session in enumerate(timeline.sessions):
        for _, samples in itertools.groupby(session, key=lambda sample: sample.phase):
            points = [
                (timeline.place(number_, sample.time_s), value * scale)
                for sample in samples
                if (value := sample.quantities[column]) is not None
            ]
            if points:
                marker = "." if len(points) == 1 else ""
                times, values = zip(*points, strict=True)
                style: dict[str, Any] = {"color": color, "linestyle": linestyle, "marker": marker, "label": named}
                axes.plot(times, values, linewidth=1.0, **style)
                named = None


def _shade_phases(panels: Sequence[Axes], timeline: _Timeline) -> None:
    """A tint and a name for each phase; a dotted line, with the time lost, for each interruption."""
    whole = timeline.length_s / timeline.unit[0]
    style: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "fontsize": 7}
    for at, session in enumerate(timeline.sessions):
        if at:
            place, lost = timeline.place(at, session[0].time_s), timeline.sessions[at - 1][-1].time_s
            for axes in panels:
                axes.axvline(place, color="black", linewidth=0.8, linestyle=":")
            resumed = f" resumed after {_duration(session[0].time_s - lost)}"
            panels[1].annotate(resumed, (place, 0.97), va="top", color="black", **style)
        for phase, samples in itertools.groupby(session, key=lambda sample: sample.phase):
            own = list(samples)
            left, right = (timeline.place(at, own[end].time_s) for end in (0, -1))
            for axes in panels:
                tint = PALETTE[4] if phase == "index" else PALETTE[7]
                axes.axvspan(left, right, color=tint, alpha=0.13, linewidth=0)
            if right - left >= 0.08 * whole:
                # Without room for its name the tint alone tells, and its neighbour is named.
                panels[0].annotate(phase, (left, 1.01), va="bottom", color=GREY, **style)


def _duration(seconds: float) -> str:
    if seconds < 0:
        return "a clock change"
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
