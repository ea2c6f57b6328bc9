"""Workers on other machines: who extracts texts for an index, on which machines, and how queries are shared."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import wait_for

from harness.config import LimitsConfig
from harness.extensions.ray import remote_worker, worker_pool
from harness.extensions.ray.cluster import Installed, differs, inspect_here, installed, other_packages
from harness.extensions.ray.remote_worker import Received, RemoteWorker, WorkerAgent
from harness.extensions.ray.worker_pool import RemoteReaders, WorkerPool, WorkQueue
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
JOB = ExtractionJob(results="", limits=LimitsConfig())


class Extractor:
    """In place of a worker; extracts once it may."""

    may_extract = threading.Event()

    def __init__(self, *_: object) -> None:
        self.is_waiting = False

    def result_of(self, turn: ExtractionTurn) -> tuple[TextsExtracted, None]:
        self.may_extract.wait(20)
        self.is_waiting = True
        return TextsExtracted(found=f"read {turn.texts}"), None

    def end(self) -> None:
        self.is_waiting = False


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerPool]:
    Extractor.may_extract.set()
    monkeypatch.setattr(worker_pool, "TurnWorker", Extractor)
    with WorkerPool(lambda: pytest.fail("no worker is started"), SLOTS, Allowance()) as workers:
        yield workers


def extractors(workers: WorkerPool) -> RemoteReaders:
    return RemoteReaders(workers, JOB, WorkerEnvironment(Path("log"), Sampler(), -1), print)


async def extracted(readers: RemoteReaders, texts: str) -> bytes:
    return (await readers.send(RemoteCall(number=0, role=RULES, body=texts.encode())))[1]


async def test_texts_are_extracted_in_free_slots_and_a_waiting_worker_extracts_again(workers: WorkerPool) -> None:
    with extractors(workers) as readers:
        assert await extracted(readers, "a") == b"read a"
        assert await extracted(readers, "b") == b"read b"
        # One worker did both, and now another user takes the other slot.
        assert workers.take_slot(wait_s=0)
        Extractor.may_extract.clear()
        first = asyncio.create_task(extracted(readers, "c"))
        await asyncio.sleep(0.05)
        assert await extracted(readers, "d") == b""
        Extractor.may_extract.set()
        assert await first == b"read c"
        workers.give_slot()
    assert [workers.take_slot(wait_s=0) for _ in range(SLOTS + 1)] == [True] * SLOTS + [False]


async def test_a_worker_gives_its_slot_to_who_waits_for_it_after_a_batch(workers: WorkerPool) -> None:
    with extractors(workers) as readers:
        assert workers.take_slot(wait_s=0)
        assert await extracted(readers, "a") == b"read a"
        waiting = threading.Thread(target=workers.take_slot, args=(5.0,))
        waiting.start()
        assert wait_for(lambda: workers.is_waited_for)
        assert await extracted(readers, "b") == b"read b"
        await asyncio.to_thread(waiting.join, 5)
        assert not waiting.is_alive()
        assert await extracted(readers, "c") == b""


def test_a_machine_with_other_versions_is_refused_and_other_packages_are_named() -> None:
    ours = Installed("1.0", "ab12", "3.11", {"numpy": "2.2", "chromadb": "1.5.9"})
    assert "has version 0.9" in differs(replace(ours, project="0.9"), ours)
    assert "has other code" in differs(replace(ours, code="cd34"), ours)
    assert "runs Python 3.12, this machine 3.11" in differs(replace(ours, python="3.12"), ours)
    theirs = replace(ours, packages={"numpy": "2.4", "chromadb": "1.5.9", "only-there": "2.13"})
    assert (differs(theirs, ours), other_packages(theirs, ours)) == ("", "numpy 2.4 (2.2 here)")
    many = {f"package-{number}": "1" for number in range(9)}
    shown = other_packages(replace(ours, packages=many), replace(ours, packages=dict.fromkeys(many, "2")))
    assert shown.endswith("package-4 1 (2 here) and 4 more")
    assert inspect_here("/nowhere/at/all") == (installed(), None)


# Shards of queries, as workers ask for them.


def todo(n: int) -> list[QueryTask]:
    return [QueryTask(query_id=str(number), repeat=0, attempt=1) for number in range(n)]


def test_every_query_is_taken_once_in_order_and_shards_shrink_towards_the_end() -> None:
    shards = list(iter(WorkQueue(todo(100), n_workers=4, at_once=2).take, []))
    assert [query for shard in shards for query in shard] == todo(100)
    sizes = [len(shard) for shard in shards]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-2]) == (12, 2)
    # None but the last is smaller than what a worker answers at once.
    few = WorkQueue(todo(7), n_workers=8, at_once=3)
    assert [len(shard) for shard in iter(few.take, [])] == [3, 3, 1]


def test_what_is_given_back_is_taken_next_and_a_query_is_suspected_when_a_third_machine_is_lost_with_it() -> None:
    queue, (first, second, *_) = WorkQueue(todo(4), n_workers=1, at_once=2), todo(4)
    assert queue.take() == [first, second]
    queue.give_back([second])
    assert queue.take()[0] == second
    assert queue.suspects([first, second]) == queue.suspects([first]) == []
    assert queue.suspects([first, second]) == [first]
    queue.close()
    assert queue.take() == []


class EndedConnection:
    """A `WorkerConnection` to a worker that has sent this and ended."""

    def __init__(self, events: bytes) -> None:
        self._events = events

    def receive(self) -> Received:
        return Received(events=self._events, code=0)

    def send(self, lines: bytes) -> None:
        """Nobody reads it."""

    def kill(self) -> None:
        """It has ended."""

    close = kill


@pytest.mark.parametrize("output", [b"no event\n", b'{"kind": "unheard_of"}\n', b"x" * 2000])
async def test_a_remote_worker_that_sends_no_event_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bytes
) -> None:
    monkeypatch.setattr(remote_worker, "LONGEST_EVENT", 1000)
    call_context = CallContext(Journal(tmp_path / "calls.sqlite"))
    server = RemoteCallServer(call_context, {}, {}, asyncio.get_running_loop())
    environment = WorkerEnvironment(
        tmp_path / "log",
        Sampler(),
        -1,
        lambda log_fd, _lock_fd: RemoteWorker(lambda: EndedConnection(output), server, log_fd),
    )
    with pytest.raises(SystemBroken):
        Supervisor(JOB, environment, print).turn(ExtractionTurn(texts=""))
    await server.close()


def ended(agent: WorkerAgent) -> tuple[bytes, int | None]:
    """All that a worker's process printed, and its exit code."""
    log, until = b"", time.monotonic() + 20
    while time.monotonic() < until:
        received = agent.receive()
        log += received.log
        if received.code is not None:
            return log, received.code
    return log, None


@pytest.mark.slow
def test_the_output_and_the_exit_code_of_a_worker_are_fetched_and_one_that_nobody_fetches_from_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_worker, "ALONE_S", 0.3)
    alone = WorkerAgent(".")
    time.sleep(0.6)
    monkeypatch.undo()
    killed = WorkerAgent(".")
    killed.kill()
    assert [ended(one)[1] for one in (alone, killed)] == [-9, -9]
    agent = WorkerAgent(".")
    agent.send(b"no job\n")
    log, code = ended(agent)
    assert b"ValidationError" in log
    assert code == 1
