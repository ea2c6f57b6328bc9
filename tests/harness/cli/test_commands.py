"""The commands that only look (plan, doctor, demo, --help), `init`, and options that several commands share."""

import json
import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine
from labelled_runs import labelled_run
from paired_runs import ScoredRun, write_run
from question_reviews import question_file, rows_in

from harness.cli import demo_report

_PROBE = """
import sys, traceback

class Watch:  # Before every import: who asks for one of these, and where.
    def find_spec(self, name, path=None, target=None):
        if name in WATCHED:
            WATCHED.discard(name)
            ours = [at for at in traceback.extract_stack() if at.filename.startswith(ROOTS)]
            where = f"{ours[-1].filename}:{ours[-1].lineno}" if ours else "a library"
            print("loads", name, "through", where, file=sys.stderr)

sys.meta_path.insert(0, Watch())
from harness.cli.main import app
app(WORDS, standalone_mode=False)
"""


def heavy_loads(watched: set[str], *words: str) -> list[str]:
    """A line for each watched module that `rag-harness` with these words loads: which line of ours asked."""
    root = Path(__file__).parents[3]
    roots = tuple(str(root / room) + os.sep for room in ("harness", "systems"))
    given = f"WATCHED = {watched!r}\nROOTS = {roots!r}\nWORDS = {list(words)!r}\n"
    done = subprocess.run([sys.executable, "-c", given + _PROBE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("loads ")]


LIBRARIES = {"chromadb", "datasets", "matplotlib", "openai", "pandas", "ragas", "scipy.stats", "spacy"}
EXECUTING = {
    f"harness.{name}" for name in ("runner.executing.execute", "models.transport", "models.cross_encoder_engines")
}


def test_help_loads_nothing_heavy() -> None:
    heavy = {"asyncio", "httpx2", "numpy", "psutil", "pydantic._internal._generate_schema", "scipy"}
    assert heavy_loads(LIBRARIES | heavy, "--help") == []


def test_a_plan_loads_nothing_that_executes_or_draws() -> None:
    """Sample sizes need numpy and scipy.special; nothing more is heavy."""
    words = ("plan", "-c", str(SMOKE), "-s", "naive", "-s", "recursive")
    assert heavy_loads(LIBRARIES | EXECUTING | {"harness.report"}, *words) == []


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_show_loads_nothing_that_executes_or_draws(cli: CommandLine) -> None:
    run_id = cli.run("--system", "naive")["run_id"]
    assert heavy_loads(LIBRARIES | EXECUTING, "show", str(cli.results / run_id)) == []


COMMANDS = ("list", "plan", "estimate", "run", "import", "evaluate", "report", "compare", "show", "new", "doctor")


def test_every_command_explains_itself(cli: CommandLine) -> None:
    for command in COMMANDS:
        done = cli.call(command, "--help")
        assert (done.returncode, "Usage: " in done.stdout) == (0, True), command
        assert command == "doctor" or f"rag-harness {command}" in done.stdout


# `rag-harness plan`.


def test_a_plan_shows_each_run_with_its_status_the_time_and_the_downloads(cli: CommandLine) -> None:
    local = ("--set", "models.generator.provider=local", "--set", "matrix.answer.top_k=[1, 2]")
    words = ("plan", "-c", str(SMOKE), *local)
    value = json.loads(cli.call(*words, "--json").stdout)
    rows = value["cells"]
    assert [(row["status"], row["n_expected"], row["index"]) for row in rows] == [("missing", 8, "missing")] * 2
    assert 0 < value["seconds"]["low"] < value["seconds"]["high"]
    assert [round(size / 1e6) for size in value["downloads"].values()] == [491]
    table = cli.call(*words).stdout
    assert all(row["run_id"] in table for row in rows)
    assert any("491 MB" in line and "qwen2.5-coder-0.5b" in line for line in table.splitlines())
    short = json.loads(cli.call(*words, "--set", "budget.minutes=0.01", "--json").stdout)
    assert short["seconds"]["high"] == pytest.approx(0.6)


def test_several_configs_are_planned_one_after_another_with_the_settings_for_each(cli: CommandLine) -> None:
    retrieval = "systems: [naive]\nmodels: {generator: {provider: none}}\ndataset: {sample: {per_type: 3}}\n"
    (cli.folder / "retrieval.yaml").write_text(retrieval)
    words = ("-c", "retrieval.yaml", "-c", str(SMOKE), "--set", "answer.top_k=3", "--json")
    first, second = json.loads(cli.call("plan", *words).stdout)["cells"]
    assert (first["n_expected"], second["n_expected"]) == (12, 8)
    assert first["answer"]["top_k"] == second["answer"]["top_k"] == 3
    estimated = json.loads(cli.call("estimate", *words).stdout)["cells"]
    assert [cell["run_id"] for cell in estimated] == [first["run_id"], second["run_id"]]


def test_a_mistake_in_any_of_several_configs_is_one_line_before_the_first_runs(cli: CommandLine) -> None:
    retrieval, broken = cli.folder / "retrieval.yaml", cli.folder / "broken.yaml"
    retrieval.write_text("systems: [naive]\nmodels: {generator: {provider: none}}\n")
    broken.write_text("systems: [naive]\nmodels: {generator: {provider: openai, api_key_env: NOBODY_SET_THIS}}\n")
    assert "NOBODY_SET_THIS" in cli.refused("run", "-c", str(retrieval), "-c", str(broken))
    broken.write_text("prices: own.yaml\n")
    assert "different `prices`" in cli.refused("run", "-c", str(retrieval), "-c", str(broken))
    assert not list(cli.folder.glob("results/demo--*"))


# `rag-harness doctor` and `demo`.


def test_doctor_says_how_to_correct_a_wrong_data_folder(cli: CommandLine) -> None:
    done = cli.call("doctor", RAG_HARNESS_DATA=str(cli.folder / "nowhere"))
    assert done.returncode == 2
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("missing")]
    assert line.endswith("nowhere -> correct RAG_HARNESS_DATA")
    fine = cli.call("doctor", RAG_HARNESS_DATA=str(cli.folder))
    assert (fine.returncode, "missing" in fine.stdout) == (0, False), fine.stdout
    assert ["data directory" in one.stdout.splitlines()[-1] for one in (done, fine)] == [True, False]


