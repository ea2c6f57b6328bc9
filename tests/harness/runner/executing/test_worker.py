"""What a worker does for a run: records, the clock of a query, its log, and what a system is handed."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cells import cell
from records import run_record
from runtimes import Chat, Embedder
from virtual_time import run_in_virtual_time

from harness.core.errors import StoreError
from harness.core.records import Phase, Prediction, RunRecord
from harness.core.sanitize import keep_secret
from harness.models.metering import Meter
from harness.runner.executing.execute import RunContext
from harness.runner.executing.messages import AnswerTurn, QueryTask
from harness.runner.executing.phases import Execution, OnEvent, ProgressCounter
from harness.runner.executing.query_time_limit import latency_limit
from harness.runner.executing.system_runtime import WorkerRuntime
from harness.runner.executing.worker_supervisor import CleanedLog, WorkerEnd
from harness.runner.progress import Reporter
from harness.store.record_lines import RecordWriter


def record(name: str) -> RunRecord:
    return run_record(name, Prediction(answer="Yes"))


class SlowDisk:
    """Takes what it is given when it is let; `refuses`: it is full."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.written: list[list[str]] = []
        self.is_let, self.is_busy = threading.Event(), threading.Event()
        self._refuses = refuses

    def write(self, records: Sequence[RunRecord]) -> None:
        self.is_busy.set()
        assert self.is_let.wait(10)
        if self._refuses:
            raise StoreError("no space left", "free some")
        self.written.append([one.query_id for one in records])

    async def busy(self) -> None:
        assert await asyncio.to_thread(self.is_busy.wait, 10)


async def begun(writer: RecordWriter, *names: str) -> list["asyncio.Task[None]"]:
    """Their appends, under way."""
    tasks = [asyncio.create_task(writer.append(record(name))) for name in names]
    await asyncio.sleep(0)
    return tasks


async def test_a_record_is_on_the_disk_before_its_query_ends_and_those_that_wait_are_written_together() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    (first,) = await begun(writer, "q0")
    await disk.busy()
    others = await begun(writer, "q1", "q2", "q3")
    await asyncio.sleep(0.02)
    assert not first.done()
    disk.is_let.set()
    await asyncio.gather(first, *others)
    assert disk.written == [["q0"], ["q1", "q2", "q3"]]


async def test_a_record_is_written_though_its_query_is_cancelled_meanwhile() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    (first,) = await begun(writer, "q0")
    await disk.busy()
    (waiting,) = await begun(writer, "q1")
    first.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    disk.is_let.set()
    ended = await asyncio.gather(first, waiting, return_exceptions=True)
    assert [type(one) for one in ended] == [asyncio.CancelledError] * 2
    assert disk.written == [["q0"], ["q1"]]


async def test_a_record_gets_to_the_disk_though_the_event_loop_is_blocked_thereafter() -> None:
    disk = SlowDisk()
    disk.is_let.set()
    (append,) = await begun(RecordWriter(disk.write), "q0")
    # No await: a system that blocks.
    assert disk.is_busy.wait(10)
    while not disk.written:
        time.sleep(0.001)  # noqa: ASYNC251 - the loop is to be blocked
    await append
    assert disk.written == [["q0"]]


async def test_whoever_recorded_at_once_hears_that_the_disk_is_full() -> None:
    disk = SlowDisk(refuses=True)
    disk.is_let.set()
    writer = RecordWriter(disk.write)
    ended = await asyncio.gather(*await begun(writer, "q0", "q1"), return_exceptions=True)
    assert [type(one) for one in ended] == [StoreError, StoreError]
    with pytest.raises(StoreError, match="no space left"):
        await writer.append(record("q2"))


# The time limit of a query is one of latency: it stands while its provider lets nothing through.


async def _took_s(limit_s: float, stretches: list[tuple[bool, float]], told: list[float]) -> tuple[float, bool]:
    """Seconds until the query ended, and whether its time limit ended it. Its calls, one after another: whether
    each waits for its provider, and how long it takes.
    """
    meter, began = Meter("answer/q/0/1"), time.monotonic()
    try:
        async with latency_limit(limit_s, meter, told.append):
            for waits, seconds in stretches:
                with meter.call() as call:
                    call.turn(waits=waits)
                    await asyncio.sleep(seconds)
    except TimeoutError:
        return time.monotonic() - began, True
    return time.monotonic() - began, False


