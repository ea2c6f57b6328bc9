"""A cell has the models that its system calls and no other: of those neither name nor weights nor key matter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.config import load_config
from harness.core.errors import ConfigError
from harness.core.hashing import folder_digest
from harness.models.embedders import embedder_cache_key
from harness.models.providers import minilm
from harness.protocols import Role, Roles
from harness.runner.executing.execute import check_needs
from harness.runner.plan import Cell, plan_cells

FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")
EMBED_NOTHING = ("closed-book", "gold")
needs_spacy = pytest.mark.skipif(find_spec("spacy") is None, reason="spaCy is not installed")


def cell(*settings: str) -> Cell:
    (only,) = plan_cells(load_config(None, [*FAKE, *settings]))
    return only


def ids(*settings: str) -> tuple[str, str]:
    found = cell(*settings)
    return found.run_id, found.index_id


def embedder(provider: str) -> str:
    return f"models.embedder.provider={provider}"


# Whoever is not called


@pytest.mark.parametrize("system", EMBED_NOTHING)
def test_a_system_that_embeds_nothing_has_one_id_whatever_the_embedder(system: str) -> None:
    named = [ids(f"systems=[{system}]", embedder(provider)) for provider in ("minilm", "openai", "fake", "none")]
    assert len(set(named)) == 1


@pytest.mark.parametrize("provider", ["ollama", "sentence-transformers", "no-such-provider"])
def test_a_mistake_in_an_embedder_that_nobody_calls_hurts_nobody(provider: str) -> None:
    """The first two need a model's name, the third is not there."""
    assert ids("systems=[closed-book]", embedder(provider)) == ids("systems=[closed-book]")
    with pytest.raises(ConfigError):
        cell(embedder(provider))


@pytest.mark.parametrize("system", EMBED_NOTHING)
def test_of_an_embedder_that_nobody_calls_no_key_is_asked_for(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = cell(f"systems=[{system}]", embedder("openai"))
    assert found.models.keys() == found.identity["models"].keys() == found.servers.keys() == {"generator"}
    assert found.embedder is None
    check_needs(found, Path("results"))


def test_a_system_that_generates_nothing_has_one_id_whatever_the_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    retrieves_only = replace(cell().spec, answer_roles=frozenset({"embedder"}))
    monkeypatch.setattr("systems.naive.system.SPEC", retrieves_only)
    providers = ("fake", "local", "openai", "none", "ollama")
    named = [ids(f"models.generator.provider={provider}") for provider in providers]
    assert len(set(named)) == 1
    assert cell().generator is None
    assert not cell().generates


@pytest.mark.parametrize("system", ["naive", "recursive", "kg", "community"])
def test_a_system_that_embeds_is_refused_without_an_embedder(system: str) -> None:
    with pytest.raises(ConfigError) as refused:
        cell(f"systems=[{system}]", embedder("none"))
    assert str(refused.value) == f"'{system}' embeds, and models.embedder.provider is none: choose a provider"


@pytest.mark.parametrize(
    ("settings", "index", "answer"),
    [
        (["systems=[naive]"], {"embedder"}, {"embedder", "generator"}),
        (["systems=[gold]"], set(), {"generator"}),
        (["systems=[kg]"], {"embedder", "generator"}, {"embedder", "generator"}),
        (["systems=[kg]", "answer.mode=triplets"], {"embedder", "generator"}, {"embedder", "generator"}),
        (["systems=[kg]", "answer.mode=triplets", "answer.rank=words"], {"embedder", "generator"}, {"generator"}),
        (["systems=[community]"], {"embedder", "generator"}, {"generator"}),
        (["systems=[community]", "answer.mode=local"], {"embedder", "generator"}, {"embedder", "generator"}),
    ],
)
def test_each_phase_names_the_models_that_it_calls(
    settings: Sequence[str], index: set[Role], answer: set[Role]
) -> None:
    found = cell(*settings)
    assert found.roles == Roles(index=frozenset(index), answer=frozenset(answer))
    assert found.models.keys() == index | answer


def test_without_a_generator_the_cell_has_the_one_that_is_none() -> None:
    found = cell("models.generator.provider=none")
    assert found.generator is not None
    assert found.generator.is_none
    assert found.identity["models"]["generator"] == {"provider": "none"}
    assert not found.generates


# Weights


def with_cache_key(*settings: str) -> tuple[Cell, str]:
    """A cell, and under what the vectors of its embedder are kept."""
    found = cell(*settings)
    assert found.embedder is not None
    return found, embedder_cache_key(found.embedder)


@pytest.mark.parametrize("changed", [0, 1])
def test_other_weights_of_minilm_are_another_run_index_and_cache(
    changed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, key = with_cache_key(embedder("minilm"))
    files = list(minilm._FILES)
    files[changed] = replace(files[changed], sha256="0" * 64)
    monkeypatch.setattr(minilm, "_FILES", tuple(files))
    after, other_key = with_cache_key(embedder("minilm"))
    assert before.run_id != after.run_id
    assert before.index_id != after.index_id
    assert key != other_key


def test_the_digest_of_minilms_weights_stands_in_the_run() -> None:
    assert len(cell(embedder("minilm")).identity["models"]["embedder"]["weights_sha256"]) == 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a sentence-transformers model, as far as its identity goes."""
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    return tmp_path


@pytest.fixture
def start_process() -> Iterator[Callable[[], None]]:
    """start_process() forgets the digests of folders, which are read once in a process."""
    yield folder_digest.cache_clear
    folder_digest.cache_clear()


@pytest.mark.parametrize("name", ["model.safetensors", "1_Pooling/config.json"])
def test_a_folder_of_a_model_in_which_a_file_changes_is_another_model(
    folder: Path, name: str, start_process: Callable[[], None]
) -> None:
    settings = (embedder("sentence-transformers"), f"models.embedder.model={folder}")
    before, key = with_cache_key(*settings)
    start_process()
    assert with_cache_key(*settings)[1] == key
    (folder / name).write_bytes(b"changed")
    start_process()
    after, other_key = with_cache_key(*settings)
    assert after.run_id != before.run_id
    assert after.index_id != before.index_id
    assert other_key != key


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A spaCy pipeline, as far as its identity goes."""
    (tmp_path / "config.cfg").write_text("[nlp]")
    (tmp_path / "parser").write_bytes(b"weights")
    return tmp_path


def weights(found: Cell) -> Any:
    return found.identity.get("weights")


@needs_spacy
def test_the_parser_of_a_graph_by_rules_is_part_of_its_run_and_its_index(
    pipeline: Path, start_process: Callable[[], None]
) -> None:
    settings = ("systems=[kg]", "index.extractor=nlp", f"index.nlp_pipeline={pipeline}")
    before = cell(*settings)
    assert weights(before) == {"parser": folder_digest(pipeline)}
    (pipeline / "parser").write_bytes(b"other weights")
    start_process()
    after = cell(*settings)
    assert weights(after) != weights(before)
    assert after.run_id != before.run_id
    assert after.index_id != before.index_id


@needs_spacy
def test_a_graph_by_rules_names_the_parser_that_is_installed_and_one_by_a_model_names_none() -> None:
    assert len(weights(cell("systems=[kg]", "index.extractor=nlp"))["parser"]) == 64
    assert weights(cell("systems=[kg]")) is None
    assert weights(cell()) is None
