"""Runs evaluators over saved runs. The scores of a run are written atomically, with the settings used."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

from harness.core.current_process import Stopwatch
from harness.core.errors import BudgetExhausted, HarnessError
from harness.core.records import NO_ROW, Cost, EvaluationRecord, Score, Usage
from harness.evaluators.run_answers import RunAnswers
from harness.evaluators.run_scoring import Scorer
from harness.llm_utils.concurrency import run_to_end
from harness.models.budget import Budget
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.costs import cost_of
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.runner.progress import Reporter
from harness.statistics.prices import usage_usd
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


@dataclass(frozen=True)
class Evaluated:
    run: RunDir
    evaluator: str
    n_counted: int = 0
    n_failed: int = 0
    """Number of scores that failed although there is an answer."""
    reason: str = ""

    def with_more(self, scores: Sequence[Score]) -> Self:
        failed = [
            score for score in scores if score.status == "failed" and not score.explanation.startswith(NO_ROW)
        ]
        counted = sum(score.value is not None for score in scores)
        return replace(
            self,
            n_counted=self.n_counted + counted,
            n_failed=self.n_failed + len(failed),
            reason=self.reason or (failed[0].explanation if failed else ""),
        )


@dataclass(frozen=True)
class EvaluationOutcome:
    evaluated: tuple[Evaluated, ...]
    refusals: tuple[tuple[str, HarnessError], ...]
    """Evaluators that could not run at all, with the reason; the others continued."""
    failure_tolerance: float

    @property
    def stopped(self) -> BudgetExhausted | None:
        """The budget limit that was reached; the evaluators it stopped have written nothing for that run."""
        return next((error for _, error in self.refusals if isinstance(error, BudgetExhausted)), None)

    @property
    def refused(self) -> HarnessError | None:
        """The error of the first evaluator that could not run. A budget stop does not count."""
        return next((error for _, error in self.refusals if not isinstance(error, BudgetExhausted)), None)

    @property
    def troubles(self) -> list[str]:
        """One line per evaluator and run with more failed scores than are tolerated."""
        lines = []
        for one in self.evaluated:
            total = one.n_counted + one.n_failed
            if one.n_failed and one.n_failed / total > self.failure_tolerance:
                what = f"{one.evaluator} has no value for {one.n_failed:,} of {total:,} scores"
                lines.append(f"{one.run.run_id}: {what} ({one.reason})")
        return lines


def evaluate_runs(
    runs: Sequence[RunDir],
    plan: EvaluationPlan,
    results: Path,
    reporter: Reporter,
    spending: BudgetTracker | None = None,
    elsewhere: RemoteScoring | None = None,
    *,
    keep_final: bool = False,
) -> EvaluationOutcome:
    """Score every run with every evaluator and write the scores. The outcome lists what could not be scored.

    `spending` stops judgements before a budget is exceeded; `elsewhere` may score on other machines.
    `keep_final`: do not repeat what an evaluator without a model has already scored in the same way, without
    failures, over the same records.
    """
    spending = spending or BudgetTracker.unlimited()
    spending.count()
    budget = spending.budget(plan.models)
    evaluation = _Evaluation(runs, plan, reporter, spending, budget, elsewhere, keep_final)
    return run_to_end(lambda: evaluation.run(results / "judge"))


@dataclass(frozen=True)
class _Evaluation:
    """The evaluators of one command, one after another, each over all of its runs."""

    runs: Sequence[RunDir]
    plan: EvaluationPlan
    reporter: Reporter
    spending: BudgetTracker
    budget: Budget
    elsewhere: RemoteScoring | None
    keep_final: bool

    async def run(self, folder: Path) -> EvaluationOutcome:
        evaluated: list[Evaluated] = []
        refusals: list[tuple[str, HarnessError]] = []
        with ExitStack() as stack:
            models = EvaluationModels(self.plan, folder, self.reporter, stack, self.budget)
            try:
                for planned in self.plan.evaluators:
                    try:
                        evaluated += await self._score_all(planned, models)
                    except HarnessError as error:
                        refusals.append((planned.spec.name, error))
            finally:
                await models.disconnect()
        return EvaluationOutcome(tuple(evaluated), tuple(refusals), self.plan.failure_tolerance)

    def _is_final(self, run: RunDir, planned: PlannedEvaluator) -> bool:
        """Whether an evaluator without a model has scored these records in the same way, without failures."""
        checksum = run.records_checksum()
        if not checksum or planned.spec.roles:
            return False
        return any(one.records == checksum and self.plan.would_make(planned, one) for one in run.evaluations())

    async def _score_all(self, planned: PlannedEvaluator, models: EvaluationModels) -> list[Evaluated]:
        runs = [run for run in self.runs if not (self.keep_final and self._is_final(run, planned))]
        if not runs:
            return []
        found: list[Evaluated] = []
        scoring: Scoring | None = None
        with self.reporter.bar(f"evaluate: {planned.spec.name}") as bar:

            def tell(done: int, total: int, doing: str) -> None:
                usd = usage_usd(self.spending.prices, self.plan.models, scoring.paid) if scoring else None
                which = f"run {len(found) + 1} of {len(runs)}" if len(runs) > 1 else ""
                note = ", ".join(filter(None, (doing, which, self.spending.note(self.budget.spent, usd))))
                bar.update(done, total, note, self.spending.seconds_left())

            with self._scoring(planned, models, tell) as scoring:
                for run in runs:
                    bar.update(len(found), len(runs), "runs scored")
                    found.append(await self._score(run, planned, scoring, models))
        return found

    @contextmanager
    def _scoring(self, planned: PlannedEvaluator, models: EvaluationModels, tell: Tell) -> Iterator[Scoring]:
        if self.elsewhere and (there := self.elsewhere(planned, models, tell)):
            with there as scoring:
                yield scoring
            return
        runtime = MeteredEvaluation(models, tell)
        with closing(planned.spec.build(planned.params, runtime)) as evaluator:
            scorer = Scorer(planned.spec.name, planned.measures, evaluator)
            yield LocalScoring(scorer, runtime, self.budget)

    async def _score(
        self, run: RunDir, planned: PlannedEvaluator, scoring: Scoring, models: EvaluationModels
    ) -> Evaluated:
        name = planned.spec.name
        with run.exclusive():
            self.budget.check_time()
            watch = Stopwatch()
            evaluated = Evaluated(run, name)
            with run.scores_to_write(name) as written:
                async for scores in scoring.parts(run):
                    written.add(scores)
                    evaluated = evaluated.with_more(scores)
                cost = scoring.cost(watch.wall_s, watch.cpu_s)
                record = self._record(planned, models, cost)
                checksum = "" if evaluated.n_failed else run.records_checksum()
                written.close(record.model_copy(update={"records": checksum}))
        return evaluated

    def _record(self, planned: PlannedEvaluator, models: EvaluationModels, cost: Cost) -> EvaluationRecord:
        return EvaluationRecord(
            evaluator=planned.spec.name,
            version=planned.spec.version,
            params=planned.params.model_dump(mode="json"),
            models={role: models.identity(role, model) for role, model in self.plan.models_of(planned).items()},
            weights=planned.weights,
            measures=tuple(measure.name for measure in planned.measures),
            binary=tuple(measure.name for measure in planned.measures if measure.binary),
            twins={measure.name: measure.twin_of for measure in planned.measures if measure.twin_of},
            cost=cost,
        )
