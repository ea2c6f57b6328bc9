"""The figures that metrics ask for: a panel for each, a curve where they are points of one (such as Hit over the
cutoff k), and bars of kinds where a metric sorts answers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.display import Drawing, format_value, printable
from harness.display.plotting import GREY, HALF_IN, LIGHT, PALETTE, WIDTH_IN, NewFigure, tell
from harness.display.text_format import number
from harness.protocols import Measure, Panel, PanelFigure, ScoreLabel
from harness.report.figures import marks
from harness.report.figures.marks import LETTERS_PT
from harness.report.quantities import population, values_in
from harness.report.tables.scores import found_labels
from harness.report.view import Group, RunView
from harness.statistics.run_frame import Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_KEY_LETTERS = 95
_VALUE = "value (95 % CI)"
_UNIT = (0.0, 1.0)
_NAME_LETTER_IN, _TITLE_LETTER_IN = 0.056, 0.067

Curves = Mapping[str, Sequence[tuple[float, str]]]
"""Title -> the place on the axis and the measure of each point, ascending."""
Limits = tuple[float, float]


class _Placed(NamedTuple):
    """A metric, and the panel in which it is drawn."""

    measure: Measure
    panel: Panel

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def headings(self) -> list[str]:
        """The row of panels that it belongs to, if any, and its title."""
        named = [self.panel.row, self.panel.title or self.measure.display_name]
        return [printable(text) for text in named if text]


def draw_measured(group: Group, names: Sequence[str], new_figure: NewFigure) -> list[Drawing]:
    """The figures of these measures, in the order in which they are first named."""
    wanted: dict[PanelFigure, list[_Placed]] = {}
    for measure in (group.known[name] for name in names if name in group.known):
        if measure.panel:
            wanted.setdefault(measure.panel.figure, []).append(_Placed(measure, measure.panel))
    drawn = (_draw(group, figure, placed, new_figure) for figure, placed in wanted.items())
    return [drawing for drawing in drawn if drawing]


def _draw(group: Group, figure: PanelFigure, placed: Sequence[_Placed], new_figure: NewFigure) -> Drawing | None:
    for one in placed:
        if one.measure.labels:
            return _draw_kinds(group, figure, one.measure, new_figure)
    runs = marks.runs_with(group, [one.name for one in placed])
    # A metric without values would be an empty panel, or an end of a curve without a point.
    placed = [one for one in placed if any(view.value(one.name) is not None for view in runs)]
    every = _panels_of(runs, placed)
    if not every:
        return None
    curves = _curves(placed)
    if 1 < len(runs) <= 6 and any(len(points) > 1 for points in curves.values()):
        drawn = _draw_curves(new_figure, runs, curves, printable(figure.along))
        panels = _panels_of(runs, [one for one in placed if one.panel.curve])
        rows = [view.row(points[-1][1]) for points in curves.values() for view in runs]
        how = f"Marker: mean; upright line: 95 % interval; {marks.queries_of(runs, rows)}."
    else:
        headings = list(dict.fromkeys(one.panel.row for one in every))
        panels = [one for one in every if len(runs) <= 5 or one.panel.row in headings[:2]]
        beside = max(sum(one.panel.row == row for one in panels) for row in headings) if panels[0].panel.row else 0
        drawn = _draw_panels(new_figure, runs, panels, _limits_of(runs, panels, zoomed=figure.zoomed), beside)
        rows = [view.row(one.name) for view in runs for one in panels]
        how = f"Dot: mean; line: 95 % interval; {marks.queries_of(runs, rows)}."
        how += " “a of b”: only a of b scores have a value." if any(row and row.n_failed for row in rows) else ""
        how += " The axis begins where the values do, not at 0." if figure.zoomed else ""
        how += "" if len(panels) == len(every) else " The other scores are in the table."
    ways = {one.measure.higher_is_better for one in panels}
    better = "higher is better" if ways == {True} else "lower is better" if ways == {False} else "see each measure"
    caption = f"{figure.says}; {better}. {how}"
    alt = marks.alt_of(marks.extremes(": ".join(one.headings), runs, one.name) for one in panels)
    return Drawing(figure.stem, figure.title, caption, alt, drawn)


def _panels_of(runs: Sequence[RunView], placed: Sequence[_Placed]) -> list[_Placed]:
    """Row by row; of one run all points of a curve, of several the farthest."""
    kept = [
        one
        for one in placed
        if not one.panel.repeats or any(view.value(one.name) != view.value(one.panel.repeats) for view in runs)
    ]
    if len(runs) > 1:
        by_place = sorted(kept, key=lambda one: one.panel.at)
        ends = {(one.panel.row, one.panel.curve): one.panel.at for one in by_place}
        kept = [one for one in kept if not one.panel.curve or one.panel.at == ends[one.panel.row, one.panel.curve]]
    rows = list(dict.fromkeys(one.panel.row for one in kept))
    return sorted(kept, key=lambda one: rows.index(one.panel.row))


def _curves(placed: Sequence[_Placed]) -> Curves:
    found: dict[str, dict[float, str]] = {}
    for measure, panel in placed:
        if panel.curve:
            title = f"{panel.curve} ({panel.row})" if panel.row else panel.curve
            found.setdefault(printable(title), {})[panel.at] = measure.name
    return {title: sorted(points.items()) for title, points in found.items()}


def _draw_curves(new_figure: NewFigure, runs: Sequence[RunView], curves: Curves, along: str) -> Figure:
    """A panel for each curve, three beside each other or, of four, two; `along`: what their points lie along."""
    columns = 2 if len(curves) == 4 else min(3, len(curves))
    figure, panels = marks.panel_grid(new_figure, len(curves), columns, 0.6, 1.75)
    drawn = zip(panels, curves.items(), strict=True)
    handles = [_draw_curve(axes, runs, title, points) for axes, (title, points) in drawn]
    marks.legend(figure, handles[0], [marks.name_of(view) for view in runs], 105, handlelength=2.4)
    figure.supxlabel(along, fontsize=8)
    figure.supylabel(_VALUE, fontsize=8)
    return figure


def _draw_curve(
    axes: Axes, runs: Sequence[RunView], title: str, points: Sequence[tuple[float, str]]
) -> list[Line2D]:
    """One line per run, points evenly spaced; the dots of the runs are shifted slightly."""
    lines = []
    every = [(place, view.row(measure)) for view in runs for place, (_, measure) in enumerate(points)]
    for nth, view in enumerate(runs):
        look = marks.style_of(view.position)
        shift = min(0.09, 0.3 / len(runs)) * (nth - (len(runs) - 1) / 2)
        own = every[nth * len(points) : (nth + 1) * len(points)]
        known = [(place + shift, row) for place, row in own if row is not None and row.mean is not None]
        for x, row in known:
            if limits := marks.interval_of(row):
                axes.plot([x, x], limits, color=look.color, linewidth=0.8)
        style: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle, "marker": look.marker}
        xs, means = [x for x, _ in known], [row.mean or 0.0 for _, row in known]
        (line,) = axes.plot(xs, means, linewidth=1.1, markersize=4, clip_on=False, **style)
        # A line without a point is nowhere, and would take all the room there is.
        line.set_in_layout(bool(xs))
        told = [f"{points[place][0]:g}: {marks.tip_of(row)}" for place, row in own if row]
        tell(line, f"{marks.name_of(view)}: {'; '.join(told)}")
        lines.append(line)
    axes.set_xticks(range(len(points)), [f"{at:g}" for at, _ in points])
    axes.set_xlim(-0.4, len(points) - 0.6)
    if all(row is None or row.mean is None or 0 <= row.mean <= 1 for _, row in every):
        marks.unit_ticks(axes, "y")
    axes.grid(axis="y", color=LIGHT, linewidth=0.6)
    axes.set_title(f"{title}, n = {marks.n_of(row for _, row in every)}", fontsize=8)
    return lines


def _draw_kinds(group: Group, figure: PanelFigure, measure: Measure, new_figure: NewFigure) -> Drawing | None:
    """A bar for each run that has a value, a segment for each kind; None if no answer has a label."""
    from matplotlib.ticker import PercentFormatter

    runs = marks.runs_with(group, [measure.name])
    labels = found_labels(group, measure)
    if not runs or not labels:
        return None
    names = marks.names_of(runs)
    looks = {printable(label.title): _style(measure, label) for label in labels}
    besides_in = 0.75 + 0.17 * -(-len(labels) // marks.columns_of([*looks], _KEY_LETTERS))
    drawn, (axes,) = marks.row_figure(
        new_figure, names, besides_in=besides_in, row_in=1.5 * marks.row_height(names)
    )
    for height, view in enumerate(runs):
        _kinds_bar(axes, height, view, measure, labels)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    axes.set_xlabel(f"{printable(measure.display_name)}, %")
    marks.key_above(drawn, looks, _KEY_LETTERS, fontsize=LETTERS_PT, columnspacing=1.2, handlelength=1.5)
    rows = [view.row(measure.name) for view in runs]
    caption = (
        f"{figure.says}, in % of all judged answers; {marks.queries_of(runs, rows)}. "
        "Numbers are counts of answers. What to try against each cause is above."
    )
    spoken = []
    for view in runs:
        counts = [(view.n_labelled(measure, label), printable(label.title)) for label in labels]
        said = ", ".join(f"{count:,} {title}" for count, title in counts if count)
        spoken.append(f"{printable(view.label, 40)}: {said or 'none'}.")
    return Drawing(figure.stem, figure.title, caption, marks.alt_of(spoken), drawn)


def _kinds_bar(axes: Axes, height: int, view: RunView, measure: Measure, labels: Sequence[ScoreLabel]) -> None:
    row, start = view.row(measure.name), 0.0
    n = values_in(row) if row else 0
    for label in labels:
        count = view.n_labelled(measure, label)
        if not n or not count:
            continue
        width = count / n
        (segment,) = axes.barh(height, width, 0.66, left=start, **_style(measure, label))
        tell(segment, f"{marks.name_of(view)}, {label.title}: {count:,} of {n:,} ({number(100 * width)} %)")
        if width >= 0.055:  # otherwise the count does not fit into its segment
            box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
            text = axes.text(start + width / 2, height, f"{count:,}", ha="center", va="center", bbox=box)
            text.set_fontsize(LETTERS_PT)
        start += width


def _style(measure: Measure, label: ScoreLabel) -> dict[str, Any]:
    """The same in every report: by the label's place among those of its measure."""
    names = [one.name for one in measure.labels]
    n = names.index(label.name) if label.name in names else len(names)
    # Without black, which hatches use. The last kind (unknown) is grey.
    colours = [colour for colour in PALETTE if colour != "#000000"]
    is_last = n >= len(names) - 1
    colour = GREY if is_last else colours[n % len(colours)]
    hatch = "////" if not is_last and n // len(colours) % 2 else ""
    return {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}


