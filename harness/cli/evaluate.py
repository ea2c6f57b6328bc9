"""`rag-harness evaluate`, and the messages about the evaluation at the end of `run`."""

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness.api.evaluating import EvaluateOptions, evaluate_all, needs_child_process
from harness.cli.child_process import run_in_child
from harness.cli.console import complain, open_console, same_command
from harness.core.current_process import count_stops
from harness.core.errors import EXIT_BUDGET, EXIT_DONE, EXIT_TOLERANCE, BudgetExhausted, RunInterrupted
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.evaluate import EvaluationOutcome
from harness.store import find_runs


def evaluate_named(names: Sequence[str], options: EvaluateOptions, *, as_json: bool) -> int:
    """Score the named runs and print the scores. Returns the exit code."""
    runs = find_runs(options.results, names)
    if needs_child_process(runs, options) and (code := run_in_child()) is not None:
        return code
    with resumable("all paid judgements are kept"):
        evaluation = evaluate_all(runs, options)
    if as_json:
        columns = ("evaluator", "n_counted", "n_failed", "reason")
        shown = [
            {"run_id": one.run.run_id, **{name: getattr(one, name) for name in columns}}
            for outcome in evaluation.outcomes
            for one in outcome.evaluated
        ]
        refusals = [
            {"evaluator": name, "reason": str(error)}
            for outcome in evaluation.outcomes
            for name, error in outcome.refusals
        ]
        sys.stdout.write(json.dumps({"evaluations": shown, "refusals": refusals}) + "\n")
    else:
        from harness.report import load_chapters, render_terminal

        render_terminal(load_chapters(runs, evaluation.spending.prices), open_console())
    code = conclude(evaluation.outcomes)
    if evaluation.stopped:
        return say_stopped(evaluation.stopped, evaluation.spending, "judgements are unfinished")
    return code


@contextmanager
def resumable(kept: str) -> Iterator[None]:
    """On Ctrl-C or SIGTERM raise RunInterrupted with a message that says what is kept and how to resume."""
    count_stops()
    ends = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise RunInterrupted(f"interrupted; {kept}. To resume: {same_command()}") from None
    finally:
        signal.signal(signal.SIGTERM, ends)


def conclude(outcomes: Sequence[EvaluationOutcome]) -> int:
    """Print each scoring problem and return the exit code. Raises the error of an evaluator that could not run.

    An evaluator stopped by the budget raises nothing; `say_stopped` reports it.
    """
    lines = [line for outcome in outcomes for line in outcome.troubles]
    for line in lines:
        # Printed even with --quiet, because it explains the exit code.
        complain(f"{line}. All judgements are kept. To retry: {same_command()}")
    for outcome in outcomes:
        if outcome.refused:
            raise outcome.refused
    return EXIT_TOLERANCE if lines else EXIT_DONE


def say_stopped(exhausted: BudgetExhausted, spending: BudgetTracker, progress: str) -> int:
    """Print, even with `--quiet`, that the budget stopped the command and how to resume. Returns the exit code."""
    go_on = " ".join(filter(None, (same_command(), spending.flags_for_larger(exhausted))))
    complain(
        f"stopped at the budget ({exhausted.what}): {spending.report()}; {progress}. All paid results are kept. "
        f"To resume: {go_on}"
    )
    return EXIT_BUDGET
