"""`rag-harness gate` as a user, or a CI job, calls it."""

import json
import shutil
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import CommandLine
from paired_runs import IMPUTED, ScoredRun, Value, write_run

from harness.core.errors import EXIT_DONE, EXIT_GATE_FAILED, EXIT_UNDERPOWERED, EXIT_USER
from harness.core.records import Cost, EvaluationRecord

RIGHT: tuple[Value, ...] = (1.0, 1.0, 1.0, 0.0) * 50
WORSE: tuple[Value, ...] = (1.0, 0.0, 1.0, 0.0) * 50


def made(cli: CommandLine, system: str, values: Sequence[Value] = RIGHT, **plan: Any) -> str:
    return write_run(cli.results, ScoredRun(system=system, scores={"accuracy": values}, **plan)).run_id


def gated(cli: CommandLine, *words: str) -> tuple[int, dict[str, Any]]:
    done = cli.call("gate", *words, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_each_outcome_has_its_exit_code(cli: CommandLine) -> None:
    new, old = made(cli, "new"), made(cli, "old")
    worse = made(cli, "worse", WORSE)
    assert gated(cli, new, "-b", old, "--max-drop", "accuracy=0.05", "--min", "accuracy=0.6")[0] == EXIT_DONE
    code, found = gated(cli, worse, "-b", old, "--max-drop", "accuracy=0.05", "--min", "accuracy=0.3")
    assert (code, found["outcome"]) == (EXIT_GATE_FAILED, "fail")
    assert [one["outcome"] for one in found["conditions"]] == ["pass", "fail"]
    code, found = gated(cli, new, "--min", "accuracy=0.74")
    assert (code, found["conditions"][0]["outcome"]) == (EXIT_UNDERPOWERED, "underpowered")
    assert found["conditions"][0]["n_needed"] > 200


def test_failed_queries_count_as_wrong_and_costs_are_limited_in_their_unit(cli: CommandLine) -> None:
    old, failing = made(cli, "old", latency_s=(1.0, 1.2)), made(cli, "failing", (IMPUTED, 1.0, 1.0, 0.0) * 50)
    code, found = gated(cli, failing, "-b", old, "--max-drop", "accuracy=0.05")
    assert (code, found["n_failed"]) == (EXIT_GATE_FAILED, 50)
    assert found["conditions"][0]["value"] == pytest.approx(0.25)
    assert "latency_s" in cli.refused("gate", failing, "--max", "latency_s=5")
    slow = made(cli, "slow", latency_s=(4.0, 4.5))
    limits = ("--max", "latency_s=5", "--max-drop", "latency_s=1", "--max", "usd_per_1000=1")
    code, found = gated(cli, slow, "-b", old, *limits)
    assert code == EXIT_GATE_FAILED
    most, usd, drop = found["conditions"]
    assert most["outcome"] == "pass"
    assert drop["value"] == pytest.approx(3.15)
    # 200 input and 5 output tokens at $0.15 and $0.60 a million.
    assert usd["value"] == pytest.approx(0.033, abs=0.001)


def test_the_result_is_short_and_ci_can_read_it(cli: CommandLine) -> None:
    old, worse = made(cli, "old"), made(cli, "worse", WORSE, latency_s=(1.0, 1.2))
    words = ("--max-drop", "accuracy=0.05", "--min", "accuracy=0.52", "--max", "latency_s=5", "--junit", "out.xml")
    done = cli.call("gate", worse, "-b", old, *words)
    assert done.returncode == EXIT_GATE_FAILED
    assert len(done.stdout.splitlines()) <= 20
    assert max(map(len, done.stdout.splitlines())) <= 80
    suite = ElementTree.parse(cli.folder / "out.xml").getroot()
    assert [suite.attrib[key] for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [len(case) for case in suite] == [1, 0, 1]


def test_each_run_or_condition_that_cannot_be_checked_is_one_line(cli: CommandLine) -> None:
    new, old = made(cli, "new"), made(cli, "old")
    drop = ("--max-drop", "accuracy=0.05")
    judge = EvaluationRecord(evaluator="answer", version="2", cost=Cost(wall_s=0.0))
    moved, fewer = made(cli, "moved", digest="e" * 64), made(cli, "fewer", RIGHT[:100])
    partial, judged = made(cli, "partial", unfinished=3), made(cli, "judged", evaluator=judge)
    refused: list[tuple[str, ...]] = [
        (new, *drop),
        *((new, "-b", other, *drop) for other in (new, moved, fewer, partial, judged, "nowhere")),
        (partial, "--min", "accuracy=0.5"),
        (new, "-b", old, "--max-drop", "acuracy=0.05"),
        *((new, "--min", f"accuracy={number}") for number in ("high", "0_3", "-1", "5")),
        (new, "-b", old, "--max-drop", "accuracy=1.5"),
        (new, "-b", str(shutil.copytree(cli.results / new, cli.folder / "copy" / new)), *drop),
        (new, "--min", "accuracy=0.5", "--min", "accuracy=0.6"),
        (new,),
        (new, "-b", old, *drop, "--holdout"),
    ]
    for words in refused:
        assert cli.refused("gate", *words)


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_held_out_queries_are_asked_by_the_gate_alone_and_each_opening_is_logged(cli: CommandLine) -> None:
    words = ("--set", "dataset.sample.per_type=10", "--set", "dataset.sample.holdout=0.3")
    done = [cli.run(*words, "--set", f"answer.top_k={k}") for k in (2, 3)]
    new, old = (cli.results / str(one["run_id"]) for one in done)
    assert cli.call("evaluate", str(new), str(old), "-e", "answer", "--quiet").returncode == 0
    asked = {json.loads(line)["query"]["query_id"] for line in (new / "sample.jsonl").read_text().splitlines()}
    log = cli.results / "holdout" / "openings.jsonl"
    assert cli.refused("gate", str(new), "-b", str(old), "--min", "no_metric=1", "--holdout")
    assert not log.exists()
    limits = ("--max-drop", "accuracy=0.5", "--holdout", "--trust", "--quiet")
    for n in (1, 2):
        code, found = gated(cli, str(new), "-b", str(old), *limits)
        assert code in {EXIT_DONE, EXIT_UNDERPOWERED, EXIT_GATE_FAILED}
        assert len(found["holdout_openings"]) == n == len(log.read_text().splitlines())
    run = cli.results / "holdout" / found["run"]
    assert {path.parent for path in cli.results.glob("*/manifest.json")} == {new, old}
    held_out = {json.loads(line)["query"]["query_id"] for line in (run / "sample.jsonl").read_text().splitlines()}
    assert len(held_out) == found["n_queries"] > 0
    assert not held_out & asked
    # Another share holds out queries that these runs were asked.
    wider = str(cli.run(*words[:-1], "dataset.sample.holdout=0.5")["run_id"])
    assert cli.call("evaluate", wider, "-e", "answer", "--quiet").returncode == 0
    assert cli.refused("gate", wider, "--min", "accuracy=0", "--holdout", "--trust")
    # One that was killed left its run beside the others.
    run.rename(cli.results / run.name)
    assert gated(cli, str(old), "--min", "accuracy=0", "--holdout", "--trust", "--quiet")[0] != EXIT_USER
    assert run.is_dir()
