"""The process in which a system runs one phase: `python -m harness.runner.executing.worker`. On another machine it
may score answers or extract triplets instead (`harness.runner.executing.remote_workers`).

It reads its job from standard input, then one turn after another. It ends when standard input closes, so it never
outlives the runner. Events go to the file descriptor in RAG_HARNESS_EVENTS; the
output of libraries goes to the run's worker.log.
"""

import asyncio
import gc
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter

from harness.core.current_process import Stopwatch, count_stops
from harness.core.errors import BudgetExhausted, HarnessError, StoreError
from harness.core.records import OWN_MODELS, Cost, Query, Usage
from harness.core.sanitize import keep_secret
from harness.models.budget import Amount, Budget
from harness.models.clients import AnyCallContext
from harness.models.metering import Meter, current_meter, metered
from harness.models.remote_calls import RemoteCallContext
from harness.registry import SYSTEMS
from harness.runner.executing.messages import (
    AnswerTurn,
    AnyJob,
    ExtractionJob,
    IndexBuilt,
    IndexTurn,
    Job,
    JobWorker,
    OutputLine,
    Progress,
    QueryFinished,
    QueryStarted,
    QueryTask,
    ScoringJob,
    WorkerFailed,
    read_message_to_worker,
)
from harness.runner.executing.query_time_limit import SuspendableLoop
from harness.runner.executing.system_loader import OpenedSystem, error_text, open_calls, open_system
from harness.runner.executing.worker_supervisor import EVENTS_ENV
from harness.store import IndexDir, RunDir, indexes_of
from harness.store.index_dir import Corpora
from harness.store.record_lines import RecordWriter

_PROGRESS_INTERVAL_S = 0.2
_FULL_DISK_BYTES = 1 << 19
_READ_ELSEWHERE = "several workers extracted its texts in parallel, so its time is not that of one process."


class Worker(JobWorker):
    def __init__(self, job: Job, events: BinaryIO) -> None:
        super().__init__(events)
        self._job = job
        self._run = RunDir(Path(job.results) / job.run_id)
        self._records = RecordWriter(self._run.append_records)
        self._progress_at = 0.0
        self._warned: set[str] = set()
        self._budget = Budget(job.allowance, job.prices)

    async def work(self) -> None:
        if self._job.phase == "answer":
            await self._answer_all()
        else:
            async for _ in self.turns(IndexTurn):
                await self._index()

    async def _index(self) -> None:
        corpus = Corpora(Path(self._job.results)).documents(self._job.corpus_digest)
        IndexDir(Path(self._job.results), self._job.system.index_id).begin()
        call_context = self._call_context()
        scope = f"index/{self._job.run_id}" if self._job.is_fresh else "index"
        if self._job.n_readers:
            from harness.extraction.remote_extraction import READERS
            from harness.runner.executing.remote_workers import RelayedReaders

            READERS.set(RelayedReaders(self._job.n_readers, self.remote_calls))
        with self._system(call_context) as opened, metered(Meter(scope)) as meter:
            watch = Stopwatch()
            try:
                stats = await opened.system.index(corpus)
            except Exception:
                if call_context.fatal:
                    raise call_context.fatal from None
                raise
            cost = opened.cost(meter, watch.wall_s, watch.cpu_s + meter.cpu_elsewhere_s)
        if meter.cpu_elsewhere_s:
            stats = stats.model_copy(update={"notes": (*stats.notes, _READ_ELSEWHERE)})
        if stats.is_elsewhere:
            cost = Cost(wall_s=None, throttled_s=None, usage={OWN_MODELS: Usage(unmetered_calls=1)})
        if call_context.fatal:
            raise call_context.fatal
        self.send(IndexBuilt(stats=stats, cost=cost))

    async def _answer_all(self) -> None:
        queries = {row.query.query_id: row.query for row in self._run.sample()}
        with self._system(self._call_context()) as opened:
            await opened.load()
            # On other machines, the process that started the workers does this.
            if not self._job.is_relayed:
                routed = (one.index_id for one in self._job.routed.values())
                for index in indexes_of(Path(self._job.results), self._job.system.index_id, routed):
                    index.opened()
            # Loaded modules and indexes stay in memory. Scanning them in each garbage collection would stop every
            # query for about a tenth of a second.
            gc.collect()
            gc.freeze()
            async for turn in self.turns(AnswerTurn):
                if turn.allowance is not None:
                    self._budget.renew(turn.allowance)
                await self._answer_turn(opened, queries, turn)

    async def _answer_turn(self, opened: OpenedSystem, queries: Mapping[str, Query], turn: AnswerTurn) -> None:
        waiting = iter(turn.todo)

        async def answer_some() -> None:
            for todo in waiting:
                self._budget.check_time()
                await self._answer_one(opened, queries[todo.query_id], todo)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._job.limits.concurrency):
                group.create_task(answer_some())

    async def _answer_one(self, opened: OpenedSystem, query: Query, todo: QueryTask) -> None:
        def is_left(left_s: float) -> None:
            self.send(QueryStarted(todo=todo, left_s=left_s))

        limits = self._job.limits
        is_left(limits.query_timeout_s)
        # A fatal error, such as a refused key, stops the run; this query is answered on resume.
        record = await opened.record(
            query, todo, limits.query_timeout_s, is_left, is_alone=limits.concurrency == 1
        )
        status, usage = record.status, record.cost.usage
        if self._job.is_relayed:
            self.send(QueryFinished(todo=todo, status=status, usage=usage, record=record))
        else:
            await self._records.append(record)
            self.send(QueryFinished(todo=todo, status=status, usage=usage, spent=self._budget.spent))

    def _system(self, call_context: AnyCallContext) -> AbstractContextManager[OpenedSystem]:
        sees_gold = SYSTEMS.load(self._job.system.name).sees_gold
        return open_system(
            self._job,
            call_context,
            payer=self._job.run_id,
            warn=self._warn_once,
            progress=self._progress,
            gold={row.query.query_id: row.reference.evidence for row in self._run.sample()} if sees_gold else {},
            has_answers=self._job.phase == "answer"
            and any(one.status == "ok" for one in self._run.iter_records()),
        )

    def _call_context(self) -> AnyCallContext:
        if self._job.is_relayed:
            return RemoteCallContext(self.remote_calls)
        return open_calls(
            self._job,
            budget=self._budget,
            say=lambda line: self.send(OutputLine(line=line)),
            warn=self._warn,
        )

    def _progress(self, done: int, total: int, doing: str) -> None:
        if time.monotonic() - self._progress_at > _PROGRESS_INTERVAL_S or done == total:
            self._progress_at = time.monotonic()
            usage, spent = current_meter().usage, self._budget.spent
            self.send(Progress(done=done, total=total, doing=doing, usage=usage, spent=spent))

    def _warn_once(self, line: str) -> None:
        if line not in self._warned:
            self._warned.add(line)
            self._warn(line)

    def _warn(self, line: str) -> None:
        self.send(OutputLine(line=line, is_warning=True))


