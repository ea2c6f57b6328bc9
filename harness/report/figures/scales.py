"""How a measure is drawn: shares in per cent from 0 to 100, what lies between 0 and 1 so, anything else as it
comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.display import format_value
from harness.display.text_format import number
from harness.report.aggregates import amount, percent, share
from harness.report.view import Group
from harness.statistics import Aggregate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUARTERS = (0, 0.25, 0.5, 0.75, 1)


@dataclass(frozen=True)
class Scale:
    """The axis of one measure."""

    measure: str
    name: str
    """As a sentence calls it."""
    is_share: bool
    is_unit: bool
    """Every value lies between 0 and 1."""

    @classmethod
    def of(cls, group: Group, measure: str) -> Scale:
        """From the definition of the metric; for an unknown metric, from its values."""
        known = group.known.get(measure)
        values = [value for view in group.views if (value := view.value(measure)) is not None]
        bounded = known.range == (0.0, 1.0) if known and known.range else False
        is_share = known.is_share if known else False
        inside = bool(values) and min(values) >= 0 and max(values) <= 1 and measure not in group.costs
        return cls(measure, group.spoken(measure), is_share, is_share or bounded or (known is None and inside))

    @property
    def label(self) -> str:
        """Of an axis."""
        return f"{self.name}, % (95 % CI)" if self.is_share else f"{self.name} (95 % CI)"

    def text(self, row: Aggregate | None, *, interval: bool = False) -> str:
        """A mean as it is printed."""
        if self.is_share:
            return percent(row, interval=interval)
        shown = share(row) if self.is_unit else amount(row)
        return format_value(shown) if interval else number(row.mean if row else None)

    def short(self, mean: float) -> str:
        """A mean above a bar, short: `75`, `66.7`, `0.532`."""
        return f"{round(100 * mean, 1):g}" if self.is_share else number(mean)

    def ticks(self, every: int = 1) -> tuple[list[float], list[str]] | None:
        """Places and names; None: wherever they fall."""
        if not self.is_unit:
            return None
        places = list(_QUARTERS[::every])
        return places, [f"{100 * place:.0f}" if self.is_share else f"{place:g}" for place in places]

    def dress(self, axes: Axes, which: Literal["x", "y"], every: int = 1) -> None:
        """Limits and ticks of the x or the y axis."""
        ticks = self.ticks(every)
        if ticks is None:
            axes.locator_params(axis=which, nbins=5)
            return
        places, names = ticks
        axes.set(**{f"{which}lim": (-0.03, 1.03), f"{which}ticks": places, f"{which}ticklabels": names})
