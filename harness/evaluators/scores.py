"""Constructors for graded metrics, and for scores of a case, with a reason."""

from typing import Any

from harness.core.records import Score, ScoreStatus
from harness.core.sanitize import without_keys
from harness.protocols import Measure, Panel, PanelFigure, ScoringInput

LONGEST_EXPLANATION = 240


def graded(name: str, title: str, summary: str, figure: PanelFigure, **more: Any) -> Measure:
    """A metric from 0 to 1 of answerable queries, drawn in this figure; `more` are further or other fields."""
    usual = {"failure_value": 0.0, "queries": "answerable", "range": (0.0, 1.0), "panel": Panel(figure)}
    return Measure(name=name, title=title, summary=summary, **{**usual, **more})


def scored(
    case: ScoringInput, measure: Measure, value: float, explanation: str = "", share_read: float | None = None
) -> Score:
    """A score with a value; ValueError for NaN and infinity. `share_read`: see `Score`."""
    score = make_score(_key(case, measure), "scored", explanation, float(value))
    return score if share_read is None else Score(**{**dict(score), "share_read": share_read})


def labelled(case: ScoringInput, measure: Measure, label: str, explanation: str) -> Score:
    """Value 1 of a metric with labels: the answer has this label."""
    return make_score(_key(case, measure), "scored", explanation, 1.0, label)


def failed(case: ScoringInput, measure: Measure, reason: str) -> Score:
    """The evaluator or its judge could not compute the score: no value, and the reason."""
    return make_score(_key(case, measure), "failed", reason)


def not_applicable(case: ScoringInput, measure: Measure, reason: str) -> Score:
    return make_score(_key(case, measure), "not_applicable", reason)


def make_score(
    key: tuple[str, int, str], status: ScoreStatus, explanation: str, value: float | None = None, label: str = ""
) -> Score:
    """The score of (query_id, repeat, metric), with a shortened explanation."""
    query_id, repeat, measure = key
    return Score(
        query_id=query_id,
        repeat=repeat,
        measure=measure,
        status=status,
        value=value,
        explanation=bounded(explanation, LONGEST_EXPLANATION),
        label=label,
    )


def bounded(text: str, longest: int) -> str:
    """`text` on one line, without API keys, cut to `longest` characters."""
    line = " ".join(without_keys(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _key(case: ScoringInput, measure: Measure) -> tuple[str, int, str]:
    return case.record.query_id, case.record.repeat, measure.name
