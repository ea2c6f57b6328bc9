"""Whole runs over HTTP: models that misbehave, refuse what was always sent, or think before they speak."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import SMOKE, CommandLineHere, over_http

from harness.core.records import RunRecord
from harness.datasets import QuerySample, demo, load_dataset
from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_here")]


def records_of(made: dict[str, Any]) -> list[RunRecord]:
    return list(RunDir(Path(made["path"])).iter_records())


def test_a_server_that_dies_stops_the_run_and_answers_are_kept(indexed: CommandLineHere, serve: Any) -> None:
    # It refuses the key at the eleventh of twenty queries: for the run the same as a server that is gone.
    sample = load_dataset(demo.SPEC, sample=QuerySample(per_type=5, seed=42))
    server = serve(FakeScript(fault="http_401", fault_match=re.escape(sample.queries[10].text)))
    words = [*over_http("generator", server, max_retries=0), "--set", "dataset.sample.per_type=5"]
    indexed.refused("run", "-c", str(SMOKE), "--quiet", "--records-only", *words)
    (run,) = [RunDir(path) for path in indexed.results.glob("demo--*")]
    kept = list(run.iter_records())
    assert 0 < len(kept) < 20
    assert all(record.status == "ok" for record in kept)
    server.model.script = FakeScript()
    again = indexed.run(*words)
    assert (again["n_ok"], again["n_error"]) == (20, 0)
    assert list(run.iter_records())[: len(kept)] == kept


def test_failed_queries_are_retried_only_on_request(indexed: CommandLineHere, serve: Any) -> None:
    # Queries only: the first prompt, which tests the model, is another one every day.
    server = serve(FakeScript(fault="malformed", fault_rate=0.5, seed=1, fault_match="Question:"))
    words = over_http("generator", server, max_retries=0)
    made = indexed.run(*words)
    assert made["n_error"] > 0
    assert made["rc"] == 3
    server.model.script = FakeScript()
    assert indexed.run(*words)["n_error"] == made["n_error"]
    again = indexed.run(*words, "--retry-failed")
    assert (again["n_ok"], again["n_error"]) == (8, 0)
    attempts = [record.attempt for record in records_of(again)]
    assert attempts == [1] * 8 + [2] * made["n_error"]


def test_throttling_is_kept_apart_from_latency(indexed: CommandLineHere) -> None:
    options = ["fault=http_429", "fault_times=1", "retry_after_s=1.0"]
    words = [word for option in options for word in ("--set", f"models.generator.options.{option}")]
    made = indexed.run(*words, "--set", "dataset.sample.per_type=1")
    assert made["n_ok"] == 4
    for record in records_of(made):
        wall_s, throttled_s, latency_s = record.cost.wall_s, record.cost.throttled_s, record.cost.latency_s
        assert wall_s is not None and throttled_s is not None and latency_s is not None
        # Of the second that was asked for; a clock may read some thousandths less.
        assert throttled_s > 0.9
        assert latency_s < wall_s - 0.9
        assert record.cost.usage["generator"].calls == 1


RUN = ("run", "-c", str(SMOKE), "--quiet")


def test_parameters_that_a_server_refuses_are_left_out_and_reported(indexed: CommandLineHere, serve: Any) -> None:
    server = serve(FakeScript(refuses=("temperature", "max_tokens")))
    words = over_http("generator", server)
    done = indexed.call(*RUN, "--set", "limits.concurrency=8", *words)
    assert done.returncode == 0, done.stderr
    (run,) = [RunDir(path.parent) for path in indexed.results.glob("*/done.json")]
    assert [record.status for record in run.iter_records()] == ["ok"] * 8
    assert run.dialects()["generator"].sent_as == {"temperature=0.0": None, "max_tokens": "max_completion_tokens"}
    # All that a quiet run says is where its report is.
    page = indexed.folder / done.stdout.rstrip("\n")
    assert page in indexed.results.glob("reports/*/report.html")
    summary = page.with_name("summary.md").read_text()
    assert "Not sent to the generator fake, which refuses it: temperature=0.0." in summary
    # The call before the run, which finds out, and those of its queries.
    assert (server.model.served["calls"], server.model.served["faults"]) == (9, 2)
    with closing(sqlite3.connect(indexed.results / "indexes" / "calls.sqlite")) as journal:
        asked = journal.execute("SELECT role, paid_by FROM calls WHERE scope LIKE 'preflight/%'").fetchall()
    assert asked == [("generator", run.run_id)]


def test_a_refused_setting_is_one_line_before_the_index_is_paid(here: CommandLineHere, serve: Any) -> None:
    words = over_http("generator", serve(FakeScript(refuses=("top_k",))))
    said = here.refused(*RUN, *words, "--set", "models.generator.extra.top_k=5")
    assert "refuses what it is asked (HTTP 400: Unsupported parameter: 'top_k'" in said
    assert "change models.generator (it is sent top_k, " in said
    assert list(here.results.glob("*/manifest.json")) == []


FORMS = ("{1}", "<think>\n{0}\n</think>\n\n{1}", "analysis{0}assistantfinal{1}")
"""Of an answer {1} with the reasoning {0}."""


def test_reasoning_is_removed_before_scoring_and_reported(here: CommandLineHere, serve: Any) -> None:
    urls = []
    for form in FORMS:
        server = serve(FakeScript())
        answer = server.model._answer
        # The words of the reasoning would be a right answer to a query.
        server.model._answer = lambda text, request, form=form, answer=answer: form.format(
            "Perhaps Marta Lind.", answer(text, request)
        )
        urls.append(server.base_url)
    words = ("-s", "closed-book", "--set", "dataset.sample.per_type=3", *over_http("generator", server))
    done = here.call(*RUN, *words, "--set", f"matrix={json.dumps({'models.generator.base_url': urls})}")
    assert done.returncode == 0, done.stderr
    scores, reasoned = {}, {}
    for path in here.results.glob("*/scores/answer.jsonl"):
        run = RunDir(path.parents[1])
        url = run.manifest().identity["models"]["generator"]["base_url"]
        rows = map(json.loads, path.read_text().splitlines())
        scores[url] = sorted((row["measure"], row["query_id"], row["value"]) for row in rows)
        reasoned[url] = sum(bool(record.prediction and record.prediction.trace) for record in run.iter_records())
    assert len({query for _, query, _ in scores[urls[0]]}) == 12
    assert [scores[url] == scores[urls[0]] for url in urls] == [True] * 3
    assert [reasoned[url] for url in urls] == [0, 12, 12]
    summary = (here.folder / done.stdout.rstrip("\n")).with_name("summary.md").read_text()
    assert summary.count("Reasoning was removed from 12 answers") == 2
