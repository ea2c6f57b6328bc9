"""A budget in real processes: stopped before it is passed, resumed by the same command, nothing paid twice."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere, over_http
from waiting import wait_for

from harness.core.errors import EXIT_BUDGET
from harness.core.records import Usage
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.store import RunDir
from harness.store.call_journal import paid_by_runs

pytestmark = [pytest.mark.slow, pytest.mark.long]

RUN = ("run", "--config", str(SMOKE), "--json", "--quiet")
BY_HEART = ("--system", "closed-book")
"""One call a query, and no index to build: the least that a budget can stop."""


def run(cli: CommandLine, *words: str) -> tuple[int, dict[str, Any], str]:
    """(exit code, the run, standard error)."""
    done = cli.call(*RUN, *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["runs"][0], done.stderr


def served(*servers: FakeServer) -> int:
    """Tokens that the servers counted."""
    return sum(one.model.served["input_tokens"] + one.model.served["output_tokens"] for one in servers)


def calls(server: FakeServer) -> int:
    return int(server.model.served["calls"])


def paid(results: Path) -> int:
    journals = [*results.glob("*/calls.sqlite")]
    total = sum((usage for path in journals for usage in paid_by_runs(path).values()), Usage())
    return total.input_tokens + total.output_tokens


@pytest.mark.usefixtures("workers_here")
def test_tokens_stop_the_answers_and_a_larger_budget_goes_on(here: CommandLineHere, serve: Any) -> None:
    server = serve(FakeScript(latency_s=0.05))
    words = [*BY_HEART, *over_http("generator", server), "--set", "limits.concurrency=4"]
    code, made, said = run(here, *words, "--set", "budget.tokens=1500")
    first, n_first = served(server), calls(server)
    assert (code, made["status"]) == (EXIT_BUDGET, "stopped")
    assert 0 < made["n_ok"] < 8
    assert made["n_error"] == 0
    assert first == paid(here.results) <= 1500
    line = said.strip().splitlines()[-1]
    assert line.startswith("stopped at the budget (the next generator call may take up to ")
    assert f"{first:,} of 1,500 tokens; {made['n_ok']} of 8 queries answered." in line
    assert line.endswith(" --set budget.tokens=3000")
    directory = RunDir(Path(made["path"]))
    assert directory.done() is None
    assert "answer" in {evaluation.evaluator for evaluation in directory.evaluations()}, "what is there is scored"
    assert list(here.results.glob("reports/*/summary.csv"))

    words += ["--records-only"]
    assert run(here, *words, "--set", "budget.tokens=1500")[0] == EXIT_BUDGET
    assert served(server) <= 1500
    code, made, _ = run(here, *words, "--set", "budget.tokens=1000000")
    assert (code, made["status"], made["n_ok"]) == (0, "done", 8)
    # One for each query, and the one before all that finds out whether it answers: no call is made twice.
    assert calls(server) == 9 > n_first
    assert served(server) == paid(here.results)


@pytest.mark.usefixtures("workers_here")
def test_dollars_stop_a_half_built_index_that_the_next_run_takes_up(here: CommandLineHere, serve: Any) -> None:
    server = serve()
    unpriced = ["run", "--config", str(SMOKE), *over_http("generator", server), "--set", "budget.usd=1"]
    assert "generator openai-compatible/fake has no price" in here.refused(*unpriced)
    assert (calls(server), here.results.exists()) == (0, False)
    kg = ("--system", "kg", "--records-only")
    words = [*kg, *over_http("generator", server, model="gpt-4o-mini")]
    code, made, said = run(here, *words, "--set", "budget.usd=0.003")
    assert (code, made["status"], made["n_ok"]) == (EXIT_BUDGET, "stopped", 0)
    assert "of $0.003; 0 of 8 queries answered" in said
    counts = server.model.served
    assert 0.15 * counts["input_tokens"] + 0.6 * counts["output_tokens"] <= 3000
    n_first = calls(server)
    assert n_first > 0
    code, made, _ = run(here, *words, "--set", "budget.usd=1")
    assert (code, made["status"], made["n_ok"]) == (0, "done", 8)
    other, fresh = CommandLineHere(here.folder / "other", here.env), serve()
    other.folder.mkdir()
    run(other, *kg, *over_http("generator", fresh, model="gpt-4o-mini"))
    assert calls(server) == calls(fresh)


def test_the_time_ends_a_run_and_the_same_command_goes_on(here: CommandLineHere, serve: Any) -> None:
    slow = serve(FakeScript(fault="hang", fault_match=r"\?"))
    words = [*BY_HEART, *over_http("generator", slow), "--records-only", "--set", "budget.minutes=0.1"]
    start = time.monotonic()
    code, made, said = run(here, *words)
    # Far from the hour after which a call would have ended.
    assert time.monotonic() - start < 60
    assert (code, made["status"], made["n_ok"] + made["n_error"]) == (EXIT_BUDGET, "stopped", 0)
    assert "the time is over" in said
    assert "--set budget.minutes=0.1\n" in said
    slow.model.script = FakeScript()
    assert run(here, *words, "--set", "budget.minutes=10")[1]["status"] == "done"


def test_kill_in_the_middle_keeps_the_sum_under_the_budget(cli: CommandLine, serve: Any) -> None:
    server = serve(FakeScript(latency_s=2.0))
    limits = ("--set", "limits.concurrency=2", "--set", "budget.tokens=3000")
    words = [*over_http("generator", server), *BY_HEART, *limits, "--records-only"]
    process = cli.begin(*RUN, *words, stderr=subprocess.DEVNULL)
    wait_for(lambda: calls(server) >= 2)
    time.sleep(1)
    process.kill()
    process.wait()
    time.sleep(3)  # Until the server has answered them.
    # Those under way were served and never journaled: they count with what they may have taken.
    assert served(server) <= paid(cli.results) <= 3000
    server.model.script = FakeScript()
    assert run(cli, *words)[0] == EXIT_BUDGET
    assert served(server) <= paid(cli.results) <= 3000


@pytest.mark.usefixtures("workers_here")
def test_a_judge_stopped_by_the_budget_writes_no_scores_and_resumes(here: CommandLineHere, serve: Any) -> None:
    generator, judge = serve(), serve()
    asking = over_http("judge", judge)
    settings = ("--set", "models.embedder.provider=minilm", "--set", "evaluators=[answer, rag_eval]")
    words = [*over_http("generator", generator), *asking, *settings]
    _, made, _ = run(here, *words, "--records-only")
    limit = served(generator) + 15_000
    code, made, said = run(here, *words, "--set", f"budget.tokens={limit}")
    assert (code, made["status"]) == (EXIT_BUDGET, "done")
    assert "stopped at the budget (the next judge call may take up to " in said
    assert 0 < served(judge) <= 15_000, said
    directory = RunDir(Path(made["path"]))
    assert [evaluation.evaluator for evaluation in directory.evaluations()] == ["answer"]
    for tokens, code in ((limit, EXIT_BUDGET), (10_000_000, 0)):
        assert served(generator, judge) <= limit
        done = here.call("evaluate", made["run_id"], "--quiet", *asking, "--set", f"budget.tokens={tokens}")
        assert done.returncode == code, done.stderr
    assert [evaluation.evaluator for evaluation in directory.evaluations()] == ["answer", "rag_eval"]
    assert served(generator, judge) == paid(here.results)
