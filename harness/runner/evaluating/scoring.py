"""Scores the answers of runs with one evaluator, in this process or through an executor."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.core.records import Cost, Score, Usage
from harness.evaluators.run_answers import RunAnswers
from harness.evaluators.run_scoring import Scorer
from harness.models.budget import Budget
from harness.runner.costs import cost_of
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import PlannedEvaluator
from harness.store import RunDir

Tell = Callable[[int, int, str], None]


class Scoring(Protocol):
    """Applies one evaluator to the runs of a command, one after another."""

    def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        """All scores of a run, sorted, in parts. On a HarnessError the scores of that run are discarded."""
        ...

    @property
    def paid(self) -> Mapping[str, Usage]:
        """Paid usage of the current run so far, by role."""
        ...

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        """The cost of the current run. `wall_s` None: the process was suspended meanwhile."""
        ...


RemoteScoring = Callable[[PlannedEvaluator, EvaluationModels, Tell], AbstractContextManager[Scoring] | None]
"""Scores on other machines; returns None for an evaluator that this process should run."""


def is_worth_a_worker(planned: PlannedEvaluator) -> bool:
    """Whether a remote worker is useful. Evaluators without a model or weights finish before it starts."""
    return bool(planned.spec.roles or planned.weights)


def no_executor(_planned: PlannedEvaluator, _models: EvaluationModels, _tell: Tell) -> None:
    """A `RemoteScoring` that leaves all scoring to this process."""


@dataclass(frozen=True)
class LocalScoring:
    scorer: Scorer
    runtime: MeteredEvaluation
    budget: Budget

    async def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        self.runtime.begin(run.run_id)
        refused = self.budget.n_refused
        async for scores in RunAnswers(run).scored(self.scorer, self.runtime.begin_part):
            if self.budget.refusal and self.budget.n_refused > refused:
                # Some evaluators catch this error and record failed scores. It is not a failure of the judge.
                raise self.budget.refusal
            yield scores

    @property
    def paid(self) -> Mapping[str, Usage]:
        return self.runtime.meter.paid

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        return cost_of(self.runtime.meter, wall_s, cpu_s)
