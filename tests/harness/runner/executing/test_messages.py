"""Messages between the runner and its workers: each arrives as it was sent, and a broken worker is one error."""

import os
from pathlib import Path
from typing import IO

import pytest
from records import run_record

from harness.config import LimitsConfig
from harness.core.records import Cost, IndexStats, Prediction, Usage
from harness.models.budget import Allowance, Amount
from harness.models.remote_calls import CallUpdate, RemoteCall
from harness.runner.executing import worker_supervisor
from harness.runner.executing.messages import (
    AnswerTurn,
    CallRequested,
    CallUpdated,
    Event,
    ExtractionJob,
    ExtractionTurn,
    IndexBuilt,
    NoMoreTurns,
    OutputLine,
    Progress,
    QueryFinished,
    QueryTask,
    ScoringTurn,
    ToWorker,
    WaitingForTurn,
    WorkerFailed,
    WorkerMessage,
    read_event,
    read_message_to_worker,
)
from harness.runner.executing.resources import Sampler
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnvironment

TODO = QueryTask(query_id="q", repeat=0, attempt=1)
USAGE = {"generator": Usage(calls=1, input_tokens=5)}
NO_TEXT = b"\xff\x00\n"
RECORD = run_record("q", Prediction(answer="Yes"), cost=Cost(wall_s=1.0, usage=USAGE))
EVENTS: list[Event] = [
    Progress(done=1, total=2, doing="chunks", usage=USAGE, spent=Amount(tokens=5)),
    OutputLine(line="a\nb é"),
    QueryFinished(todo=TODO, status="timeout", usage=USAGE, spent=Amount(usd=0.1)),
    QueryFinished(todo=TODO, status="ok", usage=USAGE, record=RECORD),
    IndexBuilt(stats=IndexStats(documents=3), cost=Cost(wall_s=1.0)),
    CallRequested(call=RemoteCall(number=1, role="generator", body=NO_TEXT)),
    WorkerFailed(why="budget", what="too much", needed=Amount(tokens=7)),
]
TO_WORKER: list[ToWorker] = [
    AnswerTurn(todo=(TODO,), allowance=Allowance(tokens=3)),
    ScoringTurn(of_run="results/run", todo=(TODO,)),
    CallUpdated(update=CallUpdate(number=1, kind="answered", status=200, content=NO_TEXT)),
]


def sent(message: WorkerMessage) -> bytes:
    return message.model_dump_json().encode()


def test_messages_arrive_as_they_were_sent() -> None:
    assert [read_event(sent(event)) for event in EVENTS] == EVENTS
    assert [read_message_to_worker(sent(message)) for message in TO_WORKER] == TO_WORKER


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no JSON",
        b"[]",
        b"{}",
        b'{"kind": "unheard_of"}',
        b'{"kind": "query_started", "left_s": 1.0}',
        b'{"kind": "waiting_for_turn", "more": 1}',
        sent(NoMoreTurns()),
    ],
)
def test_what_is_no_event_is_not_read(line: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_event(line)


# What a supervisor makes of a worker whose messages are broken.


class Scripted:
    """A `WorkerLink` to a worker that has sent these bytes and is gone."""

    pid, lost = None, ""

    def __init__(self, output: bytes) -> None:
        read_end, write_end = os.pipe()
        os.write(write_end, output)
        os.close(write_end)
        self.events: IO[bytes] = os.fdopen(read_end, "rb", buffering=0)

    def send(self, message: object) -> None:
        """Nobody reads it."""

    def wait(self, timeout_s: float | None = None) -> int:
        return 0

    def kill(self) -> None:
        """It is gone."""

    def end(self) -> None:
        self.events.close()


def events_of(folder: Path, output: bytes) -> list[Event]:
    found: list[Event] = []
    job = ExtractionJob(results="", limits=LimitsConfig())
    environment = WorkerEnvironment(folder / "log", Sampler(), -1, lambda _log, _lock: Scripted(output))
    Supervisor(job, environment, found.append).only_turn(ExtractionTurn(texts=""))
    return found


def test_events_come_in_their_order_until_the_turn_ends(tmp_path: Path) -> None:
    told = [OutputLine(line="a"), OutputLine(line="b", is_warning=True), WaitingForTurn()]
    assert events_of(tmp_path, b"".join(sent(event) + b"\n" for event in told)) == told


@pytest.mark.parametrize("output", [b"no event\n", b"\xff\n", sent(OutputLine(line="x" * 2000))])
def test_a_worker_without_events_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bytes) -> None:
    monkeypatch.setattr(worker_supervisor, "LONGEST_EVENT", 1000)
    with pytest.raises(SystemBroken):
        events_of(tmp_path, output)
