"""BERTScore of contexts and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.figures.marks import Runs, alt_of, runs_with
from harness.report.figures.panels import (
    Layout,
    Panel,
    draw_panels,
    how_to_read,
    panels_with_values,
    sentences,
    tight,
)
from harness.report.plotting import Drawing
from harness.report.view import Group

if TYPE_CHECKING:
    from harness.report.plotting import NewFigure

_PARTS = {"precision": "precision", "recall": "recall", "f1": "F1"}
_CONTEXTS = {"context": "contexts", "text": "contexts without triplets"}
_ANSWERS = {"answer": "answers"}


def draw_bertscore(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Precision, recall and F1 of the contexts against the evidence, and of the answers against the references."""
    contexts = _draw(group, new_figure, _CONTEXTS, "contexts against the gold evidence")
    return contexts + _draw(group, new_figure, _ANSWERS, "answers against the references")


def _draw(group: Group, new_figure: NewFigure, sides: dict[str, str], of_what: str) -> list[Drawing]:
    every = {side: _panels(side, shown) for side, shown in sides.items()}
    runs = runs_with(group, [panel.measure for panels in every.values() for panel in panels])
    if "text" in every and not _differ(runs):
        del every["text"]
    panels = panels_with_values(runs, [panel for of_side in every.values() for panel in of_side])
    if not panels:
        return []
    stem = f"bertscore_{next(iter(sides))}"
    figure = draw_panels(new_figure, runs, panels, Layout("BERTScore (95 % CI)", tight(runs, panels)))
    caption = (
        f"BERTScore of the {of_what}; higher is better. {how_to_read(runs, panels)} "
        "The axis begins where the values do, not at 0."
    )
    title = f"BERTScore: {of_what}"
    return [Drawing(stem, title, caption, alt_of(sentences(runs, panels)), figure)]


def _panels(side: str, shown: str) -> list[Panel]:
    return [Panel(f"{shown}\n{name}", f"bertscore_{side}_{part}") for part, name in _PARTS.items()]


def _differ(runs: Runs) -> bool:
    """Whether any run has triplets among its contexts: else both are the same numbers."""
    return any(
        view.value(f"bertscore_context_{part}") != view.value(f"bertscore_text_{part}")
        for _, view in runs
        for part in _PARTS
    )
