"""Evaluating saved runs by the command line: judges over HTTP, kill -9, judges that are down, mistakes."""

import json
import random
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import SMOKE, CommandLine, CommandLineHere, over_http
from damaging import WorkersHere
from journals import usage_by_role

from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.long]

SAMPLE = ("--set", "dataset.sample.per_type=3")
RAGAS = (
    *("--evaluators", "answer,ragas", "--set", "models.judge_embedder.provider=fake"),
    *("--set", "per_evaluator.ragas.metrics=[context_recall,faithfulness,response_relevancy]"),
)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run, which no test changes."""
    folder = tmp_path_factory.mktemp("answered")
    with WorkersHere():
        CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")}).run(*SAMPLE)
    return folder


@pytest.fixture
def cli(tmp_path: Path, answered: Path) -> CommandLine:
    """The command line in a folder with a copy of that run."""
    shutil.copytree(answered / "results", tmp_path / "results")
    return CommandLine(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


@pytest.fixture
def run(cli: CommandLine) -> RunDir:
    (path,) = cli.results.glob("demo--naive--*")
    return RunDir(path)


def judged_by(server: Any) -> list[str]:
    """The words that ask `server`."""
    return ["--quiet", *over_http("judge", server, max_concurrency=2, max_retries=0)]


def scores_of(run: RunDir) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run.path / "scores").glob("*.jsonl"))}


@pytest.fixture
def down(serve: Any) -> Any:
    """A server that has been closed."""
    server = serve()
    server.shutdown()
    server.server_close()
    return server


def test_kills_change_no_byte_of_scores(cli: CommandLine, here: CommandLineHere, run: RunDir, serve: Any) -> None:
    server = serve(FakeScript(latency_s=0.05))
    words = ["evaluate", run.run_id, "--evaluators", "answer,retrieval,rag_eval", *judged_by(server)]
    draw, killed = random.Random(7), 0
    for _ in range(3):
        before, process = server.model.served["calls"], cli.begin(*words, stderr=subprocess.DEVNULL)
        # The clock starts with the first judgement of this attempt.
        while server.model.served["calls"] == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.6))
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert killed, "every attempt ended before it was killed: slow the judge down"
    done = here.call(*words)
    assert done.returncode in {0, 3}, done.stderr
    open_now = psutil.Process().net_connections("tcp")
    assert [one for one in open_now if one.raddr and one.raddr.port == server.server_address[1]] == []
    after_kills, journal = scores_of(run), cli.results / "judge" / "calls.sqlite"
    calls = usage_by_role(journal)["judge"].calls
    # Two calls at once, at most, were under way when it was killed, and are paid again.
    assert calls <= server.model.served["calls"] <= calls + 2 * killed

    for path in (journal, *(run.path / "scores").iterdir()):
        path.unlink()
    assert here.call(*words).returncode == done.returncode
    assert scores_of(run) == after_kills


def test_a_judge_without_a_key_is_exit_2_and_one_down_is_3(here: CommandLineHere, run: RunDir, down: Any) -> None:
    done = here.call("evaluate", run.run_id, "-e", "answer,rag_eval", "--set", "models.judge.provider=openai")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("error: provider 'openai' needs a key")
    assert (run.path / "scores" / "answer.jsonl").exists()
    assert not (run.path / "scores" / "rag_eval.jsonl").exists()
    done = here.call("evaluate", run.run_id, *RAGAS, *judged_by(down))
    assert done.returncode == 3, done.stderr
    for said in ("ragas has no value for", "cannot reach the judge at", "rag-harness evaluate"):
        assert said in done.stderr
    assert {score.status for score in run.scores() if score.measure == "accuracy"} == {"scored"}


def test_a_run_refuses_a_judge_that_is_down_before_it_answers_anything(here: CommandLineHere, down: Any) -> None:
    elsewhere = here.folder / "elsewhere"
    words = ("run", "-c", str(SMOKE), "--results", str(elsewhere), "--set", "evaluators=[rag_eval]")
    assert "cannot reach the judge at" in here.refused(*words, *over_http("judge", down))
    assert not list(elsewhere.glob("*/records.jsonl"))


def test_evaluate_uses_the_evaluators_of_the_run_and_prints_json(here: CommandLineHere, run: RunDir) -> None:
    done = here.call("evaluate", run.run_id, "--json")
    assert done.returncode == 0, done.stderr
    evaluations = {one["evaluator"]: one["n_failed"] for one in json.loads(done.stdout)["evaluations"]}
    assert evaluations == {"answer": 0, "retrieval": 0, "failure_analysis": 0}
