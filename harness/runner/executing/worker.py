"""The process in which a system runs: `python -m harness.runner.executing.worker`, one phase, then gone.

It reads its `Job` from standard input, then its turns where it is to stay for them, and ends when that closes,
so it never outlives the runner. Events go to the descriptor named by RAG_HARNESS_EVENTS; whatever a library prints
goes to the run's worker.log.
"""

import asyncio
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import psutil

from harness.errors import BudgetReached, ConfigError, HarnessError, StoreError
from harness.models.budget import Amount, Budget
from harness.models.clients import build_chat
from harness.models.embedders import build_embedder, embedder_cache_key
from harness.models.embedding_cache import EmbeddingCache
from harness.models.lending import LendingServer, Lent
from harness.models.metering import LOADING, Meter, current_meter, metered
from harness.models.providers import provider_of
from harness.models.transport import Seam
from harness.models.weights import cache_dir
from harness.outside import cleaned, keep_secret
from harness.protocols import Embedder, System, SystemSpec
from harness.records import (
    OWN_MODELS,
    Cost,
    Evidence,
    Failure,
    Prediction,
    Query,
    RunRecord,
    RunStatus,
    Usage,
)
from harness.registry import SYSTEMS
from harness.runner.costs import cost_of
from harness.runner.executing.clock import latency_limit
from harness.runner.executing.messages import Event, Job, LentJob, Todo, Turn
from harness.runner.executing.runtime import Unnamed, WorkerRuntime
from harness.store import Dialects, IndexDir, Journal, RunDir
from harness.store.index_dir import Corpora

EVENTS_ENV = "RAG_HARNESS_EVENTS"
_PROGRESS_INTERVAL_S = 0.2
_FULL_DISK_BYTES = 1 << 19


