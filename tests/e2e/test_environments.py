"""Every command in environments that are unlike a developer's: it works, or says in one line what to change."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere
from damaging import WorkersHere
from environments import (
    UNKNOWN_UID,
    Ended,
    Environment,
    LoadedCommands,
    can_live_as_others,
    live_as,
    unprivileged,
    with_few_files,
    with_small_files,
    without_its_folder,
    without_name,
)

from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.long]

RUN = "demo--naive"
RESULTS = ("--results", "{here}/results")
NO_MODEL = ("--set", "models.generator.provider=none", "--set", "models.embedder.provider=fake")
GRAPH = ("--set", "models.judge_embedder.provider=fake")
COMMANDS: dict[str, tuple[str, ...]] = {
    "init": ("init", "{here}/new.yaml"),
    "list": ("list", "measures"),
    "plan": ("plan", "-c", "{here}/own.yaml", *RESULTS),
    "run again": ("run", "-c", "{here}/own.yaml", "--records-only", *RESULTS),
    "estimate": ("estimate", "--docs", "{here}/docs", "--questions", "{here}/asked.jsonl", *NO_MODEL, *RESULTS),
    "import": ("import", "{here}/answers.jsonl", "-d", "demo", "-n", "other", *RESULTS),
    "evaluate": ("evaluate", RUN, "-e", "answer", *RESULTS),
    "compare": ("compare", RUN, "demo--mine", "--out", "{here}/compared", *RESULTS),
    "show": ("show", RUN, *RESULTS),
    "new": ("new", "system", "my-search", "--into", "{here}/new"),
    "annotate": ("annotate", RUN, "-a", "ada", "--fraction", "1", "--csv", "{here}/sheet.csv", *RESULTS),
    "ask": ("ask", "Who?", "--run", RUN, *RESULTS),
    "correlate": ("correlate", RUN, "-m", "token_f1,accuracy", "--out", "{here}/correlated", *RESULTS),
    "sensitivity": (
        *("sensitivity", RUN, "-e", "answer", "--n", "10", "--base", "own", "--no-judge"),
        *("--out", "{here}/sensed", *RESULTS),
    ),
    "questions": ("questions", "{here}/docs", "-o", "{here}/made.jsonl", "--n", "3", "--estimate"),
    "review": ("review", "{here}/asked.jsonl", "--by", "ada", "--to-csv", "{here}/review.csv"),
    "route": ("route", RUN, "demo--mine", "--splits", "10", "--policy", "{here}/policy.yaml", *RESULTS),
    "validate": ("validate", "--from", "{here}/card", "--out", "{here}/again", *RESULTS),
    "doctor": ("doctor", *RESULTS),
    "graph": ("graph", RUN, "{query}", "--pair", "context_relevancy", "-o", "{here}/graph", *GRAPH, *RESULTS),
}
OUTPUTS = (
    *("new.yaml", "compared", "new", "sheet.csv", "correlated", "sensed", "made.jsonl", "review.csv"),
    "policy.yaml",
)
INPUTS = ("own.yaml", "answers.jsonl", "asked.jsonl")


def read_only(*names: str) -> Callable[[str], None]:
    """Folders in which nobody without privileges may write."""

    def prepare(folder: str) -> None:
        for name in names:
            top = Path(folder, name)
            top.mkdir(exist_ok=True)
            for path in (top, *(path for path in top.rglob("*") if path.is_dir())):
                path.chmod(0o555)

    return prepare


def in_place_of(names: tuple[str, ...], put: Callable[[str], object]) -> Callable[[str], None]:
    """What `put` makes, where something else should be."""

    def prepare(folder: str) -> None:
        for name in names:
            place = Path(folder, name)
            if place.is_dir():
                shutil.rmtree(place)
            place.unlink(missing_ok=True)
            put(str(place))

    return prepare


def file_of(content: bytes) -> Callable[[str], object]:
    return lambda place: Path(place).write_bytes(content)


def link_to(target: str) -> Callable[[str], object]:
    return lambda place: Path(place).symlink_to(target)


def strange_documents(folder: str) -> None:
    for name in (b"\xe9\xff.txt", b"new\nline.txt", b"z" * 251 + b".txt", b"-x.txt", b"%s.md"):
        Path(os.fsdecode(os.fsencode(folder) + b"/docs/" + name)).write_text("Ada built the wall in 1931.")


NO_HOME = {"HOME": None, "USER": None, "LOGNAME": None}
CLOSED = "{here}/closed"
UNWRITABLE = {"HOME": CLOSED, "XDG_CACHE_HOME": None, "RAG_HARNESS_CACHE": None, "TMPDIR": CLOSED}
LONG = "z" * 300
ENVIRONMENTS: dict[str, Environment] = {
    "user without a name": Environment(NO_HOME, become=without_name),
    "home and TMPDIR read-only": Environment(UNWRITABLE, prepare=read_only("closed"), become=unprivileged),
    "home a file": Environment({"HOME": "{here}/own.yaml", "RAG_HARNESS_CACHE": None, "TMPDIR": "/nowhere"}),
    "results read-only": Environment(prepare=read_only("results"), become=unprivileged),
    "all read-only": Environment(prepare=read_only(""), become=unprivileged),
    "results a file": Environment(prepare=in_place_of(("results",), file_of(b"in the way"))),
    "results lead nowhere": Environment(prepare=in_place_of(("results",), link_to("/nowhere/at/all"))),
    "folder not UTF-8": Environment(folder="here\udce9"),
    "current folder not UTF-8": Environment(folder="here\udce9", relative=True, renamed={"{here}/": ""}),
    "folder with quotes": Environment(folder="here '\"\n%s {0} $(id) ;\t[bold]"),
    "folder with a dash": Environment(folder="-here", renamed={"{here}/": "./"}, relative=True),
    "folder over 255 bytes": Environment(renamed={"{here}/": "{here}/" + LONG + "/"}),
    "names over 255 bytes": Environment(
        renamed={f"/{name}": f"/{LONG}" for name in (*OUTPUTS, *INPUTS, "results")}
    ),
    "files in the place of folders": Environment(prepare=in_place_of(OUTPUTS, file_of(b"in the way"))),
    "folders in the place of files": Environment(prepare=in_place_of((*OUTPUTS, *INPUTS), os.mkdir)),
    "outputs lead nowhere": Environment(prepare=in_place_of(OUTPUTS, link_to("/nowhere/at/all"))),
    "inputs are pipes": Environment(prepare=in_place_of(INPUTS, os.mkfifo)),
    "inputs without an end": Environment(prepare=in_place_of(INPUTS, link_to("/dev/zero"))),
    "inputs not UTF-8": Environment(prepare=in_place_of(INPUTS, file_of(b"\xff\xfe\0" * 50))),
    "documents with strange names": Environment(prepare=strange_documents),
    "current folder deleted": Environment(become=without_its_folder, renamed={"{here}/": ""}),
    "stdout full": Environment(stdout="/dev/full"),
    "stdout closed": Environment(stdout="closed"),
    "stdout a broken pipe": Environment(stdout="broken pipe"),
    "stderr full": Environment(stderr="/dev/full"),
    "all closed": Environment(stdout="closed", stderr="closed"),
    "terminal of 20 columns": Environment({"COLUMNS": "20", "TERM": "xterm"}, is_terminal=True),
    "no columns": Environment({"COLUMNS": "0", "LINES": "0", "TERM": "dumb", "NO_COLOR": "1"}),
    "columns no number": Environment({"COLUMNS": "abc", "TERM": ""}),
    "few open files": Environment(become=with_few_files),
    "small files": Environment(become=with_small_files, stdout="/dev/null"),
    "variables not UTF-8": Environment(
        {"RAG_HARNESS_CACHE": "{here}/\udce9", "RAG_HARNESS_DATA": "{here}/\udce9"}
    ),
}
EVERY = 9
"""Each environment meets every ninth command, beginning with another; each command meets three or four."""


@pytest.fixture(scope="module")
def loaded() -> LoadedCommands:
    return LoadedCommands()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with two finished runs, documents and a file of every kind that commands read."""
    folder = tmp_path_factory.mktemp("made")
    here = CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")})
    sampled = SMOKE.read_text().replace("per_type: 2", "per_type: 4")
    (folder / "own.yaml").write_text(f"{sampled}evaluators: [answer, retrieval]\n")
    (folder / "docs").mkdir()
    text = "Ada Lovelace built the harbour wall in 1931. It is 400 metres long."
    (folder / "docs" / "wall.txt").write_text(text)
    asked = {"question": "Who built the wall?", "answer": "Ada Lovelace"}
    (folder / "asked.jsonl").write_text(json.dumps({**asked, "evidence": [{"quote": "Ada Lovelace built"}]}))
    with WorkersHere():
        assert here.call("run", "-c", "own.yaml", "--records-only", "-q").returncode == 0
    (run,) = map(RunDir, here.results.glob("demo--naive--*"))
    answers = [{"query_id": query_id, "answer": "Tidewright"} for query_id, _ in run.records()]
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in answers))
    assert here.call("import", "answers.jsonl", "-d", "demo", "-n", "mine", "--like", RUN).returncode == 0
    assert here.call("evaluate", RUN, "demo--mine", "-e", "answer,retrieval", "-q").returncode == 0
    with patch.dict(os.environ, {**here.env, "HF_HUB_OFFLINE": "1", "COLUMNS": "100"}):
        yield folder


