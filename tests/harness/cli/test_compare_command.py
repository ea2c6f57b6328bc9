"""`rag-harness compare` as a user calls it."""

import json
import re
from pathlib import Path

import pytest
from command_line import CommandLine, CommandLineHere
from paired_runs import ScoredRun, write_run

pytestmark = pytest.mark.slow


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "100"})


def names(cli: CommandLine, *counts: int) -> list[str]:
    """Runs with so many right answers of 40, by the names under which they are found."""
    runs = []
    for number, count in enumerate(counts):
        answers = [1.0] * count + [0.0] * (40 - count)
        runs.append(write_run(cli.results, ScoredRun(system=f"s{number}", scores={"accuracy": answers})).run_id)
    return runs


def test_runs_are_compared_printed_and_written(cli: CommandLine) -> None:
    runs = names(cli, 35, 34, 10)
    done = cli.call("compare", *runs, "--measures", "accuracy", "--out", "found")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if re.match(r"s\d", line)] == ["s0", "s1", "s2"]
    full = cli.call("compare", *runs, "--measures", "accuracy", "--full")
    for pair in (r"s0, s1 .*\] ~", r"s0, s2 .*\] >"):
        assert re.search(f"^{pair}", full.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == "comparison: found"
    assert {path.name for path in (cli.folder / "found").glob("[!.]*")} == {"comparison.csv", "differences.csv"}


def test_two_runs_take_at_most_25_lines_of_80_columns(cli: CommandLine) -> None:
    lines = cli.call("compare", *names(cli, 35, 10)).stdout.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert "significantly better" in lines[1]


def test_json_is_one_value_and_a_run_to_compare_with_makes_a_family_of_its_own(cli: CommandLine) -> None:
    first, *others = names(cli, 35, 34, 10)
    done = cli.call("compare", *others, "--against", first, "--measures", "accuracy, latency_s", "--json")
    value = json.loads(done.stdout)
    assert value["against"] == "s0"
    assert [one["measure"] for one in value["measures"]] == ["accuracy", "latency_s"]
    assert [pair["family"] for pair in value["measures"][0]["pairs"]] == [2, 2]


def test_the_margin_says_which_of_two_is_as_good_and_is_checked_as_that_of_a_report(cli: CommandLine) -> None:
    runs = names(cli, 35, 34)
    five = cli.call("compare", *runs, "--measures", "accuracy", "--full")
    assert "within 5 points" in five.stdout
    wide = cli.call("compare", *runs, "--measures", "accuracy", "--margin", "20", "--json")
    (pair,) = json.loads(wide.stdout)["measures"][0]["pairs"]
    assert (pair["margin"], pair["as_good"], pair["result"]) == (20.0, "both", "tie")
    for command in ("compare", "report"):
        done = cli.call(command, *runs, "--margin", "0")
        assert (done.returncode, "Invalid value for '--margin'" in done.stderr) == (2, True), command


def test_what_cannot_be_compared_is_one_line(cli: CommandLine) -> None:
    first, second = names(cli, 35, 10)
    assert "at least two different runs" in cli.refused("compare", first, first)
    assert "no run ''" in cli.refused("compare", first, second, "--against", "")
    assert "'acc' has no value in s0" in cli.refused("compare", first, second, "--measures", "acc")
