"""Evaluators over runs: each run's scores are written whole, with what made them beside them."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from harness.asking.loops import run_to_end
from harness.errors import BudgetReached, HarnessError
from harness.evaluators.base import Scorer, score_run_dir
from harness.models.budget import Budget
from harness.records import EvaluationRecord, Score
from harness.runner.costs import cost_of
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.runner.progress import Priced, Reporter
from harness.runner.spending import Spending
from harness.store import RunDir


@dataclass(frozen=True)
class Evaluated:
    """What became of one evaluator on one run."""

    run: RunDir
    evaluator: str
    n_counted: int = 0
    """Scores with a value."""
    n_failed: int = 0
    """Scores without one although there is an answer."""
    reason: str = ""
    """Why the first of them has none."""

    def with_more(self, scores: Sequence[Score]) -> Self:
        """And what became of these."""
        failed = [score for score in scores if score.status == "failed"]
        counted = sum(score.value is not None for score in scores)
        return replace(
            self,
            n_counted=self.n_counted + counted,
            n_failed=self.n_failed + len(failed),
            reason=self.reason or (failed[0].explanation if failed else ""),
        )


@dataclass(frozen=True)
class EvaluationOutcome:
    """What became of an evaluation."""

    evaluated: tuple[Evaluated, ...]
    refusals: tuple[tuple[str, HarnessError], ...]
    """Evaluators that could not work at all, with the reason; the others went on."""

    @property
    def stopped(self) -> BudgetReached | None:
        """What the budget could not hold; the evaluators that asked for it have written nothing for that run."""
        return next((error for _, error in self.refusals if isinstance(error, BudgetReached)), None)


def evaluate_runs(
    runs: Sequence[RunDir],
    plan: EvaluationPlan,
    results: Path,
    reporter: Reporter,
    priced: Priced,
    spending: Spending | None = None,
) -> EvaluationOutcome:
    """Score every run with every evaluator and write the scores; the outcome says what could not be scored.

    `spending` stops judgements before a budget is passed.
    """
    evaluation = _Evaluation(runs, plan, reporter, priced, spending or Spending.unlimited())
    return run_to_end(lambda: evaluation.run(results / "judge"))


class _Evaluation:
    """The evaluators of one command, one after another, each over all of its runs."""

    def __init__(
        self,
        runs: Sequence[RunDir],
        plan: EvaluationPlan,
        reporter: Reporter,
        priced: Priced,
        spending: Spending,
    ) -> None:
        self._runs, self._plan = runs, plan
        self._reporter, self._priced, self._spending = reporter, priced, spending
        spending.count()
        prices = spending.prices_of(plan.models)
        self._budget = Budget(spending.allowance(), lambda role, usage: prices[role].usd(usage))

    async def run(self, folder: Path) -> EvaluationOutcome:
        evaluated: list[Evaluated] = []
        refusals: list[tuple[str, HarnessError]] = []
        with ExitStack() as stack:
            models = EvaluationModels(self._plan, folder, self._reporter, stack, self._budget)
            try:
                for planned in self._plan.evaluators:
                    try:
                        evaluated += await self._score_all(planned, models)
                    except HarnessError as error:
                        refusals.append((planned.spec.name, error))
            finally:
                await models.disconnect()
        return EvaluationOutcome(tuple(evaluated), tuple(refusals))

    async def _score_all(self, planned: PlannedEvaluator, models: EvaluationModels) -> list[Evaluated]:
        name = planned.spec.name
        with self._reporter.bar(f"evaluate: {name}") as bar:

            def tell(done: int, total: int, doing: str) -> None:
                usd = self._priced(runtime.meter.paid)
                note = self._spending.note(self._budget.spent) or (f"${usd:.4f}" if usd else "")
                bar.update(done, total, f"{doing}, {note}" if note else doing)

            runtime = MeteredEvaluation(models, tell)
            with closing(planned.spec.build(planned.params, runtime)) as evaluator:
                scorer = Scorer(name, planned.measures, evaluator)
                return [await self._score(run, planned, scorer, runtime) for run in self._runs]

    async def _score(
        self, run: RunDir, planned: PlannedEvaluator, scorer: Scorer, runtime: MeteredEvaluation
    ) -> Evaluated:
        with run.exclusive():
            runtime.begin(run.run_id)
            self._budget.check_time()
            began, refused = (time.monotonic(), time.process_time()), self._budget.n_refused
            found = Evaluated(run, scorer.name)
            with run.scores_to_write(scorer.name) as written:
                async for scores in score_run_dir(run, scorer, runtime.begin_part):
                    if self._budget.refusal and self._budget.n_refused > refused:
                        # An evaluator that made failed scores of it: the judge has failed at nothing.
                        raise self._budget.refusal
                    written.add(scores)
                    found = found.with_more(scores)
                written.close(self._record(planned, scorer, runtime, began))
        return found

    def _record(
        self, planned: PlannedEvaluator, scorer: Scorer, runtime: MeteredEvaluation, began: tuple[float, float]
    ) -> EvaluationRecord:
        """What made the scores; `began`: by the clock, and in processor time."""
        start, cpu = began
        return EvaluationRecord(
            evaluator=scorer.name,
            version=planned.spec.version,
            params=planned.params.model_dump(mode="json"),
            models={
                role: runtime.identity(role, model)
                for role, model in self._plan.models.items()
                if role in planned.spec.roles
            },
            weights=planned.weights,
            measures=tuple(measure.name for measure in scorer.measures),
            binary=tuple(measure.name for measure in scorer.measures if measure.binary),
            twins={measure.name: measure.twin_of for measure in scorer.measures if measure.twin_of},
            cost=cost_of(runtime.meter, time.monotonic() - start, time.process_time() - cpu),
        )
