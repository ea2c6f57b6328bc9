"""`module:name` is found without running it, and a change of its file is another version."""

from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.registry import SYSTEMS
from systems.pipelines.target_lookup import find_target


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_is_found_in_the_folder_of_the_command_and_not_run(folder: Path) -> None:
    (folder / "mine.py").write_text("raise SystemExit(3)\ndef answer(question): ...\n")
    assert find_target("python", "mine:answer").as_text == "mine:answer"


def test_a_module_in_a_package_is_found_without_running_the_package(folder: Path) -> None:
    (folder / "kitchen").mkdir()
    (folder / "kitchen" / "__init__.py").write_text("raise SystemExit(3)")
    (folder / "kitchen" / "oven.py").write_text("answer = print")
    assert find_target("python", "kitchen.oven:answer").module == "kitchen.oven"


def test_another_file_is_another_version_and_the_same_file_is_the_same(folder: Path) -> None:
    versions = []
    for code in ("def answer(question): return 1", "def answer(question): return 2") * 2:
        (folder / "mine.py").write_text(code)
        versions.append(SYSTEMS.load("python:mine:answer").version)
    assert versions[:2] == versions[2:]
    assert len(set(versions)) == 2


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("nope:answer", "there is no module nope here: call the command in its folder"),
        ("mine:anser", "mine.py has no 'anser': did you mean 'answer'?"),
        ("json:answer", "comes before the json of this folder, has no 'answer': give yours another name"),
        ("mine", "'python:mine' names no function: write python:module:name"),
        ("mine:a-b", "names no function"),
        ("../mine:answer", "names no function"),
        ("broken:answer", "broken.py, line 1 is not Python"),
        ("folder:answer", "is a folder without __init__.py"),
    ],
)
def test_a_target_that_is_not_there_is_one_line(folder: Path, target: str, line: str) -> None:
    (folder / "mine.py").write_text("def answer(question): ...")
    (folder / "broken.py").write_text("def answer(")
    (folder / "json.py").write_text("def answer(question): ...")
    (folder / "folder").mkdir()
    with pytest.raises(ConfigError) as refused:
        find_target("python", target)
    assert line in str(refused.value)


@pytest.mark.parametrize("code", ["from os import *", "globals()['answer'] = print", "def __getattr__(name): ..."])
def test_a_name_that_only_running_can_tell_of_is_not_refused(folder: Path, code: str) -> None:
    (folder / "mine.py").write_text(code)
    assert find_target("python", "mine:answer").name == "answer"