class Worker:
    """One phase of one run."""

    def __init__(self, job: Job, events: BinaryIO, turns: "SimpleQueue[Turn] | None" = None) -> None:
        self._job = job
        self._events = events
        self._turns: SimpleQueue[Turn] = turns or SimpleQueue()
        self._run = RunDir(Path(job.results) / job.run_id)
        self._index_dir = IndexDir(Path(job.results), job.index_id)
        self._told_at = 0.0
        self._warned: set[str] = set()
        self._is_elsewhere = False
        self._lending: LendingServer | None = None
        self._embedder_rss_bytes: int | None = None
        self._budget = Budget(job.allowance, lambda role, usage: job.prices[role].usd(usage))

    async def work(self) -> None:
        """Do the phase; every outcome is an event."""
        if self._job.phase == "index":
            await self._index()
        else:
            await self._answer_all()
        self._tell(Event(kind="completed"))

    async def _index(self) -> None:
        corpus = Corpora(Path(self._job.results)).documents(self._job.corpus_digest)
        self._index_dir.begin()
        opened = self._seam(self._journal(self._index_dir.journal_path, shared=True), self._job.servers)
        scope = f"index/{self._job.run_id}" if self._job.is_fresh else "index"
        with self._system(opened) as (system, seam), metered(Meter(scope)) as meter:
            start, cpu = time.monotonic(), time.process_time()
            try:
                stats = await system.index(corpus)
            except Exception:
                if seam.fatal:
                    raise seam.fatal from None
                raise
            wall_s, cpu_s = time.monotonic() - start, time.process_time() - cpu
            cost = self._cost(meter, wall_s, cpu_s)
        if stats.is_elsewhere:
            cost = Cost(wall_s=None, throttled_s=None, usage={OWN_MODELS: Usage(unmetered_calls=1)})
        if seam.fatal:
            raise seam.fatal
        self._tell(Event(kind="indexed", stats=stats, cost=cost))

    async def _answer_all(self) -> None:
        queries = {row.query.query_id: row.query for row in self._run.sample()}
        with self._system(self._seam(self._journal(self._run.journal_path))) as (system, seam):
            with metered(Meter(LOADING)):
                await system.load()
            for index_id in {one.index_id for one in self._job.lent} or {self._job.index_id}:
                IndexDir(Path(self._job.results), index_id).opened()
            turn = Turn(todo=self._job.todo, allowance=self._job.allowance)
            while turn.todo:
                await self._answer_turn(system, seam, queries, turn)
                if not self._job.stays:
                    return
                self._tell(Event(kind="waiting"))
                turn = await asyncio.to_thread(self._turns.get)
                self._budget.renew(turn.allowance)

    async def _answer_turn(self, system: System, seam: Seam, queries: Mapping[str, Query], turn: Turn) -> None:
        waiting = iter(turn.todo)

        async def answer_some() -> None:
            for todo in waiting:
                self._budget.check_time()
                await self._answer_one(system, seam, queries[todo.query_id], todo)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._job.limits.concurrency):
                group.create_task(answer_some())

    async def _answer_one(self, system: System, seam: Seam, query: Query, todo: Todo) -> None:
        self._tell(Event(kind="started", todo=todo))
        meter = Meter(f"answer/{todo.query_id}/{todo.repeat}/{todo.attempt}")
        started_at, start, cpu = datetime.now(UTC).isoformat(), time.monotonic(), time.process_time()

        def extended(left_s: float) -> None:
            self._tell(Event(kind="extended", todo=todo, left_s=left_s))

        prediction, failure, status = await self._predict(system, query, meter, extended)
        if self._lending is not None:
            await self._lending.end(meter)
        if seam.fatal:
            # Nothing that follows could succeed: the run stops here and this query is answered on resume.
            raise seam.fatal
        wall_s, cpu_s = time.monotonic() - start, time.process_time() - cpu
        alone = self._job.limits.concurrency == 1
        record = RunRecord(
            query_id=todo.query_id,
            repeat=todo.repeat,
            status=status,
            prediction=prediction,
            failure=failure,
            cost=self._cost(meter, wall_s, cpu_s if alone else None),
            attempt=todo.attempt,
            started_at=started_at,
        )
        self._run.append_record(record)
        spent = self._budget.spent
        self._tell(Event(kind="finished", todo=todo, status=status, usage=record.cost.usage, spent=spent))

    async def _predict(
        self, system: System, query: Query, meter: Meter, extended: Callable[[float], None]
    ) -> tuple[Prediction | None, Failure | None, RunStatus]:
        limit_s = self._job.limits.query_timeout_s
        with metered(meter):
            try:
                async with latency_limit(limit_s, meter, extended) as deadline:
                    prediction = await system.answer(query)
                if not isinstance(prediction, Prediction):
                    raise TypeError(f"the system returned {type(prediction).__name__}, not a Prediction")
                # Text that no file can hold (half a surrogate pair) is this query's failure, not the run's end.
                prediction.model_dump_json()
                return prediction, None, "ok"
            except HarnessError:
                raise
            except (Exception, SystemExit) as error:
                if isinstance(error, TimeoutError) and deadline.expired():
                    return None, Failure(kind="timeout", message=f"no answer within {limit_s:g} s"), "timeout"
                traceback.print_exc()
                return None, Failure(kind=type(error).__name__, message=_said(error)), "error"

    def _cost(self, meter: Meter, wall_s: float, cpu_s: float | None) -> Cost:
        cost = cost_of(meter, wall_s, cpu_s, self._embedder_rss_bytes)
        # What works elsewhere would be measured by the few megabytes with which this process asks it.
        unseen = {"cpu_s": None, "peak_rss_bytes": None}
        return cost.model_copy(update=unseen) if self._is_elsewhere else cost

    @contextmanager
    def _system(self, seam: Seam) -> Iterator[tuple[System, Seam]]:
        job = self._job
        spec = _known_version(job.system, job.system_version)
        self._is_elsewhere = spec.is_elsewhere
        with closing(seam.journal), self._embedder(seam) as vectors:
            index_params = spec.index_params.model_validate(job.index_params)
            answer_params = spec.answer_params.model_validate(job.answer_params)
            chat = build_chat(job.generator, seam, job.server) if job.generator else None
            self._lending = lending = LendingServer(Lent(chat, _or_none(vectors), seam.stop, self._warn_once))
            runtime = WorkerRuntime(
                index_dir=self._index_dir.store,
                seed=job.seed,
                generator=chat if job.generator else Unnamed("generator"),
                vectors=vectors,
                retrieves_only=job.retrieves_only,
                lending=lending,
                say=self._warn_once,
                answer_style=job.answer_style,
                gold=self._gold() if spec.sees_gold else {},
                tell=self._progress,
                reranks_with=spec.own_reranker(answer_params) if job.phase == "answer" else None,
                entails_by=spec.own_entailment(answer_params) if job.phase == "answer" else None,
            )
            with ExitStack() as opened:
                runtime.lent = {one.route.key: opened.enter_context(self._lent(one, runtime)) for one in job.lent}
                yield opened.enter_context(closing(spec.build(index_params, answer_params, runtime))), seam

    def _lent(self, lent: LentJob, runtime: WorkerRuntime) -> AbstractContextManager[System]:
        """A system that ours hands queries to, over its own index and the same models."""
        spec = _known_version(lent.route.system, lent.system_version)
        answer_params = spec.answer_params.model_validate(lent.answer_params)
        own = replace(
            runtime,
            index_dir=IndexDir(Path(self._job.results), lent.index_id).store,
            gold={},
            reranks_with=spec.own_reranker(answer_params),
            entails_by=spec.own_entailment(answer_params),
        )
        return closing(spec.build(spec.index_params.model_validate(lent.index_params), answer_params, own))

    @contextmanager
    def _embedder(self, seam: Seam) -> Iterator[Embedder | Unnamed]:
        config = self._job.embedder
        if config is None:
            yield Unnamed("embedder")
            return
        # A fresh build shares the cache with itself alone, to go on after a kill.
        key = embedder_cache_key(config) + (f"/{self._job.run_id}" if self._job.is_fresh else "")
        with closing(EmbeddingCache(cache_dir() / "embeddings.sqlite", key, payer=self._job.run_id)) as cache:
            before = psutil.Process().memory_info().rss
            made = build_embedder(config, seam, cache, self._embedding)
            if provider_of(config).encoder is not None:
                self._embedder_rss_bytes = max(0, psutil.Process().memory_info().rss - before)
            yield made

    def _seam(self, journal: Journal, servers: Mapping[str, str] | None = None) -> Seam:
        return Seam(
            journal,
            servers or {},
            dialects=Dialects.under(Path(self._job.results)),
            begun_in=self._run.dialects(),
            noted=self._run.keep_dialect,
            budget=self._budget,
            say=self._say,
        )

    def _journal(self, path: Path, *, shared: bool = False) -> Journal:
        return Journal(path, payer=self._job.run_id, shared=shared, tell=self._warn)

    def _embedding(self, done: int, total: int) -> None:
        self._progress(done, total, "embedding")

    def _gold(self) -> dict[str, Sequence[Evidence]]:
        return {row.query.query_id: row.reference.evidence for row in self._run.sample()}

    def _progress(self, done: int, total: int, doing: str) -> None:
        if time.monotonic() - self._told_at > _PROGRESS_INTERVAL_S or done == total:
            self._told_at = time.monotonic()
            usage, spent = current_meter().usage, self._budget.spent
            self._tell(Event(kind="progress", done=done, total=total, doing=doing, usage=usage, spent=spent))

    def _say(self, line: str) -> None:
        self._tell(Event(kind="said", what=line))

    def _warn_once(self, line: str) -> None:
        if line not in self._warned:
            self._warned.add(line)
            self._warn(line)

    def _warn(self, line: str) -> None:
        self._tell(Event(kind="warned", what=line))

    def _tell(self, event: Event) -> None:
        self._events.write(event.model_dump_json().encode() + b"\n")
        self._events.flush()


