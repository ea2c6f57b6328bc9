"""Scores a run on the machines of a cluster: workers score shards of its answers, with judge calls made here;
scores are returned in order, as if they were made here.
"""

import asyncio
import threading
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
from harness.extensions.ray.worker_pool import TurnWorker, WorkerPool, WorkQueue, raise_first_error
from harness.models.budget import Allowance
from harness.runner.costs import cost_together, usage_together
from harness.runner.evaluating.evaluate import Scoring, Tell, is_worth_a_worker
from harness.runner.evaluating.models import EvaluationModels
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.runner.executing.messages import AnswersScored, QueryTask, ScoringJob, ScoringTurn
from harness.runner.executing.resources import Sampler
from harness.runner.executing.worker_supervisor import WorkerEnd, WorkerEnvironment
from harness.store import RunDir

_LEAST = 4  # Minimum answers per turn of a worker, while there are enough.
_MOST_LOST = 5  # Consecutive workers that may be lost before any of them scores anything.


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


@dataclass(frozen=True)
class _Shard:
    """What a worker made of consecutive queries."""

    n_queries: int
    scored: AnswersScored


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
        self._begin(())

    def _begin(self, queries: Sequence[str]) -> None:
        self._costs: list[Cost] = []
        self._paid: dict[str, Usage] = {}
        self._n_lost = 0
        self._positions = {query_id: position for position, query_id in enumerate(queries)}
        self._n_workers = max(1, min(self._options.n_workers, len(queries) // _LEAST))
        todo = [QueryTask(query_id=query_id, repeat=0, attempt=0) for query_id in queries]
        self._queue = WorkQueue(todo, self._n_workers, _LEAST)
        self._shards: dict[int, _Shard] = {}
        """By the position of their first query."""

    async def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        self._models.begin(run.run_id)
        queries = RunAnswers(run).query_ids
        self._begin(queries)
        n_handed_over = 0
        with ThreadPoolExecutor(self._n_workers) as pool:
            threads = [pool.submit(self._score_all, run) for _ in range(self._n_workers)]
            try:
                while n_handed_over < len(queries):
                    await asyncio.sleep(0.05)
                    raise_first_error(threads)
                    while (shard := self._shards.pop(n_handed_over, None)) is not None:
                        n_handed_over += shard.n_queries
                        self._costs.append(shard.scored.cost)
                        self._paid = usage_together([self._paid, shard.scored.paid])
                        self._tell(n_handed_over, len(queries), f"answers, {self._n_workers} workers")
                        yield list(shard.scored.scores)
            except BaseException:
                self._workers.stop()
                raise
            finally:
                self._queue.close()

    @property
    def paid(self) -> Mapping[str, Usage]:
        return self._paid

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        del cpu_s
        return cost_together(self._costs, wall_s)

    def leave(self) -> None:
        for worker in self._idle:
            worker.leave()

    def _score_all(self, run: RunDir) -> None:
        while todo := self._queue.take():
            if self._models.budget.time_is_over:
                raise BudgetExhausted("the time is over")
            worker = self._idle_or_new()
            turn = ScoringTurn(of_run=str(run.path.resolve()), todo=tuple(todo))
            scored, outcome = worker.result_of(turn)
            if worker.is_waiting:
                with self._lock:
                    self._idle.append(worker)
            if scored is not None:
                self._n_lost = 0
                self._shards[self._positions[todo[0].query_id]] = _Shard(len(todo), scored)
            else:
                self._lose(run, todo, outcome)

    def _idle_or_new(self) -> TurnWorker[AnswersScored]:
        with self._lock:
            while self._idle:
                if (worker := self._idle.pop()).is_waiting:
                    return worker
        return TurnWorker(self._job, self._environment, AnswersScored)

    def _lose(self, run: RunDir, todo: Sequence[QueryTask], outcome: WorkerEnd) -> None:
        """Let other workers score what a lost one did not."""
        if not outcome.is_lost:
            what = f"an evaluator's worker is gone: {outcome.death or 'it ended too soon'}"
            raise HarnessError(what, f"look into {self._options.log}")
        self._n_lost += 1
        if self._n_lost >= _MOST_LOST:
            raise HarnessError(outcome.death, "check the cluster, then run the same command again: it resumes")
        self._options.warn(f"{run.run_id}: {outcome.death}; other workers continue")
        self._queue.give_back(todo)
