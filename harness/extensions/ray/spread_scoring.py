"""Scores a run on the machines of a cluster: workers score shards of its answers, with judge calls made here;
scores are returned in order, as if they were made here.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.config import LimitsConfig
from harness.core.errors import BudgetExhausted, HarnessError
from harness.core.records import Cost, Score, Usage
from harness.core.sanitize import secret_names
from harness.evaluators.run_answers import RunAnswers
from harness.extensions.ray.remote_worker import StartWorker
from harness.extensions.ray.worker_pool import (
    MOST_LOST,
    TurnWorker,
    WorkerPool,
    WorkQueue,
    cluster_lost,
    raise_first_error,
)
from harness.models.budget import Allowance
from harness.runner.costs import cost_together, usage_together
from harness.runner.evaluating.evaluate import Scoring, Tell, is_worth_a_worker
from harness.runner.evaluating.models import EvaluationModels
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.runner.executing.messages import AnswersScored, QueryTask, ScoringJob, ScoringTurn
from harness.runner.executing.resources import Sampler
from harness.runner.executing.worker_supervisor import WorkerEnvironment
from harness.store import RunDir

_LEAST = 4  # Minimum answers per turn of a worker, while there are enough.


@dataclass(frozen=True)
class SpreadScoring:
    """How evaluations are distributed: see `harness.runner.evaluating.evaluate.RemoteScoring`."""

    plan: EvaluationPlan
    results: Path
    make: StartWorker
    n_workers: int
    warn: Callable[[str], None]

    @property
    def log(self) -> Path:
        return self.results / "judge" / "workers.log"

    def __call__(
        self, planned: PlannedEvaluator, models: EvaluationModels, tell: Tell
    ) -> AbstractContextManager[Scoring] | None:
        """None for an evaluator that is not spread."""
        return self._scoring(planned, models, tell) if is_worth_a_worker(planned) else None

    @contextmanager
    def _scoring(self, planned: PlannedEvaluator, models: EvaluationModels, tell: Tell) -> Iterator[Scoring]:
        roles = planned.spec.roles
        server = models.server if self.plan.judge.role in roles else None
        job = ScoringJob(
            results=str(self.results.resolve()),
            limits=LimitsConfig(),
            key_names=secret_names(),
            evaluator=planned.spec.name,
            version=planned.spec.version,
            params=planned.params.model_dump(mode="json"),
            judge=self.plan.judge,
            embedder=self.plan.embedder,
            concurrency=models.concurrency,
        )
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with (
            WorkerPool(self.make, self.n_workers, Allowance()) as pool,
            pool.serving(lambda loop: models.call_server(roles, server, loop)) as (_, launch),
        ):
            environment = WorkerEnvironment(self.log, Sampler(), lock_fd=-1, launch=launch)
            scoring = _Elsewhere(self, job, environment, pool, models, tell)
            try:
                yield scoring
            except BaseException:
                pool.stop()
                raise
            finally:
                scoring.leave()


class _Elsewhere:
    """One evaluator on the workers, which are reused from run to run."""

    def __init__(
        self,
        options: SpreadScoring,
        job: ScoringJob,
        environment: WorkerEnvironment,
        workers: WorkerPool,
        models: EvaluationModels,
        tell: Tell,
    ) -> None:
        self._options, self._job, self._environment = options, job, environment
        self._workers, self._models, self._tell = workers, models, tell
        self._idle: list[TurnWorker[AnswersScored]] = []
        self._lock = threading.Lock()
        self._n_lost = 0
        """Consecutive workers that were lost."""
        self._costs: list[Cost] = []
        self._paid: dict[str, Usage] = {}

    async def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        self._models.begin(run.run_id)
        self._costs, self._paid, self._n_lost = [], {}, 0
        todo = [QueryTask(query_id=one, repeat=0, attempt=0) for one in RunAnswers(run).query_ids]
        n_workers = max(1, min(self._options.n_workers, len(todo) // _LEAST))
        shards = list(iter(WorkQueue(todo, n_workers, _LEAST).take, []))
        n_handed_over = 0
        with ThreadPoolExecutor(n_workers) as pool:
            scorings = deque(pool.submit(self._score, run, shard) for shard in shards)
            try:
                for shard in shards:
                    while not scorings[0].done():
                        raise_first_error(scorings)
                        await asyncio.sleep(0.05)
                    raise_first_error(scorings)
                    scored = scorings.popleft().result()
                    n_handed_over += len(shard)
                    self._costs.append(scored.cost)
                    self._paid = usage_together([self._paid, scored.paid])
                    self._tell(n_handed_over, len(todo), f"answers, {n_workers} workers")
                    yield list(scored.scores)
            except BaseException:
                self._workers.stop()
                raise
            finally:
                for scoring in scorings:
                    scoring.cancel()

    @property
    def paid(self) -> Mapping[str, Usage]:
        return self._paid

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        del cpu_s
        return cost_together(self._costs, wall_s)

    def leave(self) -> None:
        for worker in self._idle:
            worker.leave()

    def _score(self, run: RunDir, todo: Sequence[QueryTask]) -> AnswersScored:
        """Another worker scores what a lost one did not."""
        turn = ScoringTurn(of_run=str(run.path.resolve()), todo=tuple(todo))
        while True:
            if self._models.budget.time_is_over:
                raise BudgetExhausted("the time is over")
            worker = self._idle_or_new()
            scored, outcome = worker.result_of(turn)
            if worker.is_waiting:
                with self._lock:
                    self._idle.append(worker)
            if scored is not None:
                self._n_lost = 0
                return scored
            if not outcome.is_lost:
                what = f"an evaluator's worker is gone: {outcome.death or 'it ended too soon'}"
                raise HarnessError(what, f"look into {self._options.log}")
            self._n_lost += 1
            if self._n_lost >= MOST_LOST:
                raise cluster_lost(outcome)
            self._options.warn(f"{run.run_id}: {outcome.death}; other workers continue")

    def _idle_or_new(self) -> TurnWorker[AnswersScored]:
        with self._lock:
            while self._idle:
                if (worker := self._idle.pop()).is_waiting:
                    return worker
        return TurnWorker(self._job, self._environment, AnswersScored)
