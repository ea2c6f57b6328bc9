"""`rag-harness compare`, `correlate` and `sensitivity` as a user calls them."""

import json
import re

import pytest
from command_line import CommandLine
from paired_runs import ScoredRun, write_run

from harness.store import lock

pytestmark = pytest.mark.slow


def names(cli: CommandLine, *counts: int) -> list[str]:
    """Runs with so many right answers of 40, by the names under which they are found."""
    runs = []
    for number, count in enumerate(counts):
        answers = [1.0] * count + [0.0] * (40 - count)
        runs.append(write_run(cli.results, ScoredRun(system=f"s{number}", scores={"accuracy": answers})).run_id)
    return runs


def test_runs_are_compared_printed_and_written(cli: CommandLine) -> None:
    first, second, third = names(cli, 35, 34, 10)
    words = ("compare", first, second, third, "--measures", "accuracy")
    done = cli.call(*words, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if re.match(r"s\d", line)] == ["s0", "s1", "s2"]
    assert done.stdout.splitlines()[-1] == "comparison: found"
    assert {path.name for path in (cli.folder / "found").glob("[!.]*")} == {"comparison.csv", "differences.csv"}
    full = cli.call(*words, "--full").stdout
    for pair in (r"s0, s1 .*\] ~", r"s0, s2 .*\] >"):
        assert re.search(f"^{pair}", full, re.MULTILINE)
    assert "within 5 points" in full
    brief = cli.call("compare", first, third).stdout.splitlines()
    assert len(brief) <= 25 and max(map(len, brief)) <= 80
    assert "significantly better" in brief[1]


def test_json_is_one_value_with_the_run_to_compare_with_and_the_margin(cli: CommandLine) -> None:
    first, second, third = names(cli, 35, 34, 10)
    words = ("--measures", "accuracy, latency_s", "--margin", "20", "--json")
    value = json.loads(cli.call("compare", second, third, "--against", first, *words).stdout)
    assert value["against"] == "s0"
    assert [one["measure"] for one in value["measures"]] == ["accuracy", "latency_s"]
    pairs = value["measures"][0]["pairs"]
    assert [pair["family"] for pair in pairs] == [2, 2]
    assert (pairs[0]["margin"], pairs[0]["as_good"], pairs[0]["result"]) == (20.0, "both", "tie")
    for command in ("compare", "report"):
        done = cli.call(command, first, second, "--margin", "0")
        assert (done.returncode, "Invalid value for '--margin'" in done.stderr) == (2, True), command


@pytest.fixture
def handbook(cli: CommandLine, workers_here: None) -> tuple[str, ...]:
    """The words of a run over a folder of two documents."""
    (cli.folder / "handbook").mkdir()
    for number in (1, 2):
        (cli.folder / "handbook" / f"{number}.txt").write_text(f"Rule {number} gives {number} days of leave.")
    asked = {"question": "How many days does rule 2 give?", "answer": "2 days"}
    (cli.folder / "asked.jsonl").write_text(json.dumps(asked) + "\n")
    models = ("--set", "models={generator: {provider: none}, embedder: {provider: fake}}")
    asked_of = ("--docs", "handbook", "--questions", "asked.jsonl", "-s", "naive")
    return ("run", *asked_of, *models, "-q", "--records-only")


def test_runs_are_compared_by_the_names_that_they_were_given(cli: CommandLine, handbook: tuple[str, ...]) -> None:
    assert cli.call(*handbook, "--name", "trial1").returncode == 0
    assert "trial1" in cli.refused(*handbook, "--name", "trial1", "--set", "answer.top_k=2")
    assert cli.call(*handbook, "--name", "trial2", "--set", "answer.top_k=2").returncode == 0
    assert cli.call("evaluate", "trial1", "trial2", "-q").returncode == 0
    compared = json.loads(cli.call("compare", "trial2", "trial1", "--json").stdout)
    assert [run["system"] for run in compared["runs"]] == ["trial2", "trial1"]
    for words in ("compare trial2 trial1", "report trial1 trial2 --out named", "show trial1"):
        assert "trial1" in cli.call(*words.split()).stdout
    assert "trial1" in (cli.folder / "named" / "report.html").read_text()
    # The same command with another name renames the finished run.
    assert cli.call(*handbook, "--name", "first trial").returncode == 0
    assert "first trial" in cli.call("show", "first trial").stdout
    assert cli.call("show", "trial1").returncode == 2
    assert len(list(cli.results.glob("*--*"))) == 2


