"""What others wrote (names of runs and files, manifests, configs, data) moves no cursor, rings no bell."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandLineHere
from hypothesis import HealthCheck, Phase, given, settings
from paired_runs import ScoredRun, write_run
from strange import ANSWERS, Strange, commands, wrong_with_answers

from harness.cli.console import show_bug
from harness.core.sanitize import visible

EVIL = "\x1b[31m\x1b]0;owned\x07\x9b2J\rx\x08\u202e\u200b[bold]y[/nothing]"
ScoringInput = Callable[[CommandLineHere], list[str]]


@pytest.fixture
def cli(tmp_path: Path) -> CommandLineHere:
    env = {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "SSL_CERT_DIR": str(tmp_path), "TERM": "xterm"}
    return CommandLineHere(tmp_path, env)


def evil_run(cli: CommandLineHere, **manifest: object) -> str:
    """A run in which everything that may hold a name holds this one."""
    plan = ScoredRun(system=EVIL, dataset=EVIL, scores={f"m{EVIL}": [1.0, 0.0]}, queries=(f"q{EVIL}", "q2"))
    run = write_run(cli.results, plan)
    path = run.path / "manifest.json"
    tree = json.loads(path.read_text(encoding="utf-8")) | manifest
    path.write_text(json.dumps({**tree, "run_id": EVIL, "notes": [EVIL]}), encoding="utf-8")
    return str(run.path)


def saved(cli: CommandLineHere, text: str, name: str = "own.yaml") -> str:
    (cli.folder / name).write_text(text, encoding="utf-8")
    return str(cli.folder / name)


CASES: dict[str, ScoringInput] = {
    "run": lambda cli: ["show", evil_run(cli)],
    "runs": lambda cli: ["compare", evil_run(cli)],
    "query id": lambda cli: ["show", evil_run(cli), "q2"],
    "evil query": lambda cli: ["show", evil_run(cli), f"q{EVIL}"],
    "unknown query": lambda cli: ["show", evil_run(cli), "qx"],
    "name of a run": lambda cli: ["show", f"no{EVIL}"],
    "known runs": lambda cli: ["show", f"nobody{evil_run(cli)[:0]}"],
    "evaluators": lambda cli: ["evaluate", evil_run(cli, config={"evaluators": [EVIL]})],
    "prices": lambda cli: ["report", evil_run(cli, config={"prices": EVIL})],
    "newer": lambda cli: ["show", evil_run(cli, schema_version=EVIL)],
    "key of a config": lambda cli: ["plan", "--config", saved(cli, json.dumps({EVIL: 1}))],
    "value": lambda cli: ["plan", "--config", saved(cli, json.dumps({"seed": EVIL}))],
    "file": lambda cli: ["plan", "--config", saved(cli, "a: [", f"{EVIL.replace('/', '')}.yaml")],
    "no file": lambda cli: ["plan", "--config", f"{EVIL}.yaml"],
    "setting": lambda cli: ["plan", "--set", f"{EVIL}=1"],
    "system": lambda cli: ["plan", "--system", EVIL],
    "data set": lambda cli: ["plan", "--dataset", EVIL],
    "imported": lambda cli: ["import", saved(cli, json.dumps({EVIL: EVIL}), "a.jsonl"), "-n", EVIL, "-d", "demo"],
    "variable": lambda cli: ["evaluate", evil_run(cli), "--set", f"models.judge.api_key_env={json.dumps(EVIL)}"],
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_others_wrote_reaches_the_terminal_as_it_is(name: str, cli: CommandLineHere) -> None:
    done = cli.call(*CASES[name](cli))
    assert done.returncode in {0, 2, 3}
    said = done.stdout + done.stderr
    assert said
    assert visible(said) == said


def test_the_traceback_of_a_bug_is_no_exception(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise KeyError(EVIL, ValueError("\x1b[2J"))
    except KeyError as error:
        show_bug(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert "KeyError" in said
    assert visible(said) == said


# Whatever a file holds, it is taken or refused in one line.


SOME = settings(
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    max_examples=60,
)


@pytest.mark.slow
def test_a_strange_config_or_file_of_answers_is_taken_or_one_line(tmp_path: Path) -> None:
    place = Strange(tmp_path)

    @SOME
    @given(commands())
    def each_command(command: tuple[str, list[str]]) -> None:
        assert place.wrong_with_command(*command) == ""

    @SOME
    @given(ANSWERS)
    def each_file(text: str) -> None:
        assert wrong_with_answers(tmp_path / "answers.jsonl", text) == ""

    each_command()
    each_file()
