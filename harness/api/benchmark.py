"""One config of a command: its runs, and their results."""

from dataclasses import dataclass

from harness.config import BenchConfig
from harness.core.errors import BudgetExhausted
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.evaluate import EvaluationOutcome
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.executing.execute import CellResult
from harness.runner.executor import Executor
from harness.runner.plan import Cell
from harness.runner.race_plan import PlannedRace
from harness.store import RunDir


@dataclass(frozen=True)
class Benchmark:
    """A checked config with its planned runs, and with their results after they ran."""

    config: BenchConfig
    cells: list[Cell]
    unfinished: list[Cell]
    evaluation: EvaluationPlan
    race: PlannedRace | None
    spending: BudgetTracker
    executor: Executor | None
    """Where the runs are executed. None: on this machine, or nothing is left to do."""
    results: tuple[CellResult, ...] = ()
    """Results of the runs, up to the one that the budget stopped."""
    outcome: EvaluationOutcome | None = None
    """None: nothing was scored, because the time was over or scoring was not wanted."""

    @property
    def takes_turns(self) -> bool:
        """Whether the systems answer in turns. By default they do under a budget, so that its end does not leave
        the first run with all answers and the others with none.
        """
        if self.executor is not None or self.race is not None:
            return self.executor is None
        if self.config.schedule is None:
            return self.config.budget.is_limited and len(self.cells) > 1
        return self.config.schedule == "interleaved"

    @property
    def runs(self) -> list[RunDir]:
        return [result.run for result in self.results]

    @property
    def stopped(self) -> BudgetExhausted | None:
        cells = next((result.stopped for result in self.results if result.stopped), None)
        return cells or (self.outcome.stopped if self.outcome else None)

    @property
    def shortened(self) -> str:
        """Queries answered by all interleaved runs when the budget was exhausted: `23 of 40 queries`."""
        held = {
            cell.dataset.digest: (len(cell.dataset.queries) - result.n_left, len(cell.dataset.queries))
            for cell, result in zip(self.cells, self.results, strict=False)
            if result.ended_by
        }
        return ", ".join(f"{n:,} of {of:,} queries" for n, of in held.values())

    @property
    def ended_by(self) -> BudgetExhausted | None:
        return next((result.ended_by for result in self.results if result.ended_by), None)

    @property
    def progress(self) -> str:
        """`3 of 10 queries answered`, and that none is answered by all systems, if they took turns."""
        done = sum(result.n_ok + result.n_error for result in self.results)
        answered = f"{done:,} of {sum(cell.n_answers for cell in self.cells):,} queries answered"
        stopped = [cell for cell, result in zip(self.cells, self.results, strict=False) if result.stopped]
        if not self.takes_turns or not stopped:
            return answered
        return f"0 of {len(stopped[0].dataset.queries):,} queries answered by all systems ({answered})"

    @property
    def failed(self) -> list[CellResult]:
        """Runs whose system failed, or failed at more queries than `runner.failure_tolerance` allows."""
        tolerance = self.config.runner.failure_tolerance
        return [
            one
            for one in self.results
            if one.status == "failed" or (one.n_error and one.n_error / (one.n_ok + one.n_error) > tolerance)
        ]

    @property
    def troubles(self) -> list[str]:
        reached = [f"stopped at the budget ({self.stopped.what}): {self.progress}"] if self.stopped else []
        return [*(one.trouble for one in self.failed), *reached]