@pytest.mark.parametrize(
    ("stretches", "ends_s", "is_late", "least_told"),
    [
        ([(False, 4.0), (True, 3600.0), (False, 5.9)], 3609.9, False, 4.0),
        ([(False, 4.0), (True, 100.0), (False, 60.0)], 110.0, True, 0.0),
        ([(False, 60.0)], 10.0, True, None),
    ],
)
def test_the_limit_of_a_query_is_its_latency_without_waiting_for_its_provider(
    stretches: list[tuple[bool, float]], ends_s: float, is_late: bool, least_told: float | None
) -> None:
    told: list[float] = []
    took_s, was_late = run_in_virtual_time(_took_s(10.0, stretches, told))
    assert was_late == is_late
    assert ends_s <= round(took_s, 3) <= ends_s + 0.1
    assert bool(told) == (least_told is not None), "who watches it hears how long it may go on at least"
    assert min(told, default=0.0) >= (least_told or 0.0)


KEY = "sk-0123456789+/abc"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_OF_MINE", KEY)
    keep_secret("MODEL_OF_MINE")


def test_what_a_child_prints_is_kept_without_keys_and_escapes(tmp_path: Path) -> None:
    with CleanedLog(tmp_path / "log") as log:
        said = f"import os; os.write(1, b'1 {KEY}\\n\\x1b[2J2'); os.write(2, b'\\xff3')"
        subprocess.run([sys.executable, "-c", said], stdout=log.fd, stderr=log.fd, check=True)
    assert (tmp_path / "log").read_text("utf-8") == "1 ***\n\\x1b[2J2\ufffd3"


def test_a_second_worker_goes_on_where_the_first_ended_and_a_key_in_two_parts_is_found(tmp_path: Path) -> None:
    for parts in ((b"first\n",), (KEY[:9].encode(), KEY[9:].encode() + b"\n"), (b"last",)):
        with CleanedLog(tmp_path / "log") as log:
            for part in parts:
                os.write(log.fd, part)
                time.sleep(0.05)
    assert (tmp_path / "log").read_bytes() == b"first\n***\nlast"


def test_a_child_that_keeps_the_log_open_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.runner.executing.worker_supervisor._LAST_WORDS_S", 0.05)
    with CleanedLog(tmp_path / "log") as log:
        kept = os.dup(log.fd)
    os.write(kept, b"late\n")
    os.close(kept)


async def test_a_phase_gets_the_models_that_it_names_and_retrieval_alone_answers_none(tmp_path: Path) -> None:
    chat, embedder = Chat(), Embedder()
    assert WorkerRuntime(tmp_path, 0, chat, None).chat is chat
    assert WorkerRuntime(tmp_path, 0, None, embedder, names_generator=False).embedder is embedder
    runtime = WorkerRuntime(tmp_path, 0, None, embedder)
    assert runtime.chat is None
    assert await runtime.answer("Where does the heron live?", []) is None


# A worker killed while it writes records: what it wrote counts, and nothing is written into a torn line.


def test_who_is_killed_for_one_query_has_answered_what_its_records_say(tmp_path: Path) -> None:
    class KilledOnce(Execution):
        def supervisor(self, phase: Phase, on_event: OnEvent) -> Any:
            return SimpleNamespace(turn=turn, is_waiting=False, end=lambda: None)

    reporter = Reporter(quiet=True)
    with ExitStack() as stack:
        going = RunContext(tmp_path, reporter, make=KilledOnce).locked(cell("systems=[closed-book]"), stack)
    todo = [QueryTask(query_id=query.query_id, repeat=0, attempt=1) for query in going.cell.dataset.queries[:3]]
    answered, blocking, torn = todo
    asked: list[Sequence[QueryTask]] = []

    def turn(turn: AnswerTurn) -> WorkerEnd:
        asked.append(list(turn.todo))
        if len(asked) > 1:
            going.run.append_records([record(one.query_id) for one in turn.todo])
            return WorkerEnd(completed=True, n_finished=len(turn.todo))
        # It was killed before it could tell of the first, and while it wrote the third.
        going.run.append_records([record(answered.query_id)])
        with (going.run.path / "records.jsonl").open("ab") as file:
            file.write(record(torn.query_id).model_dump_json().encode()[:40])
        return WorkerEnd(completed=False, overdue=[answered, blocking])

    with reporter.bar("answer") as bar:
        going.answer(todo, ProgressCounter(bar, going.spending, 0, len(todo)))
    assert asked == [todo, [torn]]
    assert {name: one.status for (name, _), one in going.run.records().items()} == {
        answered.query_id: "ok",
        blocking.query_id: "timeout",
        torn.query_id: "ok",
    }
