"""The commands that only look: plan, show, doctor, --help."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


def loaded_by(*words: str) -> set[str]:
    """The modules of a process that called `rag-harness` with these words."""
    probe = (
        "import sys\nfrom harness.cli.main import app\nfrom typer.testing import CliRunner\n"
        f"assert CliRunner().invoke(app, {list(words)!r}).exit_code == 0\nprint(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = {"chromadb", "datasets", "matplotlib", "numpy", "openai", "pandas", "ragas", "scipy", "statsmodels"}


def test_help_imports_no_heavy_library() -> None:
    assert (HEAVY | {"httpx2", "psutil"}) & loaded_by("--help") == set()


@pytest.mark.slow
def test_what_is_only_planned_or_listed_imports_no_heavy_library() -> None:
    counting = {"numpy", "scipy"}  # How many queries would tell systems apart.
    loaded = loaded_by("plan", "-c", str(SMOKE), "-s", "naive", "-s", "recursive")
    assert HEAVY & loaded <= counting
    assert {"harness.report", "scipy.stats"} & loaded == set()


COMMANDS = ("list", "plan", "estimate", "run", "import", "evaluate", "report", "compare", "show", "new", "doctor")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli: CommandLine, command: str) -> None:
    done = cli.call(command, "--help")
    assert done.returncode == 0
    assert "Usage: " in done.stdout
    if command != "doctor":
        assert "rag-harness" in done.stdout


def test_plan_prints_each_cell_with_its_status(cli: CommandLine) -> None:
    words = ("plan", "-c", str(SMOKE), "--set", "matrix.answer.top_k=[1, 2]")
    rows = json.loads(cli.call(*words, "--json").stdout)["cells"]
    assert [(row["status"], row["n_expected"], row["index"]) for row in rows] == [("missing", 8, "missing")] * 2
    table = cli.call(*words).stdout
    assert all(row["run_id"] in table for row in rows)


def test_doctor_says_what_is_missing_and_the_fix(cli: CommandLine) -> None:
    done = cli.call("doctor", RAG_HARNESS_DATA=str(cli.folder / "nowhere"))
    assert done.returncode == 2
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("missing")]
    assert line.endswith("nowhere -> correct RAG_HARNESS_DATA")
    fine = cli.call("doctor")
    assert fine.returncode == 0, fine.stdout
    assert "missing" not in fine.stdout
    assert re.search(r"^ok +extra provider-openai: needs no package$", fine.stdout, re.MULTILINE)


def test_show_names_the_nearest_run(cli: CommandLine) -> None:
    assert "no run 'demo--naive' under results" in cli.refused("show", "demo--naive")
