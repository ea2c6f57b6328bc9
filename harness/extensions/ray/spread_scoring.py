"""Scores a run on the machines of a cluster: workers score shards of its answers, with judge calls made here;
scores are returned in order, as if they were made here.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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

_LEAST = 4
"""Minimum answers per turn of a worker, while there are enough."""
_LOOKS_S = 0.05
_MOST_LOST = 5
"""Consecutive workers that may be lost before any of them scores anything."""


@dataclass(frozen=True)
class SpreadScoring:
    """How evaluations are distributed: see `harness.runner.evaluating.evaluate.RemoteScoring`."""

    plan: EvaluationPlan
    results: Path
    make: StartWorker
    n_workers: int
    """Concurrent workers."""
    warn: Callable[[str], None]

    def __call__(
        self, planned: PlannedEvaluator, models: EvaluationModels, tell: Tell
    ) -> AbstractContextManager[Scoring] | None:
        """None for an evaluator that is not spread."""
        return self._scoring(planned, models, tell) if is_worth_a_worker(planned) else None

    @contextmanager
    def _scoring(self, planned: PlannedEvaluator, models: EvaluationModels, tell: Tell) -> Iterator[Scoring]:
        roles = planned.spec.roles
        server = models.server if self.plan.judge.role in roles else None
        log = self.results / "judge" / "workers.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with (
            WorkerPool(self.make, self.n_workers, Allowance()) as workers,
            workers.launcher_with(lambda loop: models.call_server(roles, server, loop)) as launcher,
        ):
            environment = WorkerEnvironment(log, Sampler(), lock_fd=-1, launch=launcher.start)
            scorers = _Scorers(self._job(planned, models), environment, self, workers.stop)
            try:
                yield _Elsewhere(scorers, models, tell)
            except BaseException:
                workers.stop()
                raise
            finally:
                scorers.leave()

    def _job(self, planned: PlannedEvaluator, models: EvaluationModels) -> ScoringJob:
        return ScoringJob(
            results=str(self.results.resolve()),
            limits=LimitsConfig(),
            key_names=secret_names(),
            of_run="",
            evaluator=planned.spec.name,
            version=planned.spec.version,
            params=planned.params.model_dump(mode="json"),
            judge=self.plan.judge,
            embedder=self.plan.embedder,
            concurrency=models.concurrency,
        )


class _Elsewhere:
    def __init__(self, scorers: "_Scorers", models: EvaluationModels, tell: Tell) -> None:
        self._scorers, self._models, self._tell = scorers, models, tell
        self._costs: list[Cost] = []
        self._paid: dict[str, Usage] = {}

    async def parts(self, run: RunDir) -> AsyncIterator[list[Score]]:
        self._models.begin(run.run_id)
        self._costs, self._paid = [], {}
        queries = RunAnswers(run).query_ids
        work = _Work(run, queries, self._scorers, self._models)
        n_handed_over = 0
        with work.under_way():
            while n_handed_over < len(queries):
                await asyncio.sleep(_LOOKS_S)
                work.check()
                while (shard := work.take(n_handed_over)) is not None:
                    n_scored, scores, cost, paid = shard
                    n_handed_over += n_scored
                    self._costs.append(cost)
                    self._paid = usage_together([self._paid, paid])
                    self._tell(n_handed_over, len(queries), f"answers, {work.n_workers} workers")
                    yield list(scores)

    @property
    def paid(self) -> Mapping[str, Usage]:
        return self._paid

    def cost(self, wall_s: float | None, cpu_s: float) -> Cost:
        del cpu_s
        return cost_together(self._costs, wall_s)


_Shard = tuple[int, Sequence[Score], Cost, Mapping[str, Usage]]
"""A worker's scores of so many queries, what they cost, and what was paid."""


class _Scorers:
    """The workers of one evaluator, reused from run to run. Thread-safe."""

    def __init__(
        self, job: ScoringJob, environment: WorkerEnvironment, options: SpreadScoring, stop: Callable[[], None]
    ) -> None:
        """`stop` ends all of them."""
        self.options, self.stop = options, stop
        self._job, self._environment = job, environment
        self._idle: list[TurnWorker[AnswersScored]] = []
        self._lock = threading.Lock()

    def take(self) -> TurnWorker[AnswersScored]:
        """An idle worker, or a new one."""
        with self._lock:
            while self._idle:
                if (scorer := self._idle.pop()).is_waiting:
                    return scorer
        return TurnWorker(self._job, self._environment, AnswersScored)

    def give_back(self, scorer: TurnWorker[AnswersScored]) -> None:
        if scorer.is_waiting:
            with self._lock:
                self._idle.append(scorer)

    def leave(self) -> None:
        for scorer in self._idle:
            scorer.leave()
        self._idle = []


class _Work:
    """One run with one evaluator: workers score its shards, one thread per worker."""

    def __init__(self, run: RunDir, queries: Sequence[str], scorers: _Scorers, models: EvaluationModels) -> None:
        self._run, self._scorers, self._models = run, scorers, models
        self._places = {query_id: place for place, query_id in enumerate(queries)}
        self.n_workers = max(1, min(scorers.options.n_workers, len(queries) // _LEAST))
        todo = [QueryTask(query_id=query_id, repeat=0, attempt=0) for query_id in queries]
        self._queue = WorkQueue(todo, self.n_workers, _LEAST)
        self._scored: dict[int, _Shard] = {}
        self._threads: list[Future[None]] = []
        self._n_lost = 0

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Workers score within this block; at its end none takes more."""
        with ThreadPoolExecutor(self.n_workers) as pool:
            self._threads = [pool.submit(self._score_all) for _ in range(self.n_workers)]
            try:
                yield
            except BaseException:
                self._scorers.stop()
                raise
            finally:
                self._queue.close()

    def check(self) -> None:
        """Raise the error that stopped a worker permanently."""
        raise_first_error(self._threads)

    def take(self, place: int) -> _Shard | None:
        """The shard that begins with the query at that position, once it is scored."""
        return self._scored.pop(place, None)

    def _score_all(self) -> None:
        while todo := self._queue.take():
            if self._models.budget.time_is_over:
                raise BudgetExhausted("the time is over")
            scorer = self._scorers.take()
            turn = ScoringTurn(of_run=str(self._run.path.resolve()), todo=tuple(todo))
            result, outcome = scorer.result_of(turn)
            self._scorers.give_back(scorer)
            if result is not None:
                self._n_lost = 0
                place = self._places[todo[0].query_id]
                self._scored[place] = len(todo), result.scores, result.cost, result.paid
            else:
                self._lose(todo, outcome)

    def _lose(self, todo: Sequence[QueryTask], outcome: WorkerEnd) -> None:
        """Let other workers score what a lost one did not."""
        if not outcome.is_lost:
            fix = f"look into {self._scorers.options.results / 'judge' / 'workers.log'}"
            raise HarnessError(f"an evaluator's worker is gone: {outcome.death or 'it ended too soon'}", fix)
        self._n_lost += 1
        if self._n_lost >= _MOST_LOST:
            raise HarnessError(outcome.death, "check the cluster, then run the same command again: it resumes")
        self._scorers.options.warn(f"{self._run.run_id}: {outcome.death}; other workers continue")
        self._queue.give_back(todo)