def called(
    loaded: LoadedCommands, made: Path, tmp_path: Path, around: Environment, names: list[str]
) -> dict[str, Ended]:
    """How each of these commands ends there, by name."""
    here = str(tmp_path / "top" / around.folder)
    shutil.copytree(made, here, ignore=shutil.ignore_patterns("cache"))
    around.prepare(here)
    (run,) = map(RunDir, (made / "results").glob("demo--naive--*"))
    query_id, _ = next(iter(run.records()))
    ended = {}
    for name in names:
        words = [*COMMANDS[name]]
        for old, new in {**around.renamed, "{here}": here, "{query}": query_id}.items():
            words = [word.replace(old, new) for word in words]
        ended[name] = loaded.call(words, here, around, tmp_path)
    assert [path for path in Path(here).rglob("*") if ".partial" in path.name] == []
    return ended


def test_every_command_works_where_nothing_is_odd(loaded: LoadedCommands, made: Path, tmp_path: Path) -> None:
    ended = called(loaded, made, tmp_path, Environment(), [*COMMANDS])
    # There is no card to make again.
    assert {name: one.code for name, one in ended.items()} == {**dict.fromkeys(COMMANDS, 0), "validate": 2}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_command_ends_in_a_traceback(name: str, loaded: LoadedCommands, made: Path, tmp_path: Path) -> None:
    around = ENVIRONMENTS[name]
    is_other = around.become is without_name or (around.become is unprivileged and os.geteuid() == 0)
    if is_other and not can_live_as_others():
        pytest.skip("this machine lets no process go on as another user")
    first = [*ENVIRONMENTS].index(name) % EVERY
    ended = called(loaded, made, tmp_path, around, [*COMMANDS][first::EVERY])
    assert {command: one.wrong for command, one in ended.items() if one.wrong} == {}


def test_a_user_without_a_name_or_home_can_run(cli: CommandLine) -> None:
    if not can_live_as_others():
        pytest.skip("this machine lets no process go on as another user")
    env = {name: value for name, value in cli.environment().items() if name not in NO_HOME}
    words = ["run", "-c", str(SMOKE), "--records-only", "--set", "dataset.sample.per_type=1", *NO_MODEL]
    done = subprocess.run(
        cli.command(*words), cwd=cli.folder, env=env, preexec_fn=lambda: live_as(UNKNOWN_UID),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_locale_without_utf_8_prints_what_it_can_and_refuses_other_names(cli: CommandLine, made: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    compare = ("compare", RUN, "demo--mine", "--results", str(made / "results"))
    assert cli.call(*compare, **ascii_only).returncode == 0
    cli.refused("plan", "-c", str(SMOKE), "--results", "ö", **ascii_only)
