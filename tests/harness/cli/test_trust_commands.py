"""`rag-harness correlate` and `rag-harness sensitivity` as a user calls them."""

import json
from pathlib import Path

import pytest
from command_line import CommandLine, CommandLineHere
from paired_runs import ScoredRun, write_run

pytestmark = pytest.mark.slow
GOLD = [f"The road is {number} miles long" for number in range(10, 24)]


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "100"})


def test_correlations_are_printed_and_written_with_their_pictures(cli: CommandLine) -> None:
    half = [number / 28 for number in range(28)]
    mixed = [float(7 * number % 28) for number in range(28)]
    name = write_run(cli.results, ScoredRun(scores={"x": half, "y": mixed, "z": half[::-1]})).run_id
    done = cli.call("correlate", name, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "x ~ y" in done.stdout
    assert {path.name for path in (cli.folder / "found" / "figures").glob("*.svg")} == {
        "scatter.svg",
        "heat_pearson.svg",
        "heat_spearman.svg",
        "heat_kendall.svg",
    }
    value = json.loads((cli.folder / "found" / "correlations.json").read_text("utf-8"))
    assert [(pair["one"], pair["other"], pair["n"]) for pair in value["pairs"][:1]] == [("x", "y", 28)]


def test_what_cannot_be_correlated_is_one_line(cli: CommandLine) -> None:
    name = write_run(cli.results, ScoredRun(scores={"x": [0.5] * 12, "y": [1.0, 0.0] * 6})).run_id
    done = cli.call("correlate", name)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "x is 0.5 for each of these 12 answers" in done.stderr


def test_what_measures_notice_is_printed_and_written(cli: CommandLine) -> None:
    plan = ScoredRun(scores={"accuracy": [1.0] * len(GOLD)}, gold=GOLD)
    name = write_run(cli.results, plan).run_id
    words = ("sensitivity", name, "-e", "answer", "--swap", "wrong_answer,number,negation", "-q")
    done = cli.call(*words, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "token F1: notices" in done.stdout
    assert (cli.folder / "found" / "figures" / "distributions.svg").stat().st_size > 10_000
    assert (cli.folder / "found" / "sensitivity.md").read_text("utf-8").count("### ") > 3
    value = json.loads(cli.call(*words, "--json").stdout)
    assert {row["swap"] for row in value["effects"]} == {"wrong_answer", "number", "negation"}
