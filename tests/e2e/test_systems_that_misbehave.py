"""A third-party system that crashes, blocks, exits or raises costs one record, never the run."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import CommandLineHere, over_http
from damaging import WorkersHere
from killing import suspended
from plugins import PlugIn
from waiting import wait_for

from harness.core.records import RunRecord
from harness.datasets import QuerySample, demo, load_dataset
from harness.models.fake_model import FakeScript
from harness.runner.executing import worker_supervisor
from harness.store import RunDir

pytestmark = pytest.mark.slow


NASTY = """
import asyncio, os, time
from harness.protocols import NO_ROLE, Params, SystemSpec
from harness.core.records import IndexStats, Prediction

class Answer(Params):
    deed: str = "none"
    victim: str

class Nasty:
    def __init__(self, index, answer, runtime):
        self.deed, self.victim, self.runtime = answer.deed, answer.victim, runtime
    async def index(self, corpus):
        if self.deed == "break_index":
            raise RuntimeError("no index today")
        (self.runtime.index_dir / "n").write_text(str(len(corpus)))
        return IndexStats(documents=len(corpus))
    async def load(self):
        self.has_loaded = True
        if self.deed == "die_in_load":
            os._exit(9)
    async def answer(self, query):
        if query.query_id == self.victim:
            print("about to", self.deed, flush=True)
            if self.deed == "crash": os.abort()
            if self.deed == "exit": raise SystemExit(4)
            if self.deed == "raise": raise ValueError("a bug\\nin two lines")
            if self.deed == "sleep": await asyncio.sleep(3600)
            if self.deed == "block": time.sleep(3600)
            if self.deed == "half_an_emoji": return Prediction(answer="\\ud83d")
            if self.deed == "not_a_prediction": return "an answer"
            if self.deed == "crash_once" and not os.path.exists("crashed"):
                open("crashed", "w").close()
                os.abort()
        return Prediction(answer="fine")
    def close(self):
        if self.deed == "break_close" and hasattr(self, "has_loaded"):
            raise RuntimeError("no end today")

SPEC = SystemSpec("nasty", "1", "misbehaves", Params, Answer, Nasty, index_roles=NO_ROLE, answer_roles=NO_ROLE)
"""


VICTIM = load_dataset(demo.SPEC, sample=QuerySample(per_type=2, seed=42)).queries[1].query_id
"""One of the eight that the smoke config asks."""


@pytest.fixture
def nasty(here: CommandLineHere, plug_in: PlugIn) -> CommandLineHere:
    """The command line with the nasty system installed, as its distribution's entry point says."""
    plug_in("rag_harness.systems", "nasty", NASTY)
    return here


def run_nasty(cli: CommandLineHere, deed: str, *words: str) -> dict[str, Any]:
    return cli.run("--system", "nasty", "--set", f"answer.deed={deed}", "--set", f"answer.victim={VICTIM}", *words)


def failures(made: dict[str, Any]) -> list[RunRecord]:
    return [record for record in RunDir(Path(made["path"])).iter_records() if record.status != "ok"]


@pytest.mark.parametrize(
    ("deed", "concurrency", "kind", "message"),
    [
        ("crash", 3, "crash", "SIGABRT"),
        ("exit", 3, "SystemExit", "4"),
        ("raise", 1, "ValueError", "a bug in two lines"),
        ("half_an_emoji", 1, "PydanticSerializationError", "surrogates not allowed"),
        ("not_a_prediction", 3, "TypeError", "returned str, not a Prediction"),
    ],
)
def test_a_deadly_query_is_one_record(
    nasty: CommandLineHere, deed: str, concurrency: int, kind: str, message: str
) -> None:
    # Only what ends its process, or is looked for in the log of one, needs one.
    needs_process = deed in {"crash", "exit", "raise"}
    with nullcontext() if needs_process else WorkersHere():
        made = run_nasty(nasty, deed, "--set", f"limits.concurrency={concurrency}")
    (failed,) = failures(made)
    assert (made["status"], made["n_ok"], made["n_error"]) == ("done", 7, 1)
    assert (failed.query_id, failed.status) == (VICTIM, "error")
    assert failed.failure and failed.failure.kind == kind and message in failed.failure.message
    if needs_process:
        log = (Path(made["path"]) / "worker.log").read_text()
        assert f"about to {deed}" in log
        assert "Traceback" in log or deed != "raise"


def test_a_death_that_does_not_repeat_is_forgiven(nasty: CommandLineHere) -> None:
    made = run_nasty(nasty, "crash_once")
    assert (made["n_ok"], made["n_error"]) == (8, 0)


@pytest.mark.parametrize("deed", ["sleep", "block"])
def test_a_late_query_is_a_timeout(nasty: CommandLineHere, monkeypatch: pytest.MonkeyPatch, deed: str) -> None:
    monkeypatch.setattr(worker_supervisor, "GRACE_S", 2.0)
    made = run_nasty(nasty, deed, "--set", "limits.query_timeout_s=0.5")
    (failed,) = failures(made)
    assert (failed.query_id, failed.status) == (VICTIM, "timeout")
    assert made["n_ok"] == 7


@pytest.mark.parametrize(
    ("deed", "reason"), [("break_index", "RuntimeError: no index today"), ("die_in_load", "exit code 9")]
)
def test_a_system_that_fails_outside_queries_fails(nasty: CommandLineHere, deed: str, reason: str) -> None:
    made = run_nasty(nasty, deed)
    assert (made["status"], made["n_ok"], made["rc"]) == ("failed", 0, 3)
    assert reason in made["stderr"]


def test_a_system_that_fails_to_close_has_answered_all_the_same(nasty: CommandLineHere) -> None:
    made = run_nasty(nasty, "break_close")
    assert (made["status"], made["n_ok"]) == ("done", 8)
    assert "could not be closed: RuntimeError: no end today" in made["stderr"]


# A process that is suspended does not work: its queries have no latency and miss no time limit.


def worker() -> psutil.Process | None:
    children = psutil.Process().children(recursive=True)
    workers = [one for one in children if "harness.runner.executing.worker" in " ".join(one.cmdline())]
    return workers[0] if workers else None


def test_suspension_is_no_latency(indexed: CommandLineHere, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_supervisor, "GRACE_S", 2.0)
    server = serve(FakeScript(latency_s=1.5))

    def suspend() -> None:
        wait_for(lambda: server.model.served["calls"] > 4)
        time.sleep(0.5)  # The next query has begun by then.
        with suspended(wait_for(worker).pid):
            # Longer than the time limit and what the command allows beyond it.
            time.sleep(10)

    limits = ("--set", "limits.query_timeout_s=6", "--set", "limits.concurrency=1")
    with ThreadPoolExecutor(1) as thread:
        suspending = thread.submit(suspend)
        made = indexed.run(*over_http("generator", server), *limits)
        suspending.result()
    records = list(RunDir(Path(made["path"])).iter_records())
    assert [(record.status, record.attempt) for record in records] == [("ok", 1)] * 8
    known = [record.cost.latency_s for record in records if record.cost.latency_s is not None]
    assert len(known) == 7
    assert 1.5 < min(known) < max(known) < 9
    (unknown,) = (record.cost for record in records if record.cost.wall_s is None)
    assert unknown.throttled_s is None
    assert unknown.stages_s == {}
