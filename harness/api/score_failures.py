"""Problems of an evaluation that did not stop it."""

from collections.abc import Sequence

from harness.config import BenchConfig
from harness.core.errors import BudgetExhausted, HarnessError
from harness.runner.evaluating.evaluate import EvaluationOutcome

Outcomes = Sequence[tuple[EvaluationOutcome, BenchConfig]]


def troubles(outcomes: Outcomes) -> list[str]:
    """One line per evaluator and run with more failed scores than `runner.failure_tolerance` allows."""
    lines = []
    for outcome, config in outcomes:
        for one in outcome.evaluated:
            total = one.n_counted + one.n_failed
            if one.n_failed and one.n_failed / total > config.runner.failure_tolerance:
                what = f"{one.evaluator} has no value for {one.n_failed:,} of {total:,} scores"
                lines.append(f"{one.run.run_id}: {what} ({one.reason})")
    return lines


def refused(outcomes: Outcomes) -> HarnessError | None:
    """The error of the first evaluator that could not run; None if there is none. A budget stop does not count."""
    errors = (error for outcome, _ in outcomes for _, error in outcome.refusals)
    return next((error for error in errors if not isinstance(error, BudgetExhausted)), None)
