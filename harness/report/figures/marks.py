"""Elements that all figures share: colour and marker of a run, its name, a dot with its interval."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from harness.display import Quantity, format_value
from harness.display.number_format import bare
from harness.display.plotting import PALETTE, tell
from harness.display.text_format import printable
from harness.report.aggregates import rare
from harness.report.view import Group, RunView
from harness.statistics import OVERALL, Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Yellow is too weak on white for a dot or a line.
_COLORS = PALETTE[:-1]
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_HATCHES = ("", "///", "\\\\\\", "---", "xxx")
_LINESTYLES = ("-", "--", ":", "-.")
_LONGEST_ALT = 270

DrawnRuns = Sequence[tuple[int, RunView]]
"""Runs that a figure shows, each with its place in the group: it looks the same in every figure."""


@dataclass(frozen=True)
class RunStyle:
    """How a run is drawn; marker, hatch and line style distinguish it without colours."""

    color: str
    marker: str
    hatch: str
    linestyle: str


def style_of(number: int) -> RunStyle:
    """Of the run at that place of its group, 0 first; colour and marker together first repeat after 63 runs."""
    looks = (_COLORS, _MARKERS, _HATCHES, _LINESTYLES)
    return RunStyle(*(kind[number % len(kind)] for kind in looks))


def runs_with(group: Group, measures: Iterable[str]) -> DrawnRuns:
    """The runs with an overall value of any of `measures`, without those that were scored in another way than
    most.
    """
    others = {name: group.scored_otherwise(name) for name in measures}
    return [
        (number, view)
        for number, view in enumerate(group.views)
        if any(view.value(name) is not None and view.run.run_id not in apart for name, apart in others.items())
    ]


def name_of(view: RunView) -> str:
    """Its label, with a remark if it is unfinished or fails too often to be called the cheapest."""
    remarks = [] if view.is_complete else ["not finished"]
    if view.fails_too_often:
        remarks.append(f"{bare(rare(view.n_errors / view.n_answered))} % failed")
    return f"{view.label} ({', '.join(remarks)})" if remarks else view.label


def cells(text: str) -> int:
    """How wide the widest line is, in letters; a Chinese character is as wide as two."""
    lines = text.splitlines() or [""]
    return max(sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line) for line in lines)


def wrapped(name: str, width: int = 32) -> str:
    """A name on at most three lines that are about `width` letters wide."""
    narrower = max(4, width * len(name) // max(cells(name), 1))
    return textwrap.fill(name, narrower, max_lines=3, placeholder=" …")


def interval_of(row: Aggregate) -> tuple[float, float] | None:
    """The limits of the 95 % interval; None if there is none."""
    if row.mean is None or row.ci_low is None or row.ci_high is None:
        return None
    return min(row.ci_low, row.mean), max(row.ci_high, row.mean)


def n_of(rows: Iterable[Aggregate | None]) -> str:
    """Over how many values the means of `rows` are: `22`, or `13 to 22`."""
    counts = sorted({row.n_scored + row.n_imputed for row in rows if row and row.mean is not None}) or [0]
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def counted_in(views: Iterable[RunView]) -> str:
    """The unit of n: `queries`, or `answers` if queries were repeated."""
    return "answers" if any(view.frame.repeats > 1 for view in views) else "queries"


def queries_of(views: Iterable[RunView], rows: Iterable[Aggregate | None]) -> str:
    """`n = 22 queries`, `n = 44 answers`."""
    return f"n = {n_of(rows)} {counted_in(views)}"


def dot(axes: Axes, row: Aggregate, height: float, look: RunStyle) -> None:
    """The mean of `row` as a marker on a line that is its interval, at `height`; nothing without a mean."""
    if row.mean is None:
        return
    limits = interval_of(row)
    if limits:
        axes.plot(limits, [height, height], color=look.color, linewidth=1.1)
    style: dict[str, Any] = {"marker": look.marker, "markersize": 4.5, "color": look.color}
    (marker,) = axes.plot(row.mean, height, clip_on=False, zorder=3, **style)
    tell(marker, tip_of(row))


def tip_of(row: Aggregate) -> str:
    """`0.533 [0.42, 0.64], n = 40`: the tooltip of a mean."""
    return f"{format_value(Quantity(row.mean, row.ci_low, row.ci_high))}, n = {n_of([row])}"


def key_of(runs: DrawnRuns, texts: Sequence[str] = ()) -> tuple[list[Any], list[str]]:
    """Handles and names of a legend; `texts` instead of the runs' names."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=(look := style_of(number)).color, marker=look.marker, linestyle="", markersize=4.5)
        for number, _ in runs
    ]
    return handles, legend_names(texts or [name_of(view) for _, view in runs])


def legend_names(names: Iterable[str]) -> list[str]:
    """Names that a legend shows: matplotlib leaves those out that begin with an underscore."""
    return [f" {name}" if name.startswith("_") else name for name in names]


def columns_of(names: Sequence[str], letters: int) -> int:
    """In how many columns a legend that is `letters` wide shows `names`; a key and its space take about 6."""
    widths = [cells(name) + 6 for name in names]
    return len(names) if sum(widths) <= letters else max(1, letters // max(widths))


def alt_of(sentences: Iterable[str]) -> str:
    """As many of `sentences` as `_LONGEST_ALT` characters hold, and how many more there are."""
    said: list[str] = []
    left_out = 0
    for sentence in sentences:
        if left_out or (said and len(" ".join([*said, sentence])) > _LONGEST_ALT):
            left_out += 1
        else:
            said.append(printable(sentence, _LONGEST_ALT))
    return " ".join([*said, *([f"{left_out} more in the table."] if left_out else [])])


def extremes(title: str, runs: DrawnRuns, measure: str, query_type: str = OVERALL) -> str:
    """`title: 0.41 (naive) to 0.72 (kg).`, for an alt text; over finished runs, if there are any."""
    finished = [view for _, view in runs if view.is_complete] or [view for _, view in runs]
    rows = ((view.row(measure, query_type), view.label) for view in finished)
    values = [(row.mean, printable(label, 40)) for row, label in rows if row is not None and row.mean is not None]
    if not values:
        return ""
    low, high = min(values, key=itemgetter(0)), max(values, key=itemgetter(0))
    if low[0] == high[0]:
        return f"{title}: {low[0]:.2f}{' each' if len(values) > 1 else ''}."
    return f"{title}: {low[0]:.2f} ({low[1]}) to {high[0]:.2f} ({high[1]})."
