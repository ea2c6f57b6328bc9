"""Nothing is run or read from the folder in which a command is called, but the pipeline that the user names."""

import json
import subprocess
from pathlib import Path

import pytest
from command_line import CommandLine

from harness.core.process_environment import python_command, python_environment
from harness.store import find_runs

pytestmark = pytest.mark.slow
MODULES = ("chromadb", "fcntl", "json", "numpy", "openai", "pip", "pydantic", "sqlite3", "token", "xllamacpp")
FAKES = ("--set", "models.generator.provider=fake", "--set", "models.embedder.provider=fake")


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """A command line in a folder of documents, among which lie files that Python and libraries look for."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "ada.txt").write_text("Ada Lovelace wrote the first program.")
    for name in (*MODULES, "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'a').write(__file__)")
    (folder / ".env").write_text("chroma_sysdb_impl=nothing.Nothing\n")
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "1", "question": "Who?", "answer": "Ada"}))
    return CommandLine(folder, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


def test_a_run_and_its_report_run_no_file_of_their_folder_but_the_pipeline_that_is_named(cli: CommandLine) -> None:
    (cli.folder / "mine.py").write_text("import helper\n\ndef f(question):\n    return helper.path()\n")
    (cli.folder / "helper.py").write_text(
        "import sqlite3, token, numpy\n\ndef path():\n    return sqlite3.__file__\n"
    )
    systems = ("-s", "naive", "-s", "python:mine:f")
    words = ("--docs", ".", "--questions", "../q.jsonl", "--set", "evaluators=[answer]")
    done = cli.call("run", *words, *systems, *FAKES)
    assert done.returncode == 0, done.stderr
    assert list(cli.results.rglob("report.html"))
    (run,) = find_runs(cli.results, ["python"])
    (record,) = run.iter_records()
    assert record.prediction is not None
    assert not Path(str(record.prediction.answer)).is_relative_to(cli.folder)
    assert not (cli.folder.parent / "was_run").exists()


def test_starting_a_local_model_and_fetching_weights_runs_no_file_of_the_folder(cli: CommandLine) -> None:
    (cli.folder.parent / "broken.gguf").write_text("no weights")
    local = ("--set", "models.generator.provider=local", "--set", "models.generator.options.path=../broken.gguf")
    assert "local model server stopped" in cli.refused("run", "-d", "demo", "-s", "closed-book", *local, "--quiet")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "HF_HUB_OFFLINE": "1"}
    words = ("run", "-d", "demo", "-s", "naive", *FAKES[:2], "--quiet")
    assert "package index" in cli.refused(*words, **offline)
    assert not (cli.folder.parent / "was_run").exists()


def test_no_process_has_the_current_folder_on_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ":below:.:/elsewhere")
    code = (
        "import multiprocessing, subprocess, sys\n"
        "def show(): print(sys.path, flush=True)\n"
        "if __name__ == '__main__':\n"
        "    show()\n"
        "    subprocess.run([sys.executable, '-c', 'import sys; print(sys.path)'], check=True)\n"
        "    for way in ('spawn', 'forkserver'):\n"
        "        child = multiprocessing.get_context(way).Process(target=show)\n"
        "        child.start(); child.join()\n"
    )
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "probe.py").write_text(code)
    command = python_command("probe")
    done = subprocess.run(command, env=python_environment(), capture_output=True, text=True, check=True)
    paths = [json.loads(line.replace("'", '"')) for line in done.stdout.splitlines()]
    assert len(paths) == 4
    for path in paths:
        assert path[:2] == [str(tmp_path / "below"), "/elsewhere"]
        assert not {"", ".", str(tmp_path)} & set(path)