def _draw_panels(
    new_figure: NewFigure, runs: Sequence[RunView], panels: Sequence[_Placed], limits: Limits, beside: int
) -> Figure:
    """One run: a row for each measure; several: a panel for each, `beside` each other (0: as suits them)."""
    if len(runs) == 1:
        rows = [textwrap.fill(": ".join(panel.headings), 40) for panel in panels]
        figure, (axes,) = marks.row_figure(new_figure, rows, besides_in=0.85, width_in=HALF_IN)
        _counted_rows(axes, [(runs[0].row(panel.name), runs[0]) for panel in panels])
        axes.set_title(marks.wrapped(marks.name_of(runs[0]), 48), fontsize=8)
        axes.set_xlabel(_VALUE)
        _dress(axes, len(panels), limits)
        return figure
    names = marks.names_of(runs)
    columns, letters = _fitting(runs, panels, beside, max(map(marks.cells, names)))
    line_in = 0.62 + marks.row_height(names) * len(runs)
    figure, grid = marks.panel_grid(new_figure, len(panels), columns, 0.3, line_in)
    for n, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
        _panel(axes, runs, panel, limits, letters)
        axes.set_yticks(range(len(runs)), names if n % columns == 0 else [""] * len(runs), fontsize=7)
    figure.supxlabel(_VALUE, fontsize=8)
    return figure