def _known_version(name: str, version: str) -> SystemSpec:
    """The system that the run was planned with."""
    spec = SYSTEMS.load(name)
    if spec.version != version:
        what = f"'{spec.name}' is another version than when this run began"
        raise ConfigError(what, "run the same command again: it is then another run")
    return spec


def _or_none(vectors: Embedder | Unnamed) -> Embedder | None:
    return None if isinstance(vectors, Unnamed) else vectors


def _taken_input() -> BinaryIO:
    """Standard input, for nobody but this module: a system, or what it starts, that reads there finds it empty."""
    ours = os.fdopen(os.dup(0), "rb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return ours


def _die_with_parent(lines: BinaryIO, turns: "SimpleQueue[Turn]") -> None:
    """End as soon as the runner's pipe closes: it is gone, or wants us gone. Until then it brings turns."""
    for line in lines:
        turns.put(Turn.model_validate_json(line))
    os._exit(1)


def _first_harness_error(error: BaseException) -> HarnessError | None:
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _first_harness_error(inner))), None)
    return error if isinstance(error, HarnessError) else None


def _event_of(error: HarnessError) -> Event:
    if isinstance(error, BudgetReached):
        return Event(kind="stopped", what=error.what, needed=Amount(usd=error.usd, tokens=error.tokens))
    return Event(kind="refused", what=error.what, fix=error.fix)


def _said(error: BaseException) -> str:
    """The error's message on a line, in bounds."""
    return " ".join(cleaned(str(error)).split())[:2000]


def _full_disk(results: Path) -> HarnessError | None:
    """A library's own words for a full disk differ; the disk itself tells."""
    if shutil.disk_usage(results).free > _FULL_DISK_BYTES:
        return None
    return StoreError(f"no space left on the disk of {results}", "free some, then run the same command again")


def main() -> None:
    """Read the job, do it, say how it went."""
    lines = _taken_input()
    job = Job.model_validate_json(lines.readline())
    keep_secret(*job.key_names)
    turns: SimpleQueue[Turn] = SimpleQueue()
    threading.Thread(target=_die_with_parent, args=(lines, turns), daemon=True).start()
    with os.fdopen(int(os.environ[EVENTS_ENV]), "wb") as events:
        try:
            asyncio.run(Worker(job, events, turns).work())
        except Exception as error:
            known = _first_harness_error(error) or _full_disk(Path(job.results))
            if known:
                event = _event_of(known)
            else:
                traceback.print_exc()
                inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
                event = Event(kind="broken", what=f"{type(inner).__name__}: {_said(inner)[:500]}")
            events.write(event.model_dump_json().encode() + b"\n")
    # Libraries leave threads behind; everything worth keeping is on the disk.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
