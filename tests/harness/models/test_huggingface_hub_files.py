"""Which commit of a model is there: what is in the hub library's cache, else what the hub has."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest

from harness.config import EmbedderConfig
from harness.core.errors import MissingDependency, ModelUnavailable
from harness.models import huggingface_hub_files
from harness.models.embedders import embedder_cache_key
from harness.models.huggingface_hub_files import hub_revision
from harness.models.model_endpoint import model_identity

COMMIT, OTHER = "a" * 40, "b" * 40


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


def test_the_commit_that_the_main_branch_was_at_is_the_one(cache: Path) -> None:
    keep(cache, "owner/model", COMMIT, OTHER, main=OTHER)
    assert hub_revision("owner/model") == OTHER


def test_one_that_was_fetched_by_its_commit_is_that_commit(cache: Path) -> None:
    keep(cache, "owner/model", COMMIT)
    assert hub_revision("owner/model") == COMMIT


@pytest.mark.parametrize("snapshots", [(), (COMMIT, OTHER)])
def test_none_or_several_without_a_hub_to_ask_are_one_line(cache: Path, snapshots: tuple[str, ...]) -> None:
    keep(cache, "owner/model", *snapshots)
    with pytest.raises(ModelUnavailable) as refused:
        hub_revision("owner/model")
    assert str(refused.value) == (
        "the weights of owner/model are not here, and the hub is out of reach:"
        " connect to the network, or give the path of a folder that holds the model"
    )


def answering(monkeypatch: pytest.MonkeyPatch, info: Any) -> None:
    """A hub that is there and says `info` of a model."""

    class Api:
        def model_info(self, repo: str) -> object:
            return info(repo)

    monkeypatch.setattr(huggingface_hub_files, "hub_is_reachable", lambda: True)
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)


def test_what_is_not_kept_is_the_hubs_latest(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, lambda repo: SimpleNamespace(sha={"owner/model": OTHER}[repo]))
    assert hub_revision("owner/model") == OTHER


def test_a_model_that_the_hub_does_not_know_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, lambda _repo: 1 // 0)
    with pytest.raises(ModelUnavailable) as refused:
        hub_revision("owner/model")
    assert str(refused.value) == "the hub does not know owner/model (ZeroDivisionError): check the model's name"


def test_without_the_hubs_library_the_line_names_what_it_was_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(MissingDependency, match="huggingface-hub is not installed"):
        hub_revision("owner/model")


# As part of a model's identity


def embedder(model: str) -> EmbedderConfig:
    return EmbedderConfig(provider="sentence-transformers", model=model)


def test_a_model_by_name_is_identified_by_the_commit_that_is_kept(cache: Path) -> None:
    keep(cache, "owner/model", main=COMMIT)
    assert model_identity(embedder("owner/model"))["revision"] == COMMIT
    key = embedder_cache_key(embedder("owner/model"))
    (cache / "models--owner--model" / "refs" / "main").write_text(OTHER)
    hub_revision.cache_clear()
    assert model_identity(embedder("owner/model"))["revision"] == OTHER
    assert embedder_cache_key(embedder("owner/model")) != key


def test_a_name_without_an_owner_is_one_of_sentence_transformers(cache: Path) -> None:
    keep(cache, "sentence-transformers/all-MiniLM-L6-v2", main=COMMIT)
    assert model_identity(embedder("all-MiniLM-L6-v2"))["revision"] == COMMIT


def test_a_folder_has_no_commit(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "own").mkdir()
    assert model_identity(embedder(str(tmp_path / "own"))).keys() == {"provider", "model", "weights_sha256"}