def _limits_of(runs: Sequence[RunView], panels: Sequence[_Placed], *, zoomed: bool) -> Limits:
    """`zoomed`: only where there are intervals; otherwise from 0, and to 1 if all lie there."""
    rows = [row for view in runs for panel in panels if (row := view.row(panel.name))]
    ends = [end for row in rows if row.mean is not None for end in (marks.interval_of(row) or (row.mean,))]
    if zoomed:
        room = 0.05 * max(max(ends) - min(ends), 0.05)
        return min(ends) - room, max(ends) + room
    low, high = min(0.0, *ends), max(0.0, *ends)
    if low == 0 and high <= 1:
        return _UNIT
    room = 0.03 * (high - low)
    return low - room, high + room


def _panel(axes: Axes, runs: Sequence[RunView], panel: _Placed, limits: Limits, letters: int) -> None:
    """n is in the title unless it is shown for each row."""
    rows = [view.row(panel.name) for view in runs]
    of_run = list(zip(rows, runs, strict=True))
    title = "\n".join(textwrap.fill(line, letters) for line in panel.headings)
    if _same_n(rows):
        title += f"\nn = {format_value(population(rows[0]))}"
        marks.dot_rows(axes, of_run)
    else:
        _counted_rows(axes, of_run)
    _dress(axes, len(runs), limits)
    axes.set_title(title, fontsize=8)


def _same_n(rows: Sequence[Aggregate | None]) -> bool:
    return all(rows) and len({population(row) for row in rows}) == 1


def _counted_rows(axes: Axes, rows: Sequence[tuple[Aggregate | None, RunView]]) -> None:
    marks.dot_rows(axes, rows, lambda row: format_value(population(row)), color=GREY)
    axes.text(1.03, 1.02, "n", transform=axes.transAxes, fontsize=LETTERS_PT, color=GREY)


def _dress(axes: Axes, n_rows: int, limits: Limits) -> None:
    if limits == _UNIT:
        marks.unit_ticks(axes, "x")
    else:
        axes.set_xlim(*limits)
        axes.locator_params(axis="x", nbins=4)
    marks.dress_rows(axes, n_rows, grid="both", below=0.5)


def _fitting(runs: Sequence[RunView], panels: Sequence[_Placed], beside: int, longest: int) -> tuple[int, int]:
    """Into how many columns panels go beside names of `longest` letters, and how many letters a title has."""
    counted = any(not _same_n([view.row(panel.name) for view in runs]) for panel in panels)
    suiting = 2 if len(panels) in {2, 4} else 4 if len(panels) > 6 else min(len(panels), 3)
    columns = beside or suiting
    while True:
        # "145 of 150" is 0.65 inches wide.
        width = (WIDTH_IN - longest * _NAME_LETTER_IN) / columns - 0.1 - counted * 0.65 / 2
        if width >= 1.0 or columns <= 2:
            return columns, max(10, int(width / _TITLE_LETTER_IN))
        columns = columns // 2 if beside else columns - 1
