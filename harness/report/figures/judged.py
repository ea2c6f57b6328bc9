"""What judges made of contexts and answers: RAGAS, triplets, RAG-Eval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.figures.marks import alt_of, runs_with
from harness.report.figures.panels import Layout, Panel, draw_panels, how_to_read, panels_with_values, sentences
from harness.report.plotting import Drawing
from harness.report.view import Group

if TYPE_CHECKING:
    from harness.report.plotting import NewFigure

_PANELS = {
    "ragas": {
        "context_precision": "context precision",
        "context_precision_no_reference": "context precision, no reference",
        "context_recall": "context recall",
        "context_relevance": "context relevance",
        "faithfulness": "faithfulness",
        "factual_correctness": "factual correctness",
        "response_relevancy": "response relevancy",
    },
    "triplet": {
        "faithfulness": "faithfulness",
        "faithfulness_cosine": "faithfulness by cosine",
        "response_relevancy": "response relevancy",
        "factual_correctness": "factual correctness",
        "factual_correctness_cosine": "factual correctness by cosine",
    },
    "rag_eval": {
        "confidence": "confidence (weighted sum)",
        "query_relevance": "query relevance",
        "factual_accuracy": "factual accuracy",
        "coverage": "coverage",
        "coherence": "coherence",
        "fluency": "fluency",
    },
}
_SAYS = {
    "ragas": ("RAGAS", "Scores of RAGAS, by a judge model and its embedder"),
    "triplet": ("Triplets", "Facts as triplets: by a judge's verdict, and by cosine where the title says so"),
    "rag_eval": ("RAG-Eval", "Grades of RAG-Eval as shares of the best grade, by a judge model"),
}


def draw_judged(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A figure for each judging evaluator that has values: a panel for each score."""
    drawn = (_draw(group, new_figure, evaluator) for evaluator in _PANELS)
    return [drawing for drawing in drawn if drawing]


def judged_measures() -> dict[str, list[str]]:
    """Evaluator -> the measures that are drawn."""
    return {evaluator: [panel.measure for panel in _panels(evaluator)] for evaluator in _PANELS}


def _panels(evaluator: str) -> list[Panel]:
    return [Panel(title, f"{evaluator}_{name}") for name, title in _PANELS[evaluator].items()]


def _draw(group: Group, new_figure: NewFigure, evaluator: str) -> Drawing | None:
    runs = runs_with(group, [panel.measure for panel in _panels(evaluator)])
    panels = panels_with_values(runs, _panels(evaluator))
    if not panels:
        return None
    title, says = _SAYS[evaluator]
    figure = draw_panels(new_figure, runs, panels, Layout("score (95 % CI)"))
    caption = f"{says}; higher is better. {how_to_read(runs, panels)}"
    return Drawing(f"judged_{evaluator}", title, caption, alt_of(sentences(runs, panels)), figure)
