"""What evaluators asked of models: the evaluation's cost, not the system's."""

from __future__ import annotations

from collections.abc import Iterable

from harness.display import Entry, Table, ValueGroup, counted, printable
from harness.registry import EVALUATORS
from harness.report.aggregates import part, plain
from harness.report.view import Group, RunView
from harness.statistics import Aggregate
from harness.statistics.scoring_cost import PREFIX


def judge_table(group: Group) -> Table | None:
    """What was asked of judges; None where nobody was asked."""
    header: tuple[str, ...] = ("system", "evaluator", "models", "scores", "model calls", "paid before")
    header += ("input tokens", "output tokens", "USD", "seconds")
    rows = tuple(row for view in group.views for row in _judged(view))
    return Table("judges", "Judges", header, rows) if rows else None


def judges_left(group: Group) -> str:
    """Which evaluators that ask a judge did not score any run of a group, and what they would take; empty where
    all did.
    """
    scored = {one.evaluator for view in group.views for one in view.evaluations}
    left = [spec.name for spec in EVALUATORS.load_all()[0] if "judge" in spec.roles and spec.name not in scored]
    if not left:
        return ""
    answers = counted(sum(view.n_answered for view in group.views), "answer")
    first = printable(left[0])
    return (
        f"Not scored here, for they ask a judge: {printable(', '.join(left))}. Each takes a model call or more "
        f"for an answer, and these runs have {answers}. What one takes, as far as earlier judgements tell: "
        f"rag-harness estimate --set evaluators=[{first}]. To score by it: rag-harness evaluate RUN -e {first}."
    )


def _judged(view: RunView) -> Iterable[tuple[Entry, ...]]:
    for evaluation in view.evaluations:
        if not evaluation.models:
            continue
        names = [f"{model.get('provider', '')}/{model.get('model', '')}" for model in evaluation.models.values()]
        scores = [view.row(name) for name in evaluation.measures]
        quantities = ("model_calls", "replayed_calls", "input_tokens", "output_tokens", "usd", "spent_s")
        yield (
            printable(view.label),
            printable(evaluation.evaluator),
            printable(", ".join(names)),
            _with_value([row for row in scores if row]),
            *[plain(view.value(f"{PREFIX}{evaluation.evaluator}_{name}")) for name in quantities],
        )


def _with_value(rows: list[Aggregate]) -> ValueGroup | None:
    """How many of the scores have a value."""
    expected = sum(row.n_expected for row in rows)
    return part(expected - sum(row.n_failed for row in rows), expected) if expected else None
