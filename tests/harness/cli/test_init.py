"""`rag-harness init`."""

from pathlib import Path

import pytest
from command_line import CommandLineHere


@pytest.fixture
def here(tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(tmp_path)


def test_it_writes_a_config_that_plans_and_says_what_comes_next(here: CommandLineHere) -> None:
    done = here.call("init")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "wrote rag-harness.yaml",
        "next: rag-harness plan -c rag-harness.yaml",
        "next: rag-harness run -c rag-harness.yaml",
    ]
    planned = here.call("plan", "-c", "rag-harness.yaml", "--json")
    assert (planned.returncode, planned.stderr) == (0, "")
    assert '"status": "missing"' in planned.stdout


def test_what_is_there_is_not_overwritten(here: CommandLineHere) -> None:
    (here.folder / "my.yaml").write_text("systems: [kg]\n")
    line = here.refused("init", "my.yaml")
    assert line == "error: my.yaml already exists: choose another name: rag-harness init other.yaml"
    assert (here.folder / "my.yaml").read_text() == "systems: [kg]\n"


def test_a_place_that_cannot_be_written_is_one_line(here: CommandLineHere) -> None:
    (here.folder / "file").write_text("")
    assert "cannot write file/my.yaml: a part of the path is a file" in here.refused("init", "file/my.yaml")


def test_a_folder_that_is_not_there_is_one_line(here: CommandLineHere) -> None:
    assert "cannot write gone/my.yaml: No such file or directory: check the path" in here.refused(
        "init", "gone/my.yaml"
    )
