"""scripts/research and scripts/bench as they are called: what they say of themselves, and the loop they share."""

import csv
import importlib
import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY
from large_runs import make_runs

import harness.api as rag
from harness.config import JudgeConfig
from harness.core.errors import ConfigError, StoreError
from harness.models.providers import resolve_generator
from harness.registry import EVALUATORS

FOLDERS = [Path(__file__).resolve().parents[2] / "scripts" / name for name in ("bench", "research")]
FILES = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
SCRIPTS = [path for path in FILES if "__main__" in path.read_text(encoding="utf-8")]

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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_says_what_the_script_asks_and_how_it_is_called(
    script: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        call(script.stem, "--help")
    told = capsys.readouterr().out
    assert str(importlib.import_module(script.stem).__doc__).strip() in told
    assert f".venv/bin/python scripts/{script.parent.name}/{script.name}" in told


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_readme_lists_every_script(script: Path) -> None:
    assert f"`{script.name}" in (script.parent / "README.md").read_text(encoding="utf-8")


def test_bm25_finds_the_same_facts_in_every_language(call: Call) -> None:
    """docs/your-documents.md shows the table."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in call("check_search_languages").splitlines()
    ]
    recalls = {name: list(map(float, numbers)) for name, *numbers in rows[2:]}
    assert {"Chinese", "Japanese", "Korean", "Thai", "German"} < recalls.keys()
    for found in recalls.values():
        assert all(one >= 0.9 * english > 0 for one, english in zip(found, recalls["English"], strict=True))


def test_no_two_modules_of_the_scripts_and_the_tests_share_a_name() -> None:
    shared = sorted(Path(__file__).resolve().parents[1].glob("support/*.py"))
    files = [*FILES, *shared]
    assert len({path.name for path in files}) == len(files)


async def test_a_check_that_is_repeated_asks_its_judge_nothing_again(run_dir: str, tmp_path: Path) -> None:
    judging, spec = importlib.import_module("judging"), EVALUATORS.load("rag_eval")
    rows = judging.answered_rows(Path(run_dir), 2, lambda _row, said: said)
    judge = resolve_generator(JudgeConfig(provider="fake"))

    async def once() -> Any:
        with judging.opened(judge, tmp_path / "kept") as models:
            return await judging.judged(rows, spec, spec.params(), models)

    first, again = await once(), await once()
    assert len({score.query_id for score in first.scores}) == 2
    assert again.scores == first.scores
    assert first.replayed == 0 < again.replayed == again.usage.calls


def test_scores_that_may_be_given_away_hold_no_text_of_the_data_set(call: Call, run_dir: str) -> None:
    header, *rows = csv.reader(io.StringIO(call("query_scores", run_dir, "--measures", "accuracy,token_f1")))
    assert header[:4] == ["run_id", "query_id", "repeat", "query_type"]
    assert header[-2:] == ["accuracy", "token_f1"]
    frames = rag.load(run_dir)
    scores = frames.scores[frames.scores["measure"] == "token_f1"].set_index("query_id")["value"]
    assert {row[1]: float(row[-1]) for row in rows} == pytest.approx(dict(scores), abs=1e-6)
    told = {cell for row in rows for cell in row}
    assert not told & {*frames.records["question"], *frames.records["answer"], *frames.contexts["text"]}


def test_a_measure_that_no_run_has_is_refused(call: Call, run_dir: str) -> None:
    with pytest.raises(ConfigError, match="no run has a score of nothing"):
        call("query_scores", run_dir, "--measures", "accuracy,nothing")


def test_what_is_no_run_is_refused(call: Call, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nothing is not a run directory .*: name a run id or path"):
        call("check_judge_injection", str(tmp_path / "nothing"), "--provider", "fake")


@pytest.mark.slow
def test_every_promise_of_the_statistics_is_a_row_with_what_is_nominal_and_what_was_measured(call: Call) -> None:
    header, _, *rows = [line.strip("| ").split(" | ") for line in call("check_statistics", "--quick").splitlines()]
    assert header == ["what", "n", "nominal", "measured", "95 % interval", "cases"]
    contradicted = [row for row in rows if row[0].startswith("an interval contradicts its verdict")]
    assert [row[3] for row in contradicted] == ["0.000"] * len(contradicted)
    kinds = (
        "interval of a share",
        "interval of a difference",
        "any of 9 equal",
        "9 equal systems",
        "9 systems: the recommended one",
        "is found",
        "best of",
    )
    for kind in kinds:
        assert any(kind in row[0] for row in rows), kind


# scripts/publish: replaces the files of a published result, and touches nothing else.


MADE = ("report.html", "summary.csv", "summary.md", "figures/accuracy_by_type.svg")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the script and a report, and files of one's own where the example goes."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(REPOSITORY / "scripts" / "publish", tmp_path / "scripts")
    for name in MADE:
        path = tmp_path / "report" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# New\n![other](figures/other.svg)\n![kept](figures/accuracy_by_type.svg)\n")
    mine = tmp_path / "results" / "published" / "demo" / "figures"
    mine.mkdir(parents=True)
    (mine / "photo.png").write_text("mine")
    (mine.parent / "summary.md").write_text("# Old\n")
    return tmp_path


def publish(repository: Path, name: str = "demo", *flags: str) -> "subprocess.CompletedProcess[str]":
    command = [str(repository / "scripts" / "publish"), *flags, "report", name, "accuracy_by_type.svg"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_files_of_ones_own_stay_and_links_are_not_followed(repository: Path) -> None:
    demo, elsewhere = repository / "results" / "published" / "demo", repository / "elsewhere"
    elsewhere.write_text("mine")
    (demo / "summary.csv").symlink_to(elsewhere)
    assert publish(repository).returncode == 0
    assert (demo / "figures" / "photo.png").read_text() == "mine"
    assert elsewhere.read_text() == "mine"
    assert (demo / "summary.md").read_text() == "# New\n![kept](figures/accuracy_by_type.svg)\n"
    assert all((demo / name).is_file() for name in MADE)


def test_what_is_no_report_is_one_line_and_the_example_stays(repository: Path) -> None:
    (repository / "report" / "report.html").unlink()
    refused = publish(repository)
    assert refused.returncode == 2
    assert refused.stderr == "error: report holds no report.html: name the folder of a report\n"
    assert (repository / "results" / "published" / "demo" / "summary.md").read_text() == "# Old\n"


@pytest.mark.parametrize(
    ("size", "flags", "said"),
    [
        (1, ("--no-page",), "the page is not kept: the same config makes it again"),
        (5 << 20, (), "the page has over 4 MB and is not kept: the same config makes it again"),
    ],
)
def test_a_page_that_is_too_large_or_has_texts_of_others_is_left_out_and_taken_away(
    repository: Path, size: int, flags: tuple[str, ...], said: str
) -> None:
    assert publish(repository).returncode == 0
    (repository / "report" / "report.html").write_bytes(b" " * size)
    done = publish(repository, "demo", *flags)
    assert (done.returncode, done.stderr) == (0, f"{said}\n")
    kept = {path.name for path in (repository / "results" / "published" / "demo").iterdir()}
    assert kept == {"figures", "summary.csv", "summary.md"}


@pytest.mark.parametrize("name", ["../demo", "", ".."])
def test_a_name_that_leads_elsewhere_is_refused(repository: Path, name: str) -> None:
    assert publish(repository, name).returncode == 2
    assert not (repository / "results" / "summary.csv").exists()
