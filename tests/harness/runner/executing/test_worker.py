"""What a worker does for a run: records, the clock of a query, its log, and what a system is handed."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from runtimes import Chat, Embedder
from virtual_time import run_in_virtual_time

from harness.config import BenchConfig
from harness.core.errors import StoreError
from harness.core.records import AnswerStyle, Context, Cost, Prediction, RunRecord
from harness.core.sanitize import keep_secret
from harness.llm_utils.answer_contract import answer_messages
from harness.models.metering import Meter, metered
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.executing.execute import open_run
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution, OnEvent, ProgressCounter
from harness.runner.executing.query_time_limit import latency_limit
from harness.runner.executing.system_runtime import Unnamed, WorkerRuntime
from harness.runner.executing.worker_supervisor import CleanedLog, WorkerEnd
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from harness.store.record_lines import RecordWriter


def record(name: str) -> RunRecord:
    return RunRecord(
        query_id=name,
        repeat=0,
        status="ok",
        prediction=Prediction(answer="Yes"),
        cost=Cost(wall_s=1.0),
        attempt=1,
        started_at="2026-01-01T00:00:00+00:00",
    )


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


async def test_what_comes_while_the_disk_is_busy_is_written_at_once() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    first = await begun(writer, "q0")
    await disk.busy()
    others = await begun(writer, "q1", "q2", "q3")
    disk.is_let.set()
    await asyncio.gather(*first, *others)
    assert disk.written == [["q0"], ["q1", "q2", "q3"]]


async def test_nobody_goes_on_before_the_record_is_on_the_disk() -> None:
    disk = SlowDisk()
    writer = RecordWriter(disk.write)
    (append,) = await begun(writer, "q0")
    await disk.busy()
    await asyncio.sleep(0.02)
    assert not append.done()
    disk.is_let.set()
    await append
    assert disk.written == [["q0"]]


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


async def _work(meter: Meter, stretches: list[tuple[bool, float]]) -> None:
    """Calls of the model, one after another: whether it waits for its provider, and how long it takes."""
    for waits, seconds in stretches:
        with meter.call() as call:
            call.turn(waits=waits)
            await asyncio.sleep(seconds)


async def _took_s(limit_s: float, stretches: list[tuple[bool, float]], told: list[float]) -> tuple[float, bool]:
    """Seconds until the query ended, and whether its time limit ended it."""
    meter, began = Meter("answer/q/0/1"), time.monotonic()
    try:
        async with latency_limit(limit_s, meter, told.append):
            await _work(meter, stretches)
    except TimeoutError:
        return time.monotonic() - began, True
    return time.monotonic() - began, False


def test_a_query_that_waits_for_its_provider_has_all_its_time_left_afterwards() -> None:
    told: list[float] = []
    took_s, is_late = run_in_virtual_time(_took_s(10.0, [(False, 4.0), (True, 3600.0), (False, 5.9)], told))
    assert (round(took_s, 3), is_late) == (3609.9, False)
    assert min(told) >= 4.0, "who watches it hears how long it may go on at least"


def test_a_query_that_works_longer_than_its_limit_ends_at_its_limit_beside_what_it_waited() -> None:
    took_s, is_late = run_in_virtual_time(_took_s(10.0, [(False, 4.0), (True, 100.0), (False, 60.0)], []))
    assert is_late
    assert 110.0 <= took_s <= 110.1


def test_without_any_wait_the_limit_is_wall_time() -> None:
    told: list[float] = []
    assert run_in_virtual_time(_took_s(10.0, [(False, 60.0)], told)) == (10.0, True)
    assert told == []


# The log of a worker: whole, without keys, and safe to look at.


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


def test_a_second_worker_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    for said in (b"first\n", b"second"):
        with CleanedLog(tmp_path / "log") as log:
            os.write(log.fd, said)
    assert (tmp_path / "log").read_bytes() == b"first\nsecond"


def test_a_key_that_comes_in_two_parts_is_found(tmp_path: Path) -> None:
    with CleanedLog(tmp_path / "log") as log:
        os.write(log.fd, KEY[:9].encode())
        time.sleep(0.05)
        os.write(log.fd, KEY[9:].encode() + b"\n")
    assert (tmp_path / "log").read_bytes() == b"***\n"


def test_a_child_that_keeps_the_other_end_open_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.runner.executing.worker_supervisor._LAST_WORDS_S", 0.05)
    with CleanedLog(tmp_path / "log") as log:
        kept = os.dup(log.fd)
    os.write(kept, b"late\n")
    os.close(kept)


# What a system is handed in a worker: the models that its spec names for the phase, and the answer contract.


CONTEXTS = [Context(text="The heron lives in the marsh.", doc_ids=("d",))]
QUESTION = "Where does the heron live?"


def test_a_model_that_the_phase_names_is_the_one_it_gets(tmp_path: Path) -> None:
    chat, embedder = Chat(), Embedder()
    assert WorkerRuntime(tmp_path, 0, chat, Unnamed("embedder")).chat is chat
    assert WorkerRuntime(tmp_path, 0, Unnamed("generator"), embedder).embedder is embedder


@pytest.mark.parametrize("style", ["short", "sentence"])
async def test_an_answer_is_one_generation_under_the_contract_in_the_style_of_the_run(
    tmp_path: Path, style: AnswerStyle
) -> None:
    chat = Chat()
    runtime = WorkerRuntime(tmp_path, 0, chat, Unnamed("embedder"), answer_style=style)
    with metered(Meter("answer/q/0/1")) as meter:
        assert await runtime.answer(QUESTION, CONTEXTS) == "reply"
    assert chat.prompts == [answer_messages(QUESTION, CONTEXTS, style)]
    assert list(meter.stages_s) == ["generate"]


async def test_retrieval_alone_has_no_generator_and_answers_none(tmp_path: Path) -> None:
    runtime = WorkerRuntime(tmp_path, 0, None, Embedder())
    assert runtime.chat is None
    assert await runtime.answer(QUESTION, CONTEXTS) is None


# A worker killed while it writes records: what it wrote counts, and nothing is written into a torn line.


def execution(results: Path) -> Execution:
    models = {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}}
    dataset = {"name": "demo", "sample": {"per_type": 2}}
    (cell,) = plan_cells(
        BenchConfig.model_validate({"systems": ["closed-book"], "dataset": dataset, "models": models})
    )
    reporter, spending = Reporter(quiet=True), BudgetTracker.unlimited()
    run = open_run(cell, results, reporter.warn)
    return Execution(cell=cell, run=run, results=results, reporter=reporter, spending=spending, lock_fd=0)


def test_who_is_killed_for_one_query_has_answered_what_its_records_say(tmp_path: Path) -> None:
    going = execution(tmp_path)
    todo = [QueryTask(query_id=query.query_id, repeat=0, attempt=1) for query in going.cell.dataset.queries[:3]]
    answered, blocking, torn = todo
    asked: list[Sequence[QueryTask]] = []

    def ask(pending: Sequence[QueryTask], _on_event: OnEvent) -> WorkerEnd:
        asked.append(list(pending))
        if len(asked) > 1:
            going.run.append_records([record_of(one) for one in pending])
            return WorkerEnd(completed=True)
        # It was killed before it could tell of the first, and while it wrote the third.
        going.run.append_records([record_of(answered)])
        with (going.run.path / "records.jsonl").open("ab") as file:
            file.write(record_of(torn).model_dump_json().encode()[:40])
        return WorkerEnd(completed=False, overdue=[answered, blocking])

    with going.reporter.bar("answer") as bar:
        going.work_through(todo, ProgressCounter(bar, going.spending, 0, len(todo)), ask)
    assert asked == [todo, [torn]]
    assert {name: one.status for (name, _), one in going.run.records().items()} == {
        answered.query_id: "ok",
        blocking.query_id: "timeout",
        torn.query_id: "ok",
    }


def record_of(todo: QueryTask) -> RunRecord:
    return RunRecord(
        query_id=todo.query_id,
        repeat=todo.repeat,
        status="ok",
        prediction=Prediction(answer="Yes"),
        cost=Cost(wall_s=1.0),
        attempt=todo.attempt,
        started_at="2026-01-01T00:00:00+00:00",
    )
