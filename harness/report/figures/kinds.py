"""Of a measure that sorts answers: a bar for each run, a segment for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.display import Drawing, printable
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, tell
from harness.display.text_format import number
from harness.protocols import Measure, PanelFigure, ScoreLabel
from harness.report.aggregates import values_in
from harness.report.figures.marks import alt_of, columns_of, name_of, queries_of, runs_with, wrapped
from harness.report.figures.panels import row_height
from harness.report.figures.rows import LETTERS_PT
from harness.report.tables.scores import count_of, found_labels
from harness.report.view import Group, RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.display.plotting import NewFigure

_BAR = 0.66
_ROOM = 0.055
"""Share of the width that a count needs to fit into its segment."""
# Without black, which hatches use. The last kind (unknown) is grey.
_COLORS = tuple(colour for colour in PALETTE if colour != "#000000")
_HATCHES = ("", "////")


def draw_kinds(group: Group, figure: PanelFigure, measure: Measure, new_figure: NewFigure) -> Drawing | None:
    """Every run that has a value; None if there is none, or if no answer has a label."""
    runs = runs_with(group, [measure.name])
    labels = found_labels(group, measure)
    if not runs or not labels:
        return None
    names = [wrapped(name_of(view), 28) for _, view in runs]
    titles = [printable(label.title) for label in labels]
    columns = columns_of(titles, 95)
    height = 0.75 + row_height(names) * 1.5 * len(runs) + 0.17 * -(-len(labels) // columns)
    drawn = new_figure(figsize=(WIDTH_IN, height), layout="constrained")
    axes = drawn.subplots()
    for place, (_, view) in enumerate(runs):
        _bar(axes, place, view, (measure, labels))
    _dress(axes, names, measure)
    _key(drawn, measure, labels, columns)
    rows = [view.row(measure.name) for _, view in runs]
    caption = (
        f"{figure.says}, in % of all judged answers; {queries_of((view for _, view in runs), rows)}. Numbers are "
        "counts of answers. What to try against each cause is above."
    )
    spoken = [f"{printable(view.label, 40)}: {_said(view, measure, labels)}." for _, view in runs]
    return Drawing(figure.stem, figure.title, caption, alt_of(spoken), drawn)


def _said(view: RunView, measure: Measure, labels: Sequence[ScoreLabel]) -> str:
    counts = [(count_of(view, measure, label), printable(label.title)) for label in labels]
    return ", ".join(f"{count:,} {title}" for count, title in counts if count) or "none"


def _bar(axes: Axes, place: int, view: RunView, sorted_by: tuple[Measure, Sequence[ScoreLabel]]) -> None:
    measure, labels = sorted_by
    row = view.row(measure.name)
    n = values_in(row) if row else 0
    if not n:
        return
    start = 0.0
    for label in labels:
        count = count_of(view, measure, label)
        if not count:
            continue
        width = count / n
        (segment,) = axes.barh(place, width, _BAR, left=start, **_style(measure, label))
        tell(segment, f"{name_of(view)}, {label.title}: {count:,} of {n:,} ({number(100 * width)} %)")
        if width >= _ROOM:
            box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
            text = axes.text(start + width / 2, place, f"{count:,}", ha="center", va="center", bbox=box)
            text.set_fontsize(LETTERS_PT)
        start += width


def _style(measure: Measure, label: ScoreLabel) -> dict[str, Any]:
    """The same in every report: by the label's place among those of its measure."""
    names = [one.name for one in measure.labels]
    place = names.index(label.name) if label.name in names else len(names)
    last = place >= len(names) - 1
    colour = GREY if last else _COLORS[place % len(_COLORS)]
    hatch = "" if last else _HATCHES[place // len(_COLORS) % len(_HATCHES)]
    return {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}


def _dress(axes: Axes, names: Sequence[str], measure: Measure) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_yticks(range(len(names)), names, fontsize=LETTERS_PT)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    axes.set_xlabel(f"{printable(measure.spoken)}, %")
    axes.grid(axis="x", color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)


def _key(figure: Figure, measure: Measure, labels: Sequence[ScoreLabel], columns: int) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(**_patch(_style(measure, label)), label=printable(label.title)) for label in labels]
    place: dict[str, Any] = {"loc": "outside upper left", "ncols": columns, "handlelength": 1.5}
    figure.legend(handles=handles, fontsize=LETTERS_PT, columnspacing=1.2, **place)


def _patch(style: dict[str, Any]) -> dict[str, Any]:
    return {"facecolor": style["color"], **{name: style[name] for name in ("hatch", "edgecolor", "linewidth")}}
