"""scripts/bench, the runner and the judges: the same is compared, and tables say what was measured."""

import importlib
import json
import urllib.request
from pathlib import Path
from typing import Any

import large_runs
import pytest

from harness.datasets import load_dataset
from harness.protocols import DatasetRow
from harness.registry import DATASETS


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--repeats", "0"], "'0' is not a count: write a number of 1 or more"),
        (["--latencies", "nan"], "'nan' is not a time: write seconds, 0 or more"),
    ],
)
def test_what_cannot_be_measured_is_one_line_before_anything_is(
    words: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["runner.py", *words])
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module("runner").main()
    assert complaint in capsys.readouterr().err.splitlines()[-1]


def test_the_limit_is_the_longest_chain_of_calls_and_all_calls_without_a_gap() -> None:
    load = importlib.import_module("runner").Load(queries=100, calls=8, at_once=64, latency_s=0.05)
    assert load.path_s == pytest.approx(0.8)
    assert load.work_s == pytest.approx(0.625)


def test_a_row_says_the_median_and_how_far_it_is_from_both_limits() -> None:
    runner = importlib.import_module("runner")
    load = runner.Load(queries=100, calls=8, at_once=64, latency_s=0.05)
    times = [runner.Took(wall_s=wall_s, cpu_s=0.8, calls=800, command_s=5.0) for wall_s in (1.0, 1.2, 0.9)]
    row = runner.row("this way", load, times)
    assert row == ["50 ms", "this way", "1.00 (0.90 to 1.20)", "1.25", "1.60", "800", "1.00 (1.00 to 1.00)", "5.0"]
    instant = runner.row("this way", runner.Load(100, 8, 64, 0.0), times[:1])
    assert instant[2:5] == ["1.00", "-", "-"]


def test_parts_of_a_call_and_their_rest_are_what_the_harness_adds() -> None:
    layers = {"http": [1.0, 1.0], "client": [1.5, 1.7], "harness": [2.5, 2.9], "create": [3.0, 3.0]}
    parts = {"journal": [0.1, 0.1], "record, an eighth, on the disk": [0.5, 0.5]}
    rows = {what: ms for _, what, ms, _ in importlib.import_module("call_cost").table(layers, parts)}
    assert rows["on top of both"] == "1.100"
    assert rows["rest: replies read and checked, responses made, retries"] == "1.000"
    assert rows["a call of a run"] == "2.700"


def test_the_server_counts_what_it_answered() -> None:
    server = importlib.import_module("model_server")
    with server.serving(0.0, "judge") as url:
        assert server.served(url) == 0
        request = urllib.request.Request(f"{url}/chat/completions", data=b'{"messages": []}')
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert json.loads(reply.read())["choices"]
        assert server.served(url) == 1


def chat(prompt: str, schema: Any = None) -> Any:
    request: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}]}
    if schema is not None:
        request["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    reply = importlib.import_module("model_server").judged("/v1/chat/completions", json.dumps(request).encode())
    return json.loads(reply)["choices"][0]["message"]["content"]


def test_the_judge_keeps_to_a_schema_wherever_it_stands() -> None:
    schema = {"type": "object", "properties": {"verdict": {"type": "integer"}}, "required": ["verdict"]}
    asked = f"Judge. The reply is specified in JSON Schema:\n{json.dumps(schema)}\nNow it is your turn."
    for said in (chat("Judge.", schema), chat(asked)):
        assert json.loads(said)["verdict"] in {0, 1}
    assert chat("Rate it from 0 to 2.") == "1"


@pytest.mark.slow
def test_a_run_is_measured_from_its_first_query_to_its_last_record() -> None:
    runner, module = importlib.import_module("runner"), importlib.import_module("model_server")
    load = runner.Load(queries=3, calls=2, at_once=2, latency_s=0.05)
    with module.serving(load.latency_s) as url:
        took = runner.one_run(load, url)
    assert took.calls == 6
    # Two rounds of two calls; the command starts processes besides.
    assert load.path_s <= took.wall_s < took.command_s


# The runs that measurements of the report are made of: they can be read as today's runs are.


def test_a_made_up_run_of_every_system_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_HARNESS_DATA", raising=False)
    demo = load_dataset(DATASETS.load("demo"))
    asked = [DatasetRow(*one, doc_ids=()) for one in zip(demo.queries, demo.references, strict=True)]
    corpus = large_runs.Corpus(asked[:2], {one.doc_id: one.text for one in demo.documents})
    monkeypatch.setattr(large_runs, "_made_up", lambda _: corpus)
    for run in large_runs.make_runs(tmp_path / "results", large_runs.SYSTEMS, 2):
        assert len(run.records()) == 2, run.run_id


# What growth measurements say of points whose law is known.


def test_a_power_law_is_found_again_with_an_interval_that_holds_it_and_said_of_a_million() -> None:
    laws, at = importlib.import_module("power_laws"), (10, 40, 160, 609)

    def fitted(*values: float) -> Any:
        return laws.fitted(laws.Points("kg", "s", "documents", at[: len(values)], values))

    exact = fitted(*(3.0 * one**1.2 for one in at))
    assert exact.exponent == pytest.approx(1.2)
    assert exact.far == pytest.approx(3.0 * 1_000_000**1.2)
    noise = (1.05, 0.96, 1.03, 0.97)
    fit = fitted(*(3.0 * one**1.2 * factor for one, factor in zip(at, noise, strict=True)))
    assert fit.interval[0] < 1.2 < fit.interval[1]
    assert fit.far_interval[0] < 3.0 * 1_000_000**1.2 < fit.far_interval[1]
    assert fit.far_interval[1] / fit.far_interval[0] > 2
    # Two points have no interval, and one has no exponent.
    of_two = fitted(1.0, 4.0)
    assert of_two.exponent == pytest.approx(1.0)
    assert (of_two.interval, of_two.far_interval) == (None, None)
    assert fitted(1.0) is None
