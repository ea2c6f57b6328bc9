"""A command that a page or a message tells its reader to type can be typed."""

import html
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from command_line import REPOSITORY, CommandLine, CommandLineHere
from paired_runs import ScoredRun, write_run
from printed_commands import Printed, commands_in, commands_of_page, commands_of_source, problem

from harness.api.config_building import bench_config
from harness.config import load_config
from harness.report.tables.runs import run_command
from harness.runner.executing.execute import build_manifest
from harness.runner.plan import plan_cells
from harness.store import find_runs

SOURCES = [*REPOSITORY.glob("harness/**/*.py"), *REPOSITORY.glob("systems/**/*.py")]
CONFIGS = sorted(REPOSITORY.glob("configs/*/*.yaml"))
PAGES = [
    *REPOSITORY.glob("*.md"),
    *(page for folder in ("docs", "data", "systems") for page in REPOSITORY.glob(f"{folder}/**/*.md")),
]
FAKE = "models={generator: {provider: fake}, embedder: {provider: fake}}"


def problems(found: Iterable[Printed]) -> list[str]:
    return [why for printed in found if (why := problem(printed))]


def commands_of(path: Path) -> list[Printed]:
    if path.suffix == ".py":
        return [*commands_of_source(path)]
    text = path.read_text(encoding="utf-8")
    return [*(commands_of_page(text) if path.suffix == ".md" else commands_in(text))]


def test_every_command_in_the_source_on_a_page_or_in_a_config_can_be_typed() -> None:
    printed = {path: commands_of(path) for path in (*SOURCES, *PAGES, *CONFIGS)}
    assert {path.name: why for path, found in printed.items() if (why := problems(found))} == {}
    assert sum(map(len, printed.values())) > 200
    for text in ("`rag-harness run --such`", "next: rag-harness rnu x", "$(rag-harness run --set no.such=1)"):
        assert len(problems(commands_in(text))) == 1, "a command that cannot be typed is found"


def unclear_runs(printed: Iterable[Printed]) -> list[str]:
    """Runs called by data set and system, such as demo--naive, of which no earlier command makes exactly one."""
    commands, found = [one for one in printed if one.text.count(" ") > 1], []
    for place, one in enumerate(commands):
        for dataset, system in re.findall(r"(?<![\w/*-])(\w+)--([a-z]\w*)(?![\w*-])", " ".join(one.words)):
            runs = {made.text for made in commands[:place] if made.words[0] == "run"}
            makers = [text for text in runs if f"-s {system}" in text and "per_system" not in text]
            if len([text for text in makers if dataset in text or "-d " not in text]) != 1:
                found.append(one.text)
    return found


def test_a_page_or_help_text_calls_a_run_by_its_system_only_if_its_commands_make_one_run_of_it() -> None:
    unclear = {path.name: unclear_runs(commands_of(path)) for path in (*SOURCES, *PAGES)}
    assert {name: commands for name, commands in unclear.items() if commands} == {}
    two = "rag-harness run -s kg -d demo --set answer.top_k=1\nrag-harness run -s kg -d demo\n"
    assert unclear_runs(commands_in(f"{two}rag-harness show demo--kg"))
    assert unclear_runs(commands_in("rag-harness load demo--kg"))


def test_a_printed_command_names_runs_that_lie_elsewhere_so_that_it_can_be_pasted(tmp_path: Path) -> None:
    cli = CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "80"})
    theirs = tmp_path / "their long folder of results"
    scores = {"accuracy": [1.0, 0.0] * 4}
    scored, rival = (
        write_run(theirs, ScoredRun(system=name, name=f"demo--{name}--0123456789ab", scores=scores))
        for name in ("naive", "kg")
    )
    write_run(theirs, ScoredRun(system="other", scores=scores, unfinished=8))

    def printed(*commands: str) -> str:
        called = [cli.call(*words.split(), "--results", str(theirs)) for words in commands]
        return "".join(one.stdout + one.stderr for one in called)

    said = printed("report", "report naive", "compare", "show naive", "compare naive kg -m none")
    for run in (scored, rival):
        shutil.rmtree(run.path / "scores")
    said += printed("report naive", "compare naive kg", "gate naive --min accuracy=1")
    named = [one.words for one in commands_in(said) if one.words[0] in {"compare", "evaluate", "report", "show"}]
    assert {words[0] for words in named} == {"compare", "evaluate", "report", "show"}
    for words in named:
        found = [find_runs(cli.results, [word])[0] for word in words[1:] if word != "QUERY_ID"]
        assert {run.run_id for run in found} <= {scored.run_id, rival.run_id}  # Finished ones.


