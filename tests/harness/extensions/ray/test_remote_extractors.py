"""Who reads texts for an index takes only slots that are free, gives them back, and is waited for by nobody."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.config import LimitsConfig
from harness.core.errors import ConfigError
from harness.extensions.ray import remote_extractors
from harness.extensions.ray.remote_extractors import RemoteReaders
from harness.extensions.ray.remote_worker import WorkerConnection, WorkerLost
from harness.extensions.ray.worker_pool import WorkerPool
from harness.models.budget import Allowance
from harness.models.remote_calls import RemoteCall
from harness.runner.executing.messages import Event, ExtractionJob, Turn
from harness.runner.executing.remote_extraction import RULES
from harness.runner.executing.resources import NoSampler
from harness.runner.executing.worker_supervisor import WorkerEnvironment

SLOTS = 2


class Followed:
    """In place of a worker: reads when it is let, and is there until it is ended."""

    may_read = threading.Event()
    refuses = False
    n_ended = 0

    def __init__(self, _job: ExtractionJob, _at: WorkerEnvironment, kind: str) -> None:
        assert kind == "read"
        self._killed, self.is_waiting = threading.Event(), False

    def event_of(self, turn: Turn) -> tuple[Event | None, None]:
        while not self.may_read.wait(0.005) and not self._killed.is_set():
            continue
        if self.refuses:
            raise ConfigError("another pipeline", "install it")
        if self._killed.is_set():
            return None, None
        self.is_waiting = True
        return Event(kind="read", found=f"read {turn.texts}"), None

    def kill(self) -> None:
        self._killed.set()

    def end(self) -> None:
        self.is_waiting = False
        type(self).n_ended += 1


def nothing() -> WorkerConnection:
    raise WorkerLost("nobody is started here")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerPool]:
    for name, value in (("may_read", threading.Event()), ("refuses", False), ("n_ended", 0)):
        monkeypatch.setattr(Followed, name, value)
    monkeypatch.setattr(remote_extractors, "TurnWorker", Followed)
    with WorkerPool(nothing, SLOTS, Allowance()) as workers:
        yield workers


def readers_of(workers: WorkerPool, warned: list[str]) -> RemoteReaders:
    job = ExtractionJob(results="", limits=LimitsConfig(), texts="")
    return RemoteReaders(workers, job, WorkerEnvironment(Path("log"), NoSampler(), -1), warned.append)


def n_free(workers: WorkerPool) -> int:
    taken = 0
    while workers.take_slot(wait_s=0):
        taken += 1
    for _ in range(taken):
        workers.give_slot()
    return taken


def soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    return holds()


async def asked(readers: RemoteReaders, texts: str) -> bytes:
    return (await readers.send(RemoteCall(number=0, role=RULES, body=texts.encode())))[1]


async def test_as_many_read_as_slots_are_free_and_who_waits_reads_again(workers: WorkerPool) -> None:
    Followed.may_read.set()
    with readers_of(workers, []) as readers:
        assert await asked(readers, "a") == b"read a"
        assert await asked(readers, "b") == b"read b"
        assert n_free(workers) == SLOTS - 1
        assert workers.take_slot(wait_s=0)
        Followed.may_read.clear()
        first = asyncio.create_task(asked(readers, "c"))
        await asyncio.sleep(0.05)
        assert await asked(readers, "d") == b""
        Followed.may_read.set()
        assert await first == b"read c"
        workers.give_slot()
    assert n_free(workers) == SLOTS


async def test_who_reads_when_all_are_to_leave_goes_when_it_comes_back(workers: WorkerPool) -> None:
    with readers_of(workers, []) as readers:
        late = asyncio.create_task(asked(readers, "late"))
        await asyncio.sleep(0.05)
        await asked(readers, "")
        Followed.may_read.set()
        assert await late == b"read late"
        assert soon(lambda: n_free(workers) == SLOTS)


async def test_a_slot_that_somebody_waits_for_is_given_back_after_a_batch(workers: WorkerPool) -> None:
    Followed.may_read.set()
    with readers_of(workers, []) as readers:
        assert workers.take_slot(wait_s=0)
        waiting = threading.Thread(target=workers.take_slot, args=(5.0,))
        assert await asked(readers, "a") == b"read a"
        waiting.start()
        assert soon(lambda: workers.is_waited_for)
        assert await asked(readers, "b") == b"read b"
        await asyncio.to_thread(waiting.join, 5)
        assert not waiting.is_alive()
        assert await asked(readers, "c") == b""
        workers.give_slot()
        workers.give_slot()


async def test_the_end_waits_for_nobody_who_reads(workers: WorkerPool) -> None:
    with readers_of(workers, []) as readers:
        stuck = asyncio.create_task(asked(readers, "stuck"))
        await asyncio.sleep(0.05)
    assert await asyncio.wait_for(stuck, 5) == b""
    assert soon(lambda: n_free(workers) == SLOTS)
    assert await asked(readers, "more") == b""


async def test_where_one_cannot_read_as_the_index_does_it_is_said_once_and_nobody_is_asked_again(
    workers: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Followed, "refuses", True)
    warned: list[str] = []
    with readers_of(workers, warned) as readers:
        both = [asyncio.create_task(asked(readers, name)) for name in "ab"]
        await asyncio.sleep(0.05)
        Followed.may_read.set()
        assert await asyncio.gather(*both) == [b"", b""]
        assert await asked(readers, "c") == b""
    assert warned == ["texts are read by one worker alone: another pipeline: install it"]
    assert n_free(workers) == SLOTS
