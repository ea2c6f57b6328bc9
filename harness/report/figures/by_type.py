"""The measure that ranks, over all queries and by query type."""

from __future__ import annotations

import textwrap

from harness.display import Drawing, file_name, format_value, printable
from harness.display.plotting import HALF_IN, NewFigure
from harness.display.text_format import type_name
from harness.report.figures import marks
from harness.report.figures.marks import DrawnRuns, Scale
from harness.report.quantities import population, values_in
from harness.report.view import Group
from harness.statistics import OVERALL, Aggregate


def draw_by_type(group: Group, measure: str, new_figure: NewFigure) -> list[Drawing]:
    """`<measure>_overall`, best run first, and `<measure>_by_type`, if any run has a value."""
    runs = marks.runs_with(group, [measure])
    if not runs:
        return []
    scale = Scale.of(group, measure)
    known = group.known.get(measure)
    summary = known.summary if known else scale.name
    says = f"{summary[:1].upper()}{summary[1:]}"
    return [_overall(group, scale, runs, says, new_figure), *_by_type(group, scale, runs, says, new_figure)]


def _overall(group: Group, scale: Scale, runs: DrawnRuns, says: str, new_figure: NewFigure) -> Drawing:
    known = group.known.get(scale.measure)
    sign = 1 if known and known.higher_is_better is False else -1
    best_first = sorted(
        runs, key=lambda run: (not run[1].is_complete, sign * (run[1].value(scale.measure) or 0.0), run[0])
    )
    names = marks.names_of(view for _, view in best_first)
    figure, (axes,) = marks.row_figure(new_figure, names, besides_in=0.7, width_in=HALF_IN, grid="both", below=0.5)
    rows = [view.row(scale.measure) for _, view in runs]
    n, same_n = marks.n_of(rows), len({values_in(row) for row in rows if row}) == 1

    def beside(row: Aggregate) -> str:
        return scale.text(row, interval=True) + ("" if same_n else f"\nn = {format_value(population(row))}")

    marks.dot_rows(axes, [(view.row(scale.measure), number) for number, view in best_first], beside)
    scale.dress(axes)
    axes.set_xlabel(f"{scale.label}, n = {n}")
    caption = (
        f"{says}, best first, over {marks.queries_of(group.views, rows)}. "
        "Dot: mean; line: 95 % interval. Intervals that overlap do not mean a tie: see the paired tests."
    )
    spoken = (
        f"{printable(marks.name_of(view), 60)} {scale.text(view.row(scale.measure), interval=True)}."
        for _, view in best_first
    )
    alt = marks.alt_of([f"{scale.title}{' in %' if scale.is_share else ''}.", *spoken])
    return Drawing(f"{file_name(scale.measure)}_overall", scale.title, caption, alt, figure)


def _by_type(group: Group, scale: Scale, runs: DrawnRuns, says: str, new_figure: NewFigure) -> list[Drawing]:
    """A panel for each query type and overall; nothing for a single type, which the other figure shows."""
    rows = {name: [view.row(scale.measure, name) for _, view in runs] for name in group.query_types}
    types = [name for name, own in rows.items() if any(row is not None and row.mean is not None for row in own)]
    if len(types) < 2:
        return []
    groups = [*types, OVERALL]
    names, ratios = marks.names_of((view for _, view in runs), 32), [1.0] * len(groups)
    figure, panels = marks.row_figure(new_figure, names, besides_in=0.9, ratios=ratios, grid="both", below=0.5)
    for axes, name in zip(panels, groups, strict=True):
        own = [(view.row(scale.measure, name), number) for number, view in runs]
        marks.dot_rows(axes, own, scale.short)
        # The type, wrapped to its share of the width.
        title = textwrap.fill(type_name(name), max(6, 80 // len(groups)))
        axes.set_title(f"{title}\nn = {marks.n_of(row for row, _ in own)}", fontsize=8)
        scale.dress(axes, every=2)
    figure.supxlabel(scale.label, fontsize=8)
    caption = (
        f"{says}, by query type and over all, with 95 % intervals; n is the number of "
        f"{marks.counted_in(group.views)} behind each mean. A query that failed counts with the worst value."
    )
    spoken = [marks.extremes(type_name(name), runs, scale.measure, name) for name in [OVERALL, *types]]
    title = f"{scale.title} by query type"
    return [Drawing(f"{file_name(scale.measure)}_by_type", title, caption, marks.alt_of(spoken), figure)]
