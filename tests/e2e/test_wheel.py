"""The wheel as a stranger installs it: into an empty environment, away from the repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
NOTEBOOK = """
import harness.api as rag
runs = rag.load("results")
means = runs.scores.groupby(["label", "measure"])["value"].mean()
print(len(runs), "recursive" in runs.runs["label"].tolist(), round(means["naive", "Hit@10"], 3))
print(rag.compare(runs, ["Hit@10"])["result"].tolist())
"""
CONTRACTS = """
from harness.testing import DatasetContract, EvaluatorContract, SystemContract

class TestDemo(DatasetContract):
    name = "demo"

class TestAnswer(EvaluatorContract):
    name = "answer"

class TestGold(SystemContract):
    name = "gold"
"""
pytestmark = pytest.mark.slow


class Installed:
    """An environment with the wheel and nothing of the repository."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.cwd = folder / "elsewhere"
        self.cwd.mkdir()
        self._bin = folder / "env" / "bin"

    def call(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        foreign = ("PYTHON", "RAG_", "VIRTUAL")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        command, env = [str(self._bin / words[0]), *words[1:]], {**kept, **env}
        return subprocess.run(command, cwd=self.cwd, env=env, capture_output=True, text=True, check=False)

    def says(self, *words: str) -> str:
        done = self.call(*words)
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout


def install(folder: Path, wheel: str) -> Installed:
    """`wheel` may name extras; versions are those of the lock."""
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder / "env"], check=True)
    lock = ROOT / "scripts" / "locks" / "bench.txt"
    command = [UV, "pip", "install", "--quiet", "--python", folder / "env" / "bin" / "python"]
    subprocess.run([*map(str, command), "--constraint", str(lock), wheel], check=True, cwd=folder)
    return Installed(folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the repository."""
    work = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.splitlines():
        if (ROOT / name).is_file():
            (work / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, work / "source" / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "."]
    subprocess.run([*build, "--wheel-dir", str(work)], cwd=work / "source", check=True)
    return next(work.glob("*.whl"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Without any extra."""
    return install(tmp_path_factory.mktemp("bare"), str(wheel))


@pytest.fixture(scope="module")
def whole(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With what a run without a generator, a notebook and the tests of a plug-in need."""
    extras = "system-naive,provider-minilm,evaluator-retrieval,report,notebook,testing"
    return install(tmp_path_factory.mktemp("whole"), f"{wheel}[{extras}]")


def test_without_an_extra_the_commands_are_there_and_say_what_is_missing(bare: Installed) -> None:
    assert re.fullmatch(r"rag-harness \d+\.\d+\.\d+\n", bare.says("rag-harness", "--version"))
    refused = bare.call("rag-harness", "run", "--set", "models.generator.provider=none")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "pip install 'rag-bench-harness[" in line
    checked = bare.call("rag-harness", "doctor")
    assert checked.returncode == 2
    missing = r"missing +extra bench: .*no chromadb.*pip install 'rag-bench-harness\[bench\]'"
    assert re.search(missing, checked.stdout)


def test_every_list_and_plan_works_without_an_extra(bare: Installed) -> None:
    for kind in ("systems", "datasets", "evaluators", "measures", "providers"):
        assert json.loads(bare.says("rag-harness", "list", kind, "--json"))
    assert "wrote rag-harness.yaml" in bare.says("rag-harness", "init")
    for config in ("configs/bench/smoke.yaml", "rag-harness.yaml"):
        planned = json.loads(bare.says("rag-harness", "plan", "-c", config, "--json"))
        assert [cell["status"] for cell in planned["cells"]] == ["missing"]


def test_it_holds_what_a_new_package_is_made_from(bare: Installed) -> None:
    for kind in ("system", "dataset", "evaluator"):
        written = bare.says("rag-harness", "new", kind, f"my-{kind}")
        assert (bare.cwd / f"my-{kind}" / f"my_{kind}" / "__init__.py").is_file()
        assert f"pytest ./my-{kind}" in written


def test_the_first_command_of_the_help_works_and_a_notebook_reads_what_it_left(whole: Installed) -> None:
    shown = " ".join(whole.says("rag-harness", "--help").split())
    first = re.search(r"without a language model: `(rag-harness run [^`]*)`", shown)
    assert first
    few = ("--set", "dataset.sample.per_type=10")
    printed = whole.says(*first[1].split(), *few)
    assert "evidence found" in printed
    assert (whole.cwd / re.search(r"report: (\S+)", printed)[1]).is_file()  # type: ignore[index]
    whole.says("rag-harness", "run", "-q", "-s", "recursive", "--set", "models.generator.provider=none", *few)
    count, verdict = whole.says("python", "-c", NOTEBOOK).splitlines()
    assert count.split()[:2] == ["2", "True"]
    assert verdict in {"['tie']", "['a']", "['b']"}


def test_a_shell_completes_it(bare: Installed) -> None:
    # Named, and not the one that runs these tests, which may be none that Typer knows.
    script = bare.call("rag-harness", _RAG_HARNESS_COMPLETE="source_bash").stdout
    assert "_RAG_HARNESS_COMPLETE" in script
    typed = {"COMP_WORDS": "rag-harness esti", "COMP_CWORD": "1"}
    assert "estimate" in bare.call("rag-harness", _RAG_HARNESS_COMPLETE="complete_bash", **typed).stdout


def test_it_holds_the_contracts_which_say_what_is_missing(whole: Installed, bare: Installed) -> None:
    (whole.cwd / "test_contract.py").write_text(CONTRACTS)
    # All clauses are held against other plug-ins; here those of a system that start one process.
    words = ("-q", "-W", "error", "-p", "no:asyncio", "-k", "TestDemo or TestAnswer or answering")
    assert re.search(r"\d{2,} passed", whole.says("python", "-m", "pytest", *words, "test_contract.py"))
    assert bare.says("python", "-c", "import harness.testing") == ""
    refused = bare.call("python", "-c", "from harness.testing import SystemContract")
    assert refused.stderr.splitlines()[-1].endswith("pip install 'rag-bench-harness[testing]'")


def test_types_and_licence_travel_with_it(bare: Installed) -> None:
    packages = next((bare.home / "env" / "lib").glob("python3*/site-packages"))
    assert (packages / "harness" / "py.typed").exists()
    (info,) = packages.glob("rag_bench_harness-*.dist-info")
    assert "License-Expression: Apache-2.0" in (info / "METADATA").read_text()
    assert "Apache License" in (info / "licenses" / "LICENSE").read_text()