def _taken_input() -> BinaryIO:
    """Standard input, reserved for this module: systems and their child processes find it empty."""
    ours = os.fdopen(os.dup(0), "rb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return ours


def _die_with_parent(lines: BinaryIO, worker: JobWorker) -> None:
    """Pass on messages of the runner; exit when its pipe closes."""
    for line in lines:
        worker.handle(read_message_to_worker(line))
    os._exit(1)


def _first_harness_error(error: BaseException) -> HarnessError | None:
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_first_harness_error, error.exceptions)), None)
    return error if isinstance(error, HarnessError) else None


def failure_of(error: BaseException) -> WorkerFailed:
    """The event of an error that ends a worker."""
    known = _first_harness_error(error)
    if known is None:
        inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
        return WorkerFailed(why="system", what=f"{type(inner).__name__}: {error_text(inner)[:500]}")
    if isinstance(known, BudgetExhausted):
        needed = Amount(usd=known.usd, tokens=known.tokens)
        return WorkerFailed(why="budget", what=known.what, needed=needed)
    return WorkerFailed(why="user", what=known.what, fix=known.fix)


def _full_disk(results: Path) -> HarnessError | None:
    """An error if the disk is full. Libraries report it in different ways, so the free space is checked."""
    if shutil.disk_usage(results).free > _FULL_DISK_BYTES:
        return None
    return StoreError(f"no space left on the disk of {results}", "free some, then run the same command again")


def worker_of(job: AnyJob, events: BinaryIO) -> JobWorker:
    if isinstance(job, ScoringJob):
        from harness.runner.executing.remote_workers import ScoringWorker

        return ScoringWorker(job, events)
    if isinstance(job, ExtractionJob):
        from harness.runner.executing.remote_workers import ExtractionWorker

        return ExtractionWorker(events)
    return Worker(job, events)


def read_job(line: bytes) -> AnyJob:
    job: AnyJob = TypeAdapter(AnyJob).validate_json(line)
    return job


def main() -> None:
    lines = _taken_input()
    count_stops()
    job = read_job(lines.readline())
    keep_secret(*job.key_names)
    with os.fdopen(int(os.environ[EVENTS_ENV]), "wb") as events:
        worker = worker_of(job, events)
        threading.Thread(target=_die_with_parent, args=(lines, worker), daemon=True).start()
        try:
            with asyncio.Runner(loop_factory=SuspendableLoop) as runner:
                runner.run(worker.work())
        except Exception as error:
            failure = failure_of(error)
            if failure.why == "system" and (full := _full_disk(Path(job.results))):
                failure = failure_of(full)
            if failure.why == "system":
                traceback.print_exc()
            worker.send(failure)
    # Libraries leave threads behind. Everything that matters is on disk.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