def test_doctor_shows_the_proxy_and_the_certificates_without_a_password(cli: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        url = f"127.0.0.1:{proxy.getsockname()[1]}"
        fine = cli.call("doctor", HTTPS_PROXY=f"http://me:sekret@{url}", NO_PROXY="corp.example")
    lines = [line for line in fine.stdout.splitlines() if line.startswith("ok       proxy for https")]
    assert f"http://{url} (HTTPS_PROXY)" in lines[0] and "corp.example" in lines[0]
    assert "certificates: " in fine.stdout
    gone = cli.call("doctor", HTTPS_PROXY=f"http://me:sekret@{url}", SSL_CERT_FILE=str(cli.folder / "no.pem"))
    missing = [line for line in gone.stdout.splitlines() if line.startswith("missing")]
    assert url in missing[0] and "no.pem" in missing[1]
    assert gone.returncode == 2 and "sekret" not in fine.stdout + gone.stdout


def test_the_demo_prints_the_verdicts_that_were_published_with_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    page.write_text("<html>")
    monkeypatch.setattr(demo_report, "shipped_report", lambda: page)
    demo_report.open_finished_report(in_browser=False)
    assert str(page) in capsys.readouterr().out
    verdict = {"dataset": "demo", "headline": "Use kg [62 % right]."}
    (tmp_path / "verdict.json").write_text(json.dumps([verdict]))
    demo_report.open_finished_report(in_browser=False)
    assert capsys.readouterr().out.count("demo: Use kg [62 % right].") == 1


# `rag-harness init`.


def test_init_writes_a_config_that_plans_and_names_the_next_commands(cli: CommandLine) -> None:
    done = cli.call("init")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "wrote rag-harness.yaml",
            "next: rag-harness plan -c rag-harness.yaml",
            "next: rag-harness run -c rag-harness.yaml",
        ],
    )
    planned = cli.call("plan", "-c", "rag-harness.yaml", "--json")
    assert (planned.returncode, planned.stderr) == (0, "")
    assert '"status": "missing"' in planned.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("my.yaml", "error: my.yaml already exists: choose another name: rag-harness init other.yaml"),
        ("my.yaml/my.yaml", "cannot write my.yaml/my.yaml: a part of the path is a file"),
        ("gone/my.yaml", "cannot write gone/my.yaml: No such file or directory: check the path"),
    ],
)
def test_a_config_that_exists_or_cannot_be_written_is_one_line(cli: CommandLine, file: str, line: str) -> None:
    (cli.folder / "my.yaml").write_text("systems: [kg]\n")
    assert line in cli.refused("init", file)
    assert (cli.folder / "my.yaml").read_text() == "systems: [kg]\n"


# Options that several commands share.


def test_a_user_without_a_name_in_the_system_has_to_give_one_to_review_and_to_label(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with any uid."""

    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    file = question_file(cli.folder)
    assert "--by" in cli.refused("review", str(file), "--to-csv", "s.csv")
    assert cli.call("review", str(file), "--to-csv", "s.csv", "--by", "ada").returncode == 0
    (cli.folder / "s.csv").write_text("id,decision\na,accept\n", encoding="utf-8")
    assert "--by" in cli.refused("review", str(file), "--from-csv", "s.csv")
    assert rows_in(file)[0]["seen_by"] is None
    run = labelled_run(cli.results, n=3)
    assert "--annotator" in cli.refused("annotate", run.run_id, "--csv", "labels.csv")
    assert cli.call("annotate", run.run_id, "--csv", "labels.csv", "-a", "ada").returncode == 0


def test_a_misspelt_metric_and_one_of_answers_that_runs_do_not_have_are_explained(cli: CommandLine) -> None:
    for name in ("naive", "kg"):
        own = {"Recall": [1.0, 0.0] * 10}
        run_id = f"demo--{name}--0123456789ab"
        write_run(cli.results, ScoredRun(system=name, name=run_id, generates=False, scores=own))
    for command in (
        *("report naive kg --measure METRIC", "compare naive kg --measures METRIC", "route naive kg -m METRIC"),
        *("gate naive -b kg --min METRIC=0.1", "correlate naive kg -m METRIC,Recall"),
    ):
        assert "'accuracy'?" in cli.refused(*command.replace("METRIC", "acuracy").split()), command
        assert "generator" in cli.refused(*command.replace("METRIC", "accuracy").split()), command
