"""Who scores the answers of runs with one evaluator: this process, or whoever stands in for it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.core.records import Cost, Score, Usage
from harness.evaluators.base import Scorer
from harness.evaluators.run_answers import RunAnswers
from harness.models.budget import Budget
from harness.runner.costs import cost_of
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import PlannedEvaluator
from harness.store import RunDir

Tell = Callable[[int, int, str], None]
"""tell(done, total, doing): how far the evaluation is."""


class Scoring(Protocol):
    """One evaluator of a command, over all of its runs, one by one."""

    def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        """Every score of a run, sorted, a part of its answers at a time. Raises HarnessError where nothing more
        can be scored: then nothing of that run counts.
        """
        ...

    @property
    def paid(self) -> Mapping[str, Usage]:
        """What was paid for the current run so far, by role."""
        ...

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        """Of the current run, after so many seconds of this process; None: it was suspended meanwhile."""
        ...


Elsewhere = Callable[[PlannedEvaluator, EvaluationModels, Tell], AbstractContextManager[Scoring] | None]
"""Who scores in place of this process; None: nobody, for that evaluator."""


def is_worth_a_worker(planned: PlannedEvaluator) -> bool:
    """Evaluators without a model or weights finish here before a remote worker has started."""
    return bool(planned.spec.roles or planned.weights)


def no_executor(_planned: PlannedEvaluator, _models: EvaluationModels, _tell: Tell) -> None:
    """For `Elsewhere`: this process scores."""


@dataclass(frozen=True)
class ScoringHere:
    """See `Scoring`."""

    scorer: Scorer
    runtime: MeteredEvaluation
    budget: Budget

    async def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        """See `Scoring`."""
        self.runtime.begin(run.run_id)
        refused = self.budget.n_refused
        async for scores in RunAnswers(run).scored(self.scorer, self.runtime.begin_part):
            if self.budget.refusal and self.budget.n_refused > refused:
                # An evaluator that made failed scores of it: the judge has failed at nothing.
                raise self.budget.refusal
            yield scores

    @property
    def paid(self) -> Mapping[str, Usage]:
        """See `Scoring`."""
        return self.runtime.meter.paid

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        """See `Scoring`."""
        return cost_of(self.runtime.meter, wall_s, cpu_s)
