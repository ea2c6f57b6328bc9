"""Elements that all figures share: colour and marker of a run, its name, a dot with its interval, an axis."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.cells import cell_len

from harness.display import NOTHING, NumberForm, Quantity, format_value
from harness.display.number_format import bare
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, NewFigure, tell
from harness.display.text_format import number, printable
from harness.report.quantities import amount, rare, values_in
from harness.report.view import Group, RunView
from harness.statistics.query_values import COSTS
from harness.statistics.run_frame import OVERALL, Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS_PT = 7
_OFTEN = 0.1
"""From this share on, failures are shown in whole per cent."""
_LONGEST_ALT = 270


class RunStyle(NamedTuple):
    """How a run is drawn; marker and line style distinguish it without colours."""

    color: str
    marker: str
    linestyle: str


def style_of(position: int) -> RunStyle:
    """Of the run at that position in its group, 0 first; colour and marker together first repeat after 63 runs."""
    # Yellow, the last colour, is too weak on white for a dot or a line.
    looks = (PALETTE[:-1], ("o", "s", "^", "D", "v", "P", "X", "<", ">"), ("-", "--", ":", "-."))
    return RunStyle(*(kind[position % len(kind)] for kind in looks))


def runs_with(group: Group, measures: Iterable[str]) -> Sequence[RunView]:
    """The runs with an overall value of any of `measures` that was scored as most are."""
    others = {name: group.scored_otherwise(name) for name in measures}
    return [
        view
        for view in group.views
        if any(view.value(name) is not None and view.run.run_id not in apart for name, apart in others.items())
    ]


def name_of(view: RunView) -> str:
    """Its label, with a remark if it is unfinished or fails too often to be called the cheapest."""
    remarks = [] if view.is_complete else ["not finished"]
    if view.fails_too_often:
        share = view.n_errors / view.n_answered
        remarks.append(f"{100 * share:.0f} % failed" if share >= _OFTEN else f"{bare(rare(share))} % failed")
    return f"{view.label} ({', '.join(remarks)})" if remarks else view.label


def cells(text: str) -> int:
    """How wide the widest line is, in letters; a Chinese character is as wide as two."""
    return max(map(cell_len, text.splitlines() or [""]))


def wrapped(name: str, width: int = 32) -> str:
    """A name on at most three lines that are about `width` letters wide."""
    narrower = max(4, width * len(name) // max(cells(name), 1))
    return textwrap.fill(name, narrower, max_lines=3, placeholder=" …")


def row_height(names: Sequence[str]) -> float:
    """Height of a row in inches at which names do not overlap."""
    return 0.08 + 0.12 * max(name.count("\n") + 1 for name in names)


def dress_rows(axes: Axes, n_rows: int, *, grid: Literal["x", "both"] = "x", below: float = 0.4) -> None:
    """Rows from the top, with lines at their ticks; `below`: the room under the last one."""
    axes.set_ylim(n_rows - below, -(1 - below))
    axes.grid(axis=grid, color=LIGHT, linewidth=0.6)
    axes.tick_params(axis="y", length=0)


def names_of(views: Iterable[RunView], width: int = 28) -> list[str]:
    return [wrapped(name_of(view), width) for view in views]


def row_figure(
    new_figure: NewFigure,
    names: Sequence[str],
    *,
    besides_in: float,
    row_in: float = 0.0,
    width_in: float = WIDTH_IN,
    ratios: Sequence[float] = (1.0,),
    **rows: Any,
) -> tuple[Figure, list[Axes]]:
    """A named row for each run or pair, and panels side by side. `rows`: see `dress_rows`."""
    height = besides_in + max(row_in, row_height(names)) * len(names)
    figure = new_figure(figsize=(width_in, height), layout="constrained")
    panels = list(figure.subplots(1, len(ratios), sharey=True, squeeze=False, width_ratios=ratios)[0])
    for axes in panels:
        dress_rows(axes, len(names), **rows)
    panels[0].set_yticks(range(len(names)), names, fontsize=LETTERS_PT)
    return figure, panels


def panel_grid(
    new_figure: NewFigure, n: int, columns: int, height_in: float, line_in: float
) -> tuple[Figure, list[Axes]]:
    """n panels, so many beside each other; `line_in`: how much each line of them adds to the height."""
    lines = -(-n // columns)
    figure = new_figure(figsize=(WIDTH_IN, height_in + line_in * lines), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in panels[n:]:
        axes.remove()
    return figure, panels[:n]


def unit_ticks(axes: Axes, side: Literal["x", "y"]) -> None:
    """From 0 to 1, with room for the marks at both ends."""
    ticks = {"lim": (-0.03, 1.03), "ticks": (0, 0.5, 1), "ticklabels": ("0", "0.5", "1")}
    axes.set(**{f"{side}{name}": value for name, value in ticks.items()})


def key_above(figure: Figure, looks: Mapping[str, Mapping[str, Any]], letters: int = 105, **style: Any) -> None:
    from matplotlib.patches import Patch

    legend(figure, [Patch(**look) for look in looks.values()], [*looks], letters, **style)


def legend(figure: Figure, handles: Sequence[Any], names: Sequence[str], letters: int, **style: Any) -> None:
    """Beside the panels. matplotlib leaves names out that begin with an underscore."""
    shown = [f" {name}" if name.startswith("_") else name for name in names]
    place = {"loc": "outside upper left", "ncols": columns_of(names, letters)}
    figure.legend(handles, shown, **{**place, **style})


def interval_of(row: Aggregate) -> tuple[float, float] | None:
    if row.mean is None or row.ci_low is None or row.ci_high is None:
        return None
    return min(row.ci_low, row.mean), max(row.ci_high, row.mean)


def n_of(rows: Iterable[Aggregate | None]) -> str:
    """Over how many values the means of `rows` are: `22`, or `13 to 22`."""
    counts = sorted({values_in(row) for row in rows if row and row.mean is not None}) or [0]
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def counted_in(views: Iterable[RunView]) -> str:
    """The unit of n: `queries`, or `answers` if queries were repeated."""
    return "answers" if any(view.frame.repeats > 1 for view in views) else "queries"


def queries_of(views: Iterable[RunView], rows: Iterable[Aggregate | None]) -> str:
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


def dot_rows(
    axes: Axes,
    rows: Iterable[tuple[Aggregate | None, RunView]],
    beside: Callable[[Aggregate], str] | None = None,
    **style: Any,
) -> None:
    """From the top the mean of each row, drawn as that run, or a dash, and `beside` it a text."""
    of_row: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": LETTERS_PT}
    for height, (row, view) in enumerate(rows):
        if row is None or row.mean is None:
            axes.text(0.5, height, NOTHING, ha="center", color=GREY, **of_row)
            continue
        dot(axes, row, height, style_of(view.position))
        if beside:
            axes.text(1.03, height, beside(row), **of_row, **style)


def tip_of(row: Aggregate) -> str:
    """`0.533 [0.42, 0.64], n = 40`: the tooltip of a mean."""
    return f"{format_value(amount(row))}, n = {n_of([row])}"


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


def extremes(title: str, runs: Sequence[RunView], measure: str, query_type: str = OVERALL) -> str:
    """`title: 0.41 (naive) to 0.72 (kg).`, for an alt text; over finished runs, if there are any."""
    finished = [view for view in runs if view.is_complete] or runs
    rows = ((view.row(measure, query_type), view.label) for view in finished)
    values = [(row.mean, printable(label, 40)) for row, label in rows if row is not None and row.mean is not None]
    if not values:
        return ""
    low, high = min(values, key=lambda one: one[0]), max(values, key=lambda one: one[0])
    if low[0] == high[0]:
        return f"{title}: {low[0]:.2f}{' each' if len(values) > 1 else ''}."
    return f"{title}: {low[0]:.2f} ({low[1]}) to {high[0]:.2f} ({high[1]})."


@dataclass(frozen=True)
class Scale:
    """The axis of one measure. Of an unknown metric its values tell whether it lies between 0 and 1."""

    measure: str
    name: str
    is_share: bool
    is_unit: bool

    @classmethod
    def of(cls, group: Group, measure: str) -> Scale:
        known = group.known.get(measure)
        values = [value for view in group.views if (value := view.value(measure)) is not None]
        bounded = known.range == (0.0, 1.0) if known and known.range else False
        is_share = known.is_share if known else False
        inside = bool(values) and min(values) >= 0 and max(values) <= 1 and measure not in COSTS
        is_unit = is_share or bounded or (known is None and inside)
        return cls(measure, group.display_name(measure), is_share, is_unit)

    @property
    def label(self) -> str:
        return f"{self.name}, % (95 % CI)" if self.is_share else f"{self.name} (95 % CI)"

    @property
    def title(self) -> str:
        return f"{self.name[:1].upper()}{self.name[1:]}"

    def text(self, row: Aggregate | None, *, interval: bool = False) -> str:
        """A mean as it is printed: `77.0`, or `77.0 [70.7, 82.3]`."""
        unit: NumberForm = "%" if self.is_share else "share" if self.is_unit else ""
        shown = Quantity(row.mean, row.ci_low, row.ci_high, unit=unit) if row else Quantity(None)
        return format_value(shown) if interval else bare(shown)

    def short(self, row: Aggregate) -> str:
        """A mean as few letters: `75`, `66.7`, `0.532`."""
        return f"{round(100 * (row.mean or 0.0), 1):g}" if self.is_share else number(row.mean)

    def dress(self, axes: Axes, every: int = 1) -> None:
        if not self.is_unit:
            axes.locator_params(axis="x", nbins=5)
            return
        places = (0, 0.25, 0.5, 0.75, 1)[::every]
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks(places, [f"{100 * place:.0f}" if self.is_share else f"{place:g}" for place in places])
