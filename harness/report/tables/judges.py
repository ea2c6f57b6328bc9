"""What evaluators asked of models: the evaluation's cost, not the system's."""

from __future__ import annotations

from collections.abc import Iterable

from harness.analysis import Aggregate
from harness.analysis.judging import PREFIX
from harness.report.nouns import Table
from harness.report.text import NOTHING, number, printable
from harness.report.view import Group, RunView


def judge_table(group: Group) -> Table | None:
    """What was asked of judges; None where nobody was asked."""
    header: tuple[str, ...] = (
        "system",
        "evaluator",
        "models",
        "scores",
        "model calls",
        "paid before",
        "input tokens",
    )
    header += ("output tokens", "USD", "seconds")
    rows = tuple(row for view in group.views for row in _judged(view))
    return Table("judges", "Judges", header, rows) if rows else None


def _judged(view: RunView) -> Iterable[tuple[str, ...]]:
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
            *[number(view.value(f"{PREFIX}{evaluation.evaluator}_{name}")) for name in quantities],
        )


def _with_value(rows: list[Aggregate]) -> str:
    """How many of the scores have a value."""
    expected = sum(row.n_expected for row in rows)
    return f"{expected - sum(row.n_failed for row in rows):,} of {expected:,}" if expected else NOTHING
