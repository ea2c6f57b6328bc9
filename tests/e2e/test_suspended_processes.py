"""A process that is suspended does not work: its queries have no latency and miss no time limit."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import SMOKE, CommandLine, CommandLineHere, over_http
from killing import suspended

from harness.core.records import RunRecord
from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = pytest.mark.slow


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 120
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def worker_of(process: "subprocess.Popen[str]") -> psutil.Process | None:
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [one for one in children if "harness.runner.executing.worker" in " ".join(one.cmdline())]
    return workers[0] if workers else None


def answered(cli: CommandLine, server: Any, *words: str, suspend: Callable[[Any], None]) -> list[RunRecord]:
    """The records of a run; `suspend` is called with its process once a few queries were asked."""
    command = ("run", "--config", str(SMOKE), "--json", "--records-only", *over_http("generator", server), *words)
    asked_before = server.model.served["calls"]
    process = cli.begin(*command, stdout=subprocess.PIPE)
    try:
        wait_for(lambda: server.model.served["calls"] > asked_before + 3)
        suspend(process)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err
    (made,) = json.loads(out)["runs"]
    return list(RunDir(Path(made["path"])).iter_records())


def test_a_suspended_worker_leaves_latency_unknown_and_no_query_late(indexed: CommandLineHere, serve: Any) -> None:
    def suspend(process: "subprocess.Popen[str]") -> None:
        time.sleep(0.7)  # The next query has begun by then.
        with suspended(wait_for(lambda: worker_of(process)).pid):
            # Longer than the time limit and what the command allows beyond it.
            time.sleep(24)

    limits = ("--set", "limits.query_timeout_s=7", "--set", "limits.concurrency=1")
    server = serve(FakeScript(latency_s=2.0))
    records = answered(CommandLine(indexed.folder, indexed.env), server, *limits, suspend=suspend)
    assert [record.status for record in records] == ["ok"] * 8
    assert [record.attempt for record in records] == [1] * 8
    known = [record.cost.latency_s for record in records if record.cost.latency_s is not None]
    assert len(known) == 7
    assert 2 < min(known) < max(known) < 10
    (unknown,) = (record.cost for record in records if record.cost.wall_s is None)
    assert unknown.throttled_s is None
    assert unknown.stages_s == {}