def test_what_make_runs_for_each_line_of_the_readme_can_be_typed() -> None:
    lines = re.findall(r"^make bench[^#\n]*", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) > 1
    for line in lines:
        printed = subprocess.run(
            [*shlex.split(line), "-n"], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout
        found = [*commands_in(printed)]
        assert found
        assert problems(found) == []


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_the_command_of_each_run_of_a_shipped_config_plans_that_run_again(path: Path) -> None:
    """Over the demo, because the data of the config may not be here."""
    over_demo = bench_config(
        path, settings=["dataset={sample: {per_type: 1}}", "matrix.dataset.name=[demo]", FAKE]
    )
    for cell in plan_cells(over_demo):
        words = shlex.split(run_command(build_manifest(cell)))
        (again,) = plan_cells(load_config(None, words[3::2]))
        assert (again.run_id, again.index_id) == (cell.run_id, cell.index_id)


@pytest.fixture
def cli(tmp_path: Path, workers_here: None) -> CommandLine:
    folder = tmp_path / "it's here"
    (folder / 'the "old" docs').mkdir(parents=True)
    (folder / 'the "old" docs' / "one.txt").write_text("Rule 1 gives 10 days of leave.\n")
    asked = {"question": "How many days does rule 1 give?", "answer": "10 days"}
    (folder / "our questions.jsonl").write_text(json.dumps(asked) + "\n")
    (folder / "first one.yaml").write_text("index: {chunk_size: 600}\nevaluators: [answer]\n")
    (folder / "second.yaml").write_text("answer: {top_k: 2}\nevaluators: [answer]\n")
    return CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


DOCUMENTS = ("--docs", 'the "old" docs', "--questions", "our questions.jsonl", "-s", "naive", "--set", FAKE)


def typed(cli: CommandLine, text: str) -> list[int]:
    """The exit codes of the commands in a text, typed in turn. One that leaves a run open is left out."""
    codes = []
    for printed in commands_in(text):
        words = ["q-0001" if word == "QUERY_ID" else word for word in printed.words]
        if "RUN" in words:
            continue
        done = cli.call(*words)
        assert done.returncode != 2, (printed.text, done.stderr)
        codes.append(done.returncode)
    return codes


@pytest.mark.slow
def test_commands_that_a_run_and_its_report_print_can_be_typed_as_they_are(cli: CommandLine) -> None:
    done = cli.call("run", *DOCUMENTS, "-c", "first one.yaml", "-c", "second.yaml", "--results", "my results")
    assert done.returncode == 0, done.stderr
    assert typed(cli, done.stdout + done.stderr) == [0]
    run = next((cli.folder / "my results").glob("*--*"))
    assert 0 in typed(cli, cli.call("show", str(run.relative_to(cli.folder))).stdout)
    page = next((cli.folder / "my results").glob("reports/*/report.html")).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"<code>(.*?)</code>", page, re.DOTALL))
    assert set(typed(cli, html.unescape(code))) == {0}
    # So can the one that resumes a run that was stopped at its budget.
    words = ("-c", "first one.yaml", "-c", "second.yaml", "--set", "budget.tokens=1", "--results", "others")
    done = cli.call("run", *DOCUMENTS, *words)
    assert done.returncode == 4, done.stderr
    assert set(typed(cli, done.stderr)) <= {0, 4}
