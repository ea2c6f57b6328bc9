"""KG-eval's scores by the pair of texts that is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.figures.marks import Runs, alt_of, runs_with
from harness.report.figures.panels import Layout, Panel, draw_panels, how_to_read, panels_with_values, sentences
from harness.report.plotting import Drawing
from harness.report.view import Group

if TYPE_CHECKING:
    from harness.report.plotting import NewFigure

_PAIRS = {
    "context_relevancy": "question in contexts",
    "answer_relevancy": "question in answer",
    "faithfulness": "answer in contexts",
    "factual_correctness": "answer in reference",
}
_SCORES = {
    "multi_hop": "multi-hop",
    "community": "community",
    "direct": "direct",
    "community_coverage": "coverage",
}
_MAIN_SCORES = 2
_MOST_RUNS_WITH_ALL = 5
_EVALUATORS = {"kg": "a judge model", "kg_nlp": "rules on a parse"}


def draw_graph_scores(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """A figure for each of kg and kg_nlp: lines of panels are scores, columns are pairs of texts."""
    drawn = (_draw(group, new_figure, evaluator) for evaluator in _EVALUATORS)
    return [drawing for drawing in drawn if drawing]


def graph_measures(evaluator: str) -> list[str]:
    """The measures that are drawn where there is room for all."""
    return [panel.measure for panel in _panels(evaluator, len(_SCORES))]


def _panels(evaluator: str, n_scores: int) -> list[Panel]:
    return [
        Panel(f"{shown}\n{pair}", f"{evaluator}_{score}_{name}", f"{evaluator}_measurable_{name}")
        for score, shown in list(_SCORES.items())[:n_scores]
        for name, pair in _PAIRS.items()
    ]


def _draw(group: Group, new_figure: NewFigure, evaluator: str) -> Drawing | None:
    runs = runs_with(group, graph_measures(evaluator))
    few = len(runs) <= _MOST_RUNS_WITH_ALL
    panels = panels_with_values(runs, _panels(evaluator, len(_SCORES) if few else _MAIN_SCORES))
    if not panels:
        return None
    pairs = {panel.ceiling for panel in panels}
    figure = draw_panels(new_figure, runs, panels, Layout("score (95 % CI)", columns=len(pairs)))
    caption = (
        f"KG-eval with triplets by {_EVALUATORS[evaluator]}: how much of one text's entities the other's graph "
        f"reaches; higher is better. {how_to_read(runs, panels)}{_ceilings(runs, panels)}"
        f"{'' if few else ' The other scores are in the table.'}"
    )
    title = f"Graph scores, triplets by {_EVALUATORS[evaluator]}"
    return Drawing(f"graph_scores_{evaluator}", title, caption, alt_of(sentences(runs, panels)), figure)


def _ceilings(runs: Runs, panels: list[Panel]) -> str:
    if all(view.value(panel.ceiling) is None for _, view in runs for panel in panels):
        return ""
    return " Grey tick: share of pairs in which both texts have triplets; no mean can be higher."
