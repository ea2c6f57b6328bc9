"""Models that refuse what was always sent, that think before they speak, and parameters of their own."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import SMOKE, CommandLineHere, over_http

from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_here")]

RUN = ("run", "-c", str(SMOKE), "--quiet")


def preflights(results: Path) -> list[Any]:
    with closing(sqlite3.connect(results / "indexes" / "calls.sqlite")) as journal:
        return journal.execute("SELECT role, paid_by FROM calls WHERE scope LIKE 'preflight/%'").fetchall()


def test_a_server_that_refuses_what_is_sent_by_default_is_asked_as_it_wants_and_the_run_says_so(
    indexed: CommandLineHere, serve: Any
) -> None:
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
    assert "Not sent to the generator fake, which refuses it: temperature=0.0." in (
        page.with_name("summary.md").read_text()
    )
    # The call before the run, which finds out, and those of its queries.
    assert (server.model.served["calls"], server.model.served["faults"]) == (9, 2)
    assert preflights(indexed.results) == [("generator", run.run_id)]


@pytest.mark.parametrize(
    ("script", "setting", "line"),
    [
        (
            FakeScript(refuses=("top_k",)),
            "models.generator.extra.top_k=5",
            "the generator fake at http://127.0.0.1:{port}/v1 refuses what it is asked (HTTP 400: Unsupported "
            "parameter: 'top_k' is not supported with this model.): change models.generator (it is sent top_k, "
            "temperature, seed, max_tokens)",
        ),
        (
            FakeScript(reasoning_tokens=5000),
            "models.generator.max_tokens=64",
            "generator fake: the model spent all of max_tokens (64, 64 of them on reasoning) before the first word"
            " of its reply: raise models.generator.max_tokens, or reasoning_tokens",
        ),
        (FakeScript(fault="http_404"), "seed=0", "has no such model or path (HTTP 404"),
    ],
    ids=["a parameter", "a limit", "a model"],
)
def test_what_every_query_would_fail_of_is_one_line_before_the_index_is_paid(
    here: CommandLineHere, serve: Any, script: FakeScript, setting: str, line: str
) -> None:
    server = serve(script)
    said = here.refused(*RUN, *over_http("generator", server), "--set", setting)
    assert line.format(port=server.server_address[1]) in said
    assert list(here.results.glob("*/manifest.json")) == []


FORMATS = (
    "<think>\n{}\n</think>\n\n{}",
    "{}\n</think>\n\n{}",
    "<think>{}</think>\n<answer>\n{}\n</answer>",
    "[THINK]{}[/THINK]{}",
    "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "analysis{}assistantfinal{}",
    "<|channel>thought\n{}<channel|>{}<turn|>",
)


def test_eight_formats_of_reasoning_score_as_the_plain_server_and_what_was_removed_is_said(
    here: CommandLineHere, serve: Any
) -> None:
    urls = []
    for form in ("{1}", *FORMATS):
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
    runs = {RunDir(path.parents[1]) for path in here.results.glob("*/scores/answer.jsonl")}
    scores, reasoned = {}, {}
    for run in runs:
        url = run.manifest().identity["models"]["generator"]["base_url"]
        rows = map(json.loads, (run.path / "scores" / "answer.jsonl").read_text().splitlines())
        scores[url] = sorted((row["measure"], row["query_id"], row["value"]) for row in rows)
        reasoned[url] = sum(bool(record.prediction and record.prediction.trace) for record in run.iter_records())
    assert len({query for _, query, _ in scores[urls[0]]}) == 12
    assert [scores[url] == scores[urls[0]] for url in urls] == [True] * 9
    assert [reasoned[url] for url in urls] == [0] + [12] * 8
    summary = (here.folder / done.stdout.rstrip("\n")).with_name("summary.md").read_text()
    assert summary.count("Reasoning was removed from 12 answers") == 8
