"""Workers on other machines: who reads texts for an index, on which machines, and how queries are shared."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_for

from harness.config import LimitsConfig
from harness.core.errors import ConfigError
from harness.extensions.ray import remote_extractors
from harness.extensions.ray import remote_worker as agents
from harness.extensions.ray.cluster import Installed, differs, installed, other_packages, read_if_visible
from harness.extensions.ray.remote_extractors import RemoteReaders
from harness.extensions.ray.remote_worker import (
    Received,
    RemoteLauncher,
    WorkerAgent,
    WorkerConnection,
    WorkerLost,
)
from harness.extensions.ray.worker_pool import WorkerPool, WorkQueue
from harness.models.budget import Allowance
from harness.models.remote_call_server import RemoteCallServer
from harness.models.remote_calls import RemoteCall
from harness.models.transport import CallContext
from harness.runner.executing.messages import ExtractionJob, ExtractionTurn, QueryTask, TextsExtracted
from harness.runner.executing.remote_workers import RULES
from harness.runner.executing.resources import Sampler
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnvironment
from harness.store import Journal

SLOTS = 2


class Followed:
    """In place of a worker: reads when it is let, and is there until it is ended."""

    may_read = threading.Event()
    refuses = False
    n_ended = 0

    def __init__(
        self, _job: ExtractionJob, _environment: WorkerEnvironment, result_type: type[TextsExtracted]
    ) -> None:
        assert result_type is TextsExtracted
        self._killed, self.is_waiting = threading.Event(), False

    def result_of(self, turn: ExtractionTurn) -> tuple[TextsExtracted | None, None]:
        while not self.may_read.wait(0.005) and not self._killed.is_set():
            continue
        if self.refuses:
            raise ConfigError("another pipeline", "install it")
        if self._killed.is_set():
            return None, None
        self.is_waiting = True
        return TextsExtracted(found=f"read {turn.texts}"), None

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
    return RemoteReaders(workers, job, WorkerEnvironment(Path("log"), Sampler(), -1), warned.append)


def n_free(workers: WorkerPool) -> int:
    taken = 0
    while workers.take_slot(wait_s=0):
        taken += 1
    for _ in range(taken):
        workers.give_slot()
    return taken


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


async def test_a_slot_that_somebody_waits_for_is_given_back_after_a_batch(workers: WorkerPool) -> None:
    Followed.may_read.set()
    with readers_of(workers, []) as readers:
        assert workers.take_slot(wait_s=0)
        waiting = threading.Thread(target=workers.take_slot, args=(5.0,))
        assert await asked(readers, "a") == b"read a"
        waiting.start()
        assert wait_for(lambda: workers.is_waited_for)
        assert await asked(readers, "b") == b"read b"
        await asyncio.to_thread(waiting.join, 5)
        assert not waiting.is_alive()
        assert await asked(readers, "c") == b""
        workers.give_slot()
        workers.give_slot()


# Whether another machine is what this one is.


OURS = Installed("1.0", "ab12", "3.11", {"numpy": "2.2", "chromadb": "1.5.9"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"project": "0.9"}, "has version 0.9 of rag-bench-harness, this machine 1.0"),
        ({"code": "cd34"}, "has other code of rag-bench-harness 1.0"),
        ({"python": "3.12"}, "runs Python 3.12, this machine 3.11"),
    ],
)
def test_what_makes_a_worker_do_something_else_is_said(change: dict[str, Any], said: str) -> None:
    assert said in differs(replace(OURS, **change), OURS)
    assert (differs(installed(), installed()), other_packages(installed(), installed())) == ("", "")


def test_packages_of_other_versions_are_named_and_those_of_one_machine_alone_are_not() -> None:
    theirs = replace(OURS, packages={"numpy": "2.4", "chromadb": "1.5.9", "torch": "2.13"})
    assert other_packages(theirs, OURS) == "numpy 2.4 (2.2 here)"
    many = {f"package-{number}": "1" for number in range(9)}
    shown = other_packages(replace(OURS, packages=many), replace(OURS, packages=dict.fromkeys(many, "2")))
    assert shown.endswith("package-4 1 (2 here) and 4 more")
    assert read_if_visible("/nowhere/at/all") is None


# Shards of a cell's queries, as workers ask for them.


def todo(n: int) -> list[QueryTask]:
    return [QueryTask(query_id=str(number), repeat=0, attempt=1) for number in range(n)]


def taken(queue: WorkQueue) -> list[list[str]]:
    shards = iter(queue.take, [])
    return [[one.query_id for one in shard] for shard in shards]


def test_every_query_is_taken_once_in_order_and_shards_shrink_towards_the_end() -> None:
    shards = taken(WorkQueue(todo(100), n_workers=4, at_once=2))
    assert [query_id for shard in shards for query_id in shard] == [str(number) for number in range(100)]
    sizes = [len(shard) for shard in shards]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-2]) == (12, 2)
    # None is smaller than what a worker answers side by side, but the last.
    assert [len(shard) for shard in taken(WorkQueue(todo(7), n_workers=8, at_once=3))] == [3, 3, 1]


def test_what_is_given_back_is_taken_next_in_its_order_until_the_queue_is_closed() -> None:
    queue = WorkQueue(todo(6), n_workers=1, at_once=2)
    first = queue.take()
    queue.give_back(first[1:])
    assert queue.take()[0] == first[1]
    queue.close()
    assert queue.take() == []


def test_a_query_is_suspected_when_a_third_machine_is_lost_with_it() -> None:
    queue, (victim, other, *_) = WorkQueue(todo(3), n_workers=1, at_once=1), todo(3)
    assert queue.suspects([victim, other]) == []
    assert queue.suspects([victim]) == []
    assert queue.suspects([victim, other]) == [victim]


# A worker whose lines are copied here.


class Scripted:
    """A `WorkerConnection` to a worker that has sent this and ended."""

    def __init__(self, events: bytes) -> None:
        self._events = events

    def receive(self) -> Received:
        return Received(events=self._events, code=0)

    def send(self, lines: bytes) -> None:
        """Nobody reads it."""

    def kill(self) -> None:
        """It has ended."""

    def close(self) -> None:
        """It has ended."""


@pytest.mark.parametrize("output", [b"no event\n", b'{"kind": "unheard_of"}\n', b"x" * 2000])
def test_a_remote_worker_that_sends_no_event_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bytes
) -> None:
    monkeypatch.setattr(agents, "LONGEST_EVENT", 1000)

    async def run() -> None:
        call_context = CallContext(Journal(tmp_path / "calls.sqlite"))
        server = RemoteCallServer(call_context, {}, {}, asyncio.get_running_loop())
        launcher = RemoteLauncher(lambda: Scripted(output), server)
        environment = WorkerEnvironment(tmp_path / "log", Sampler(), -1, launcher.start)
        try:
            Supervisor(ExtractionJob(results="", limits=LimitsConfig(), texts=""), environment, print).run()
        finally:
            await server.close()

    with pytest.raises(SystemBroken):
        asyncio.run(run())


# A worker's process, as the agent on its machine has it.


def ended(agent: WorkerAgent) -> tuple[bytes, int | None]:
    """All that it printed, and its exit code."""
    log, until = b"", time.monotonic() + 20
    while time.monotonic() < until:
        _, printed, code = agent.receive()
        log += printed
        if code is not None:
            return log, code
    return log, None


@pytest.mark.slow
def test_what_a_worker_prints_and_how_it_ends_is_fetched() -> None:
    agent = WorkerAgent(".")
    agent.send(b"no job\n")
    log, code = ended(agent)
    assert b"ValidationError" in log
    assert code == 1


def test_a_worker_that_is_killed_or_of_which_nobody_fetches_anything_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agents, "ALONE_S", 0.3)
    alone = WorkerAgent(".")
    time.sleep(0.6)
    monkeypatch.undo()
    killed = WorkerAgent(".")
    killed.kill()
    assert [ended(agent)[1] for agent in (alone, killed)] == [-9, -9]
