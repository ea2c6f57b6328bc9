"""kill -9 anywhere, then the same command: nothing is lost, nothing is paid twice, the result is the same."""

import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import SMOKE, CommandLine, CommandLineHere, over_http
from damaging import WorkersHere
from killing import journaled, kill_somewhere, what_was_answered

from harness.core.records import RunRecord
from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.long]

SAMPLE = ("--set", "dataset.sample.per_type=5", "--set", "limits.concurrency=2")
SYSTEMS = ("-s", "naive", "-s", "kg")
KILLS = 4
UNDER_WAY = 8
"""Most calls at once: chunks that are extracted side by side."""


@pytest.mark.timeout(900)
def test_kills_at_random_moments_change_nothing(cli: CommandLine, tmp_path: Path, serve: Any) -> None:
    """Many more kills, over all stages, are made by scripts/research/kill_runs.py."""
    server = serve(FakeScript(latency_s=0.15))
    words = [
        *("run", "--config", str(SMOKE), *SYSTEMS, "--json", "--records-only", "--quiet", *SAMPLE),
        *over_http("embedder", server, batch_size=2),
        *over_http("generator", server),
    ]
    whole = CommandLineHere(tmp_path / "whole", {"RAG_HARNESS_CACHE": str(tmp_path / "whole-cache")})
    whole.folder.mkdir()
    with WorkersHere():
        done = whole.call(*words)
    assert done.returncode == 0, done.stderr
    calls_of_one_run = server.model.served["calls"]

    draw = random.Random(20261121)
    for number in range(KILLS):
        kill_somewhere(cli, words, draw.uniform(0.3, 6.0) + 2 * number, draw)
    finished = cli.call(*words)
    assert finished.returncode == 0, finished.stderr

    expected_runs = {path.name: RunDir(path) for path in whole.results.glob("demo--*")}
    resumed_runs = {path.name: RunDir(path) for path in cli.results.glob("demo--*")}
    assert resumed_runs.keys() == expected_runs.keys()
    for run_id, resumed in resumed_runs.items():
        lines: list[RunRecord] = list(resumed.iter_records())
        assert len(lines) == len({record.query_id for record in lines}) == 20
        assert what_was_answered(resumed) == what_was_answered(expected_runs[run_id])
        assert resumed.done() is not None
        for name in ("calls.sqlite", "../indexes/calls.sqlite"):
            calls = journaled(resumed.path / name)
            assert len(calls) == len(set(calls))
    # Only what was under way at a kill can have been asked twice.
    assert server.model.served["calls"] - 2 * calls_of_one_run <= UNDER_WAY * KILLS


@pytest.mark.usefixtures("workers_here")
def test_a_finished_run_stays_and_a_torn_record_is_replayed(indexed: CommandLineHere, serve: Any) -> None:
    server = serve()
    words = over_http("generator", server)
    first = indexed.run(*words)
    run, served = RunDir(Path(first["path"])), dict(server.model.served)
    before = what_was_answered(run)
    again = indexed.run(*words)
    assert (again["run_id"], again["status"], again["n_ok"]) == (first["run_id"], "done", 8)
    assert server.model.served == served
    records = run.path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-40])
    (run.path / "done.json").unlink()
    again = indexed.run(*words)
    assert "incomplete" in again["stderr"]
    assert what_was_answered(run) == before
    assert server.model.served == served
    replayed = [record.cost.replayed_calls for record in run.iter_records()]
    # One call for the query vector, one for the answer.
    assert replayed == [0] * 7 + [2]


@pytest.mark.usefixtures("workers_here")
def test_damage_in_the_middle_of_the_records_is_named_by_its_line(indexed: CommandLineHere) -> None:
    run = RunDir(Path(indexed.run()["path"]))
    records = run.path / "records.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"query_id": "demo-\n'
    records.write_bytes(b"".join(lines))
    assert "records.jsonl does not match its checksum in done.json" in indexed.refused("report", run.run_id)
    (run.path / "done.json").unlink()
    assert "records.jsonl line 3 is damaged" in indexed.refused("report", run.run_id)
    assert (indexed.run()["n_ok"], len(run.records())) == (8, 8)


def test_ctrl_c_says_how_to_resume_and_the_same_command_does(cli: CommandLine, serve: Any) -> None:
    server = serve(FakeScript(latency_s=0.5))
    words = ["run", "--config", str(SMOKE), "--json", "--records-only", *over_http("generator", server)]
    process = cli.begin(*words, stdout=subprocess.PIPE)
    # A call that the server has answered is none yet that the run has heard of.
    while not any(path.stat().st_size for path in cli.results.glob("*/records.jsonl")):
        assert process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To resume: rag-harness run" in complaint.splitlines()[-1]
    assert psutil.wait_procs(children, timeout=10)[1] == []
    assert "partial" in cli.call("plan", *words[1:3], *words[5:]).stdout
    finished = cli.call(*words)
    assert finished.returncode == 0
    assert '"n_ok": 8' in finished.stdout
