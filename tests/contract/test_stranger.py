"""A system that someone else wrote, installed beside the harness as they would install it."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.registry import SYSTEMS
from harness.testing import SystemContract

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "stranger"
SMOKE = ROOT / "configs" / "bench" / "smoke.yaml"
N_OF_ESTIMATES = 3
"""Clauses that need an `expect`, which it has not."""


def run(work: Path, packages: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """A command in `work`, with what lies in `packages` installed beside what this process imports."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "RAG_HARNESS_"))}
    path = os.pathsep.join(filter(None, [str(packages), os.environ.get("PYTHONPATH")]))
    env = {**ours, "PYTHONPATH": path, "RAG_HARNESS_CACHE": str(work / "cache")}
    done = subprocess.run(
        [sys.executable, *command], check=False, cwd=work, env=env, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stranger's package, built from a copy of its folder and installed."""
    work = tmp_path_factory.mktemp("stranger")
    shutil.copytree(SOURCE, work / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(work / "packages")]
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir"]
    else:
        command = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--python", sys.executable]
    subprocess.run([*command, *options, str(work / "source")], check=True, cwd=work)
    return work / "packages"


def test_it_is_not_there_unless_it_is_installed() -> None:
    assert "stranger" not in SYSTEMS.names()


def test_the_command_line_lists_it_with_its_parameters(packages: Path, tmp_path: Path) -> None:
    listed = json.loads(run(tmp_path, packages, "-m", "harness.cli.main", "list", "systems", "--json").stdout)
    rows = {row["name"]: row for row in listed}
    assert {"naive", "stranger"} <= rows.keys()
    assert rows["stranger"]["version"] == "1"
    assert rows["stranger"]["index_params"] == {"min_letters": 3}
    assert rows["stranger"]["answer_params"] == {"n_documents": 3}


@pytest.mark.slow
def test_its_own_tests_inherit_the_whole_contract_and_pass(packages: Path, tmp_path: Path) -> None:
    shutil.copytree(SOURCE / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    # A bare pytest: no plugin, no config, and whatever it warns of is an error.
    bare = ["-W", "error", "-p", "no:asyncio", "-p", "no:langsmith_plugin", "-p", "no:cacheprovider"]
    done = run(tmp_path, packages, "-m", "pytest", "-q", *bare, f"--basetemp={tmp_path / 'inner'}", "tests")
    summary = done.stdout.strip().splitlines()[-1]
    contract = [name for name in dir(SystemContract) if name.startswith("test_")]
    assert int(summary.split(" passed")[0]) >= len(contract) - N_OF_ESTIMATES
    assert f" {N_OF_ESTIMATES} skipped" in summary


@pytest.mark.slow
def test_one_command_runs_it_to_the_end(packages: Path, tmp_path: Path) -> None:
    command = ["run", "--system", "stranger", "-c", str(SMOKE), "--results", "out", "--records-only", "--json"]
    (result,) = json.loads(run(tmp_path, packages, "-m", "harness.cli.main", *command).stdout)["runs"]
    assert (result["status"], result["n_ok"], result["n_error"]) == ("done", 8, 0)
    lines = (Path(result["path"]) / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["status"] for record in records] == ["ok"] * 8
    assert all(record["cost"]["usage"]["generator"]["calls"] == 1 for record in records)
    assert all(record["cost"]["stages_s"].keys() == {"retrieve", "generate"} for record in records)
    assert (Path(result["path"]) / "done.json").exists()


def test_building_it_left_nothing_in_the_repository(packages: Path) -> None:
    left = [path.name for path in SOURCE.rglob("*") if "__pycache__" not in path.parts]
    assert sorted(left) == ["__init__.py", "pyproject.toml", "rag_stranger", "test_contract.py", "tests"]
