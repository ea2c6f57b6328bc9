"""An extension that is missing or cannot be imported costs one line; everything else works."""

from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere
from plugins import PlugIn

MISSING, ERROR = "import no_such_package\n", "SPEC = 1 / 0\n"
EXITS, NO_SPEC = "raise SystemExit('bye')\n", "SPEC = 'no command'\n"


@pytest.fixture
def here(tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(tmp_path)


@pytest.mark.parametrize("code", [MISSING, EXITS])
def test_a_broken_command_is_one_line_and_the_others_are_listed(
    tmp_path: Path, plug_in: PlugIn, code: str
) -> None:
    plug_in("rag_harness.commands", "lame", code)
    here = CommandLine(tmp_path)
    shown = here.call("--help")
    assert shown.returncode == 0
    (line,) = shown.stderr.splitlines()
    assert "'lame'" in line
    assert all(f" {name} " in shown.stdout for name in ("run", "ask", "review"))
    assert "'lame'" in here.refused("lame")
    assert here.call("plan", "-c", str(SMOKE)).stderr == ""


def test_a_command_that_is_not_installed_is_named_with_the_nearest(here: CommandLineHere) -> None:
    done = here.call("anotate")
    assert done.returncode == 2
    assert "annotate" in done.stderr


@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_an_unknown_executor_is_one_line_with_the_nearest(here: CommandLineHere, command: str) -> None:
    words = {"run": ("run", "-c", str(SMOKE)), "evaluate": ("evaluate", here.run()["run_id"])}[command]
    line = here.refused(*words, "--executor", "rya")
    assert "'rya'" in line
    assert "'ray'" in line


@pytest.mark.parametrize("code", [ERROR, NO_SPEC])
def test_a_broken_executor_is_one_line_where_it_is_asked_for(
    here: CommandLineHere, plug_in: PlugIn, code: str
) -> None:
    plug_in("rag_harness.executors", "lame", code)
    assert "'lame'" in here.refused("run", "-c", str(SMOKE), "--executor", "lame")
    assert here.call("plan", "-c", str(SMOKE)).stderr == ""
