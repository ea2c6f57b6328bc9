"""The figure of a card: how each measure correlates with people, and people with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.display import Drawing
from harness.display.plotting import GREY, PALETTE, WIDTH_IN, NewFigure, tell
from harness.extensions.meta_evaluation.card.tables import SHOWN, spoken_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.extensions.meta_evaluation.card.build import Card, DimensionCard, MeasureValidity
    from harness.statistics.correlation import Coefficient

_ROW_IN, _FRAME_IN = 0.21, 1.0
_OURS, _JUDGED, _STORED = PALETTE[0], PALETTE[5], GREY


def card_drawing(card: Card, new_figure: NewFigure) -> Drawing | None:
    """A panel for each dimension; None if no metric has a coefficient. Call it inside `plotting()`."""
    shown = [(one, [w for w in one.measures if _of(one, w).value is not None][:SHOWN]) for one in card.dimensions]
    shown = [(one, worths) for one, worths in shown if worths]
    if not shown:
        return None
    tall = sum(_FRAME_IN + _ROW_IN * len(worths) for _, worths in shown)
    figure = new_figure(figsize=(WIDTH_IN, tall), layout="constrained")
    heights = [_FRAME_IN + _ROW_IN * len(worths) for _, worths in shown]
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights})
    for panel, (one, worths) in zip(panels[:, 0], shown, strict=True):
        _draw(panel, one, worths)
    people = any(one.has_people for one, _ in shown)
    panels[-1, 0].set_xlabel("Pearson's correlation with one person" if people else "Pearson's correlation")
    best = "; ".join(f"{one.name}: {w[0].measure.name} {spoken_value(_of(one, w[0]))}" for one, w in shown)
    held = "one person at a time" if people else "the person who labelled"
    caption = (
        f"{card.values.title}. Pearson's correlation with {held}, 95 % intervals by question; the {SHOWN} "
        "strongest of each. The grey band is one person with another. Grey marks came with the set, orange "
        "ones are judged."
    )
    return Drawing(
        "correlations", f"{card.values.title}: measures and people", caption, f"{caption} {best}.", figure
    )


def _of(one: DimensionCard, worth: MeasureValidity) -> Coefficient:
    return worth.one if one.has_people else worth.mean.pearson


def _draw(panel: Axes, one: DimensionCard, worths: list[MeasureValidity]) -> None:
    people = one.people.pearson if one.has_people else None
    if people is not None and people.value is not None:
        if people.interval.low is not None and people.interval.high is not None:
            panel.axvspan(people.interval.low, people.interval.high, color=GREY, alpha=0.15, linewidth=0)
        panel.axvline(people.value, color=GREY, linewidth=1)
    for place, worth in enumerate(worths):
        found = _of(one, worth)
        if found.value is None:
            continue
        colour = _JUDGED if worth.measure.is_judged else _OURS if worth.measure.evaluator else _STORED
        low, high = found.interval
        if low is not None and high is not None:
            panel.plot([low, high], [place, place], color=colour, linewidth=1.2)
        (mark,) = panel.plot([found.value], [place], "o", color=colour, markersize=4)
        tell(mark, f"{worth.measure.name}: {spoken_value(found)}, n = {worth.n}")
    panel.axvline(0, color=GREY, linewidth=0.5)
    panel.set_yticks(range(len(worths)), [worth.measure.name for worth in worths])
    panel.invert_yaxis()
    panel.set_title(f"{one.name}: {one.asked}", loc="left")