def test_runs_over_versions_of_a_folder_are_labelled_by_what_changed(
    cli: CommandLine, handbook: tuple[str, ...]
) -> None:
    assert cli.call(*handbook).returncode == 0
    for days in (3, 4):
        (cli.folder / "handbook" / "3.txt").write_text(f"Rule 3 gives {days} days of leave.")
        assert cli.call(*handbook).returncode == 0
    runs = {json.loads(path.read_text())["created_at"]: path for path in cli.results.glob("*--*/manifest.json")}
    ids = [runs[created_at].parent.name for created_at in sorted(runs)]
    assert cli.call("evaluate", *ids, "-q").returncode == 0
    labels = [run["system"] for run in json.loads(cli.call("compare", *ids, "--json").stdout)["runs"]]
    verdicts = json.loads(cli.call("report", *ids, "--json").stdout)
    for texts in (labels, [verdict["dataset"] for verdict in verdicts]):
        assert len({*texts}) == 3
        assert ["1 document more" in text for text in texts] == [False, True, False]


def test_missing_running_and_unfinished_runs_are_one_line_with_the_way_out(cli: CommandLine) -> None:
    first, second = names(cli, 35, 34)
    for command in ("show", "report", "compare"):
        line = cli.refused(command)
        assert first in line and second in line
    assert "--results FOLDER" in cli.refused("show", "--results", "elsewhere")
    assert "--results FOLDER" in cli.refused("show", "nothing", "--results", "elsewhere")
    (cli.results / second / "done.json").unlink()
    with lock.exclusive(cli.results / second / ".lock"):
        assert "is still running" in cli.refused("compare", first, second)
    assert "is unfinished" in cli.refused("compare", first, second)


def test_correlations_are_printed_and_written_with_their_figures(cli: CommandLine) -> None:
    half = [number / 28 for number in range(28)]
    mixed = [float(7 * number % 28) for number in range(28)]
    name = write_run(cli.results, ScoredRun(scores={"x": half, "y": mixed, "z": half[::-1]})).run_id
    done = cli.call("correlate", name, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "x ~ y" in done.stdout
    figures = {path.stem for path in (cli.folder / "found" / "figures").glob("*.svg")}
    assert figures == {"scatter", "heat_pearson", "heat_spearman", "heat_kendall"}
    value = json.loads((cli.folder / "found" / "correlations.json").read_text("utf-8"))
    assert [(pair["one"], pair["other"], pair["n"]) for pair in value["pairs"][:1]] == [("x", "y", 28)]
    flat = write_run(cli.results, ScoredRun(system="kg", scores={"x": [0.5] * 12, "y": [1.0, 0.0] * 6})).run_id
    assert "x is 0.5 for each of these 12 answers" in cli.refused("correlate", flat)


def test_the_changes_that_metrics_notice_are_printed_and_written(cli: CommandLine) -> None:
    gold = [f"The road is {number} miles long" for number in range(10, 24)]
    name = write_run(cli.results, ScoredRun(scores={"accuracy": [1.0] * len(gold)}, gold=gold)).run_id
    words = ("sensitivity", name, "-e", "answer", "--swap", "wrong_answer,number,negation", "-q")
    done = cli.call(*words, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "token F1: notices" in done.stdout
    assert (cli.folder / "found" / "figures" / "distributions.svg").stat().st_size > 10_000
    assert (cli.folder / "found" / "sensitivity.md").read_text("utf-8").count("### ") > 3
    value = json.loads(cli.call(*words, "--json").stdout)
    assert {row["swap"] for row in value["effects"]} == {"wrong_answer", "number", "negation"}
