"""scripts/research as a researcher calls them: what they say of themselves, and the loop that they share."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from large_runs import make_runs

from harness.datasets import load_dataset
from harness.errors import DataError
from harness.registry import DATASETS

FOLDER = Path(__file__).resolve().parents[2] / "scripts" / "research"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))

Call = Callable[..., str]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """call(script, arguments...) -> what it prints."""

    def run(name: str, *arguments: str) -> str:
        monkeypatch.setattr("sys.argv", [f"{name}.py", *arguments])
        importlib.import_module(name).main()
        return capsys.readouterr().out

    return run


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A finished run of six made-up queries."""
    monkeypatch.delenv("RAG_HARNESS_DATA", raising=False)
    (run,) = make_runs(tmp_path / "results", ["naive"], 6)
    return str(run.path)


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_says_what_the_script_asks_and_how_it_is_called(
    name: str, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        call(name, "--help")
    told = capsys.readouterr().out
    assert str(importlib.import_module(name).__doc__).strip() in told
    assert f".venv/bin/python scripts/research/{name}.py" in told


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_readme_lists_every_script(name: str) -> None:
    assert f"`{name}.py" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_a_check_that_is_repeated_asks_its_judge_nothing_again(call: Call, run_dir: str, tmp_path: Path) -> None:
    command = [
        "check_confidence",
        run_dir,
        "--rows",
        "2",
        "--provider",
        "fake",
        "--folder",
        str(tmp_path / "kept"),
    ]

    def lines() -> list[list[str]]:
        return [line.split(" | ") for line in call(*command).splitlines() if "2 of 2 |" in line]

    first, again = lines(), lines()
    assert [line[0] for line in first] == ["| as is", "| queries swapped", "| generic answer"]
    assert [line[:-1] for line in again] == [line[:-1] for line in first]
    assert all(line[-1] != "- |" for line in first), "seconds of calls that were made"
    assert all(line[-1] == "- |" for line in again), "no seconds where every call was there"


def test_a_run_without_an_answer_to_judge_is_refused(call: Call, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no row of .* has an answer and contexts: name the directory"):
        call("check_confidence", str(tmp_path / "nothing"), "--provider", "fake")


def test_a_hostile_run_fails_on_the_share_of_queries_that_it_is_named_for_whatever_their_number() -> None:
    hostile = importlib.import_module("hostile_runs")
    sample = load_dataset(DATASETS.load("demo"))
    n = len(sample.queries)
    for name, share in (("hostile-crashes", 0.6), ("hostile-timeouts", 0.3)):
        answers = [hostile.HOSTILE[name](one) for one in hostile.met(sample, name)]
        assert sum("error" in answer for answer in answers) == round(share * n), name
    right = [hostile.honest(0.85)(one)["answer"] != "something else" for one in hostile.met(sample, "honest-good")]
    assert abs(sum(right) - 0.85 * n) <= 0.1 * n


@pytest.mark.slow
def test_every_promise_of_the_statistics_is_a_row_with_what_is_nominal_and_what_was_measured(call: Call) -> None:
    header, _, *rows = [line.strip("| ").split(" | ") for line in call("check_statistics", "--quick").splitlines()]
    assert header == ["what", "n", "nominal", "measured", "cases"]
    contradicted = [row for row in rows if row[0].startswith("an interval contradicts its verdict")]
    assert [row[3] for row in contradicted] == ["0.000"] * len(contradicted)
    for kind in ("interval of a share", "interval of a difference", "any of 9 equal", "is found", "best of 9"):
        assert any(kind in row[0] for row in rows), kind
