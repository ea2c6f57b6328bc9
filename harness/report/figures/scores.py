"""The metric that ranks: means over all queries and by type, and which differences are more than chance."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.display import Drawing, file_name, format_value, printable
from harness.display.plotting import GREY, HALF_IN, PALETTE, NewFigure
from harness.display.text_format import number, type_name
from harness.report.figures import marks
from harness.report.figures.marks import Scale
from harness.report.quantities import population, values_in
from harness.report.verdict.findings import Findings
from harness.report.view import Group, RunView
from harness.statistics.paired_comparison import MeasureComparison, PairPlaces
from harness.statistics.run_frame import OVERALL, Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_NAME_LETTERS = 30
_COLOURS = {"a": PALETTE[0], "b": PALETTE[5], "tie": GREY, "differ": PALETTE[6]}
_BEYOND_CHANCE = {
    "a": "blue (A is better)",
    "b": "vermilion (B is better)",
    "differ": "black (they differ; the metric has no direction)",
}


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


def _overall(group: Group, scale: Scale, runs: Sequence[RunView], says: str, new_figure: NewFigure) -> Drawing:
    known = group.known.get(scale.measure)
    sign = 1 if known and known.higher_is_better is False else -1
    best_first = sorted(runs, key=lambda run: (not run.is_complete, sign * (run.value(scale.measure) or 0.0)))
    names = marks.names_of(best_first)
    figure, (axes,) = marks.row_figure(new_figure, names, besides_in=0.7, width_in=HALF_IN, grid="both", below=0.5)
    rows = [view.row(scale.measure) for view in runs]
    n, same_n = marks.n_of(rows), len({values_in(row) for row in rows if row}) == 1

    def beside(row: Aggregate) -> str:
        return scale.text(row, interval=True) + ("" if same_n else f"\nn = {format_value(population(row))}")

    marks.dot_rows(axes, [(view.row(scale.measure), view) for view in best_first], beside)
    scale.dress(axes)
    axes.set_xlabel(f"{scale.label}, n = {n}")
    caption = (
        f"{says}, best first, over {marks.queries_of(group.views, rows)}. "
        "Dot: mean; line: 95 % interval. Intervals that overlap do not mean a tie: see the paired tests."
    )
    spoken = (
        f"{printable(marks.name_of(view), 60)} {scale.text(view.row(scale.measure), interval=True)}."
        for view in best_first
    )
    alt = marks.alt_of([f"{scale.title}{' in %' if scale.is_share else ''}.", *spoken])
    return Drawing(f"{file_name(scale.measure)}_overall", scale.title, caption, alt, figure)


def _by_type(
    group: Group, scale: Scale, runs: Sequence[RunView], says: str, new_figure: NewFigure
) -> list[Drawing]:
    """A panel for each query type and overall; nothing for a single type, which the other figure shows."""
    rows = {name: [view.row(scale.measure, name) for view in runs] for name in group.query_types}
    types = [name for name, own in rows.items() if any(row is not None and row.mean is not None for row in own)]
    if len(types) < 2:
        return []
    groups = [*types, OVERALL]
    names, ratios = marks.names_of(runs, 32), [1.0] * len(groups)
    figure, panels = marks.row_figure(new_figure, names, besides_in=0.9, ratios=ratios, grid="both", below=0.5)
    for axes, name in zip(panels, groups, strict=True):
        own = [(view.row(scale.measure, name), view) for view in runs]
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


def draw_significance(findings: Findings, new_figure: NewFigure) -> list[Drawing]:
    """A row for each pair, a panel for each main measure. Of too many pairs, those with the best run."""
    ranking = findings.ranking
    measures, labels = (
        [one for one in ranking.comparisons if one.pairs][:4],
        [one.label for one in ranking.entrants],
    )
    if not measures:
        return []
    against, first, n_pairs = "", None, len(_pairs_of(measures))
    if n_pairs > 28:
        first = ranking.order[0]
        # With that run first; the pairs stay corrected for all pairs.
        turned = [
            [pair if pair.a == first else pair.turned for pair in one.pairs if first in (pair.a, pair.b)]
            for one in measures
        ]
        measures = [replace(one, pairs=tuple(pairs)) for one, pairs in zip(measures, turned, strict=True)]
        against = f" Of {n_pairs:,} pairs, those with {labels[first]}; the table has all."
    counts = sorted(pair.n for compared in measures for pair in compared.pairs)
    n = f"n = {counts[0]:,}" if counts[0] == counts[-1] else f"n = {counts[0]:,} to {counts[-1]:,}"
    caption = (
        f"Difference of the means of two runs, A \N{MINUS SIGN} B, over the queries of both ({n}), "
        f"with its 95 % CI. {_colours(measures)}.{against}"
    )
    drawn = _forest(new_figure, labels, measures, first)
    return [Drawing("significance", "Differences between runs", caption, _alt(labels, measures), drawn)]


def _colours(measures: Sequence[MeasureComparison]) -> str:
    verdicts = {compared.verdict(pair) for compared in measures for pair in compared.pairs}
    beyond = [said for verdict, said in _BEYOND_CHANCE.items() if verdict in verdicts]
    if not beyond:
        return "Grey and hollow: a tie, no more than chance after Holm's correction"
    told = f"{', '.join(beyond)}: beyond chance after Holm's correction for all pairs of the measure"
    tie = "; grey and hollow: a tie" if "tie" in verdicts else ""
    return f"{told[0].upper()}{told[1:]}{tie}"


def _alt(labels: Sequence[str], measures: Sequence[MeasureComparison]) -> str:
    counted, named = [], []
    for compared in measures:
        apart = [pair for pair in compared.pairs if compared.verdict(pair) != "tie"]
        name = printable(compared.measure.name, 40)
        counted.append(f"{name}: {len(apart):,} of {len(compared.pairs):,} pairs differ beyond chance.")
        for pair in apart:
            names = f"{labels[pair.a]} minus {labels[pair.b]}"
            named.append(f"{name}, {names}: {number(pair.difference)}.")
    return marks.alt_of([*counted, *named])


def _pairs_of(measures: Sequence[MeasureComparison]) -> list[PairPlaces]:
    """Every pair of runs that any of them compares, in order."""
    return list(dict.fromkeys((pair.a, pair.b) for compared in measures for pair in compared.pairs))


def _forest(
    new_figure: NewFigure, labels: Sequence[str], measures: Sequence[MeasureComparison], first: int | None = None
) -> Figure:
    """A panel for each of `measures`, a row for each of their pairs; `first`: the A of every pair, named once."""
    places = _pairs_of(measures)
    names = [_pair_name("" if a == first else labels[a], labels[b]) for a, b in places]
    ratios = [1.0] * len(measures)
    figure, panels = marks.row_figure(new_figure, names, besides_in=1.1, row_in=0.27, ratios=ratios, below=0.5)
    for axes, compared in zip(panels, measures, strict=True):
        _panel(axes, compared, places)
    figure.supxlabel(
        "difference of means with its CI (at least 95 %); filled: more than chance (Holm)", fontsize=8
    )
    if first is not None:
        figure.suptitle(marks.wrapped(f"A: {labels[first]}", 100), x=0.01, ha="left", fontsize=8)
    return figure


def _pair_name(a: str, b: str) -> str:
    """`A - B` on one line, or each on lines of its own."""
    line = f"{a} \N{MINUS SIGN} {b}".strip()
    if len(line) <= _NAME_LETTERS:
        return line
    return "\n".join(marks.wrapped(name, _NAME_LETTERS) for name in (a, f"\N{MINUS SIGN} {b}") if name)


def _panel(axes: Axes, compared: MeasureComparison, places: Sequence[PairPlaces]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8)
    for pair in compared.pairs:
        row, color = places.index((pair.a, pair.b)), _COLOURS[compared.verdict(pair)]
        if pair.interval.low is not None and pair.interval.high is not None:
            axes.plot([pair.interval.low, pair.interval.high], [row, row], color=color)
        filled = color if pair.significant else "white"
        axes.plot(pair.difference, row, marker="o", markersize=4.5, color=color, markerfacecolor=filled)
    better = {True: "A is better \N{RIGHTWARDS ARROW}", False: "\N{LEFTWARDS ARROW} A is better", None: ""}
    # The words of its name on lines of a panel's width.
    lines = marks.wrapped(compared.measure.name.replace("_", " "), 22)
    name = lines.replace("\n", "_\n").replace(" ", "_")
    axes.set_title(f"{name}\n{better[compared.measure.higher_is_better]}", fontsize=7)
    axes.locator_params(axis="x", nbins=3)
