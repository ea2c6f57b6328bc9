"""A cell has the models that its system calls and no others: names, weights and keys of others do not matter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cells import cell, cells

from harness.core.errors import ConfigError
from harness.core.hashing import folder_digest
from harness.core.records import OWN_MODELS
from harness.models.embedding_cache import embedder_cache_key
from harness.models.providers import minilm
from harness.protocols import Role, Roles
from harness.report.labels import labels
from harness.runner.model_preflight import check_needs
from harness.runner.plan import Cell

needs_spacy = pytest.mark.skipif(find_spec("spacy") is None, reason="spaCy is not installed")


def embedder(provider: str) -> str:
    return f"models.embedder.provider={provider}"


def are_other_runs_and_indexes(one: Cell, other: Cell) -> bool:
    return one.run_id != other.run_id and one.index_id != other.index_id


@pytest.mark.parametrize("system", ["closed-book", "gold"])
def test_an_embedder_that_is_not_called_does_not_matter(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    # Ollama's model needs a name, and the last provider does not exist.
    for provider in ("minilm", "openai", "none", "ollama", "no-such-provider"):
        found = cell(f"systems=[{system}]", embedder(provider))
        assert (found.run_id, found.index_id) == (cell(f"systems=[{system}]").run_id, found.index_id)
        assert found.models.keys() == found.identity["models"].keys() == found.servers.keys() == {"generator"}
        check_needs(found, Path("results"))
    for provider in ("ollama", "no-such-provider"):
        with pytest.raises(ConfigError):
            cell(embedder(provider))


def test_a_generator_that_is_not_called_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    retrieves_only = replace(cell().spec, answer_roles=frozenset({"embedder"}))
    monkeypatch.setattr("systems.naive.system.SPEC", retrieves_only)
    found = [cell(f"models.generator.provider={provider}") for provider in ("fake", "openai", "none", "ollama")]
    assert len({one.run_id for one in found}) == 1
    assert [(one.generator, one.generates) for one in found] == [(None, False)] * 4


def test_a_system_that_embeds_is_refused_without_an_embedder() -> None:
    with pytest.raises(ConfigError) as refused:
        cell("systems=[kg]", embedder("none"))
    assert str(refused.value) == "'kg' embeds, and models.embedder.provider is none: choose a provider"


@pytest.mark.parametrize(
    ("settings", "index", "answer"),
    [
        (["systems=[naive]"], {"embedder"}, {"embedder", "generator"}),
        (["systems=[gold]"], set(), {"generator"}),
        (["systems=[kg]"], {"embedder", "generator"}, {"embedder", "generator"}),
        (["systems=[kg]", "answer.mode=triplets", "answer.rank=words"], {"embedder", "generator"}, {"generator"}),
        (["systems=[community]"], {"embedder", "generator"}, {"generator"}),
        (["systems=[community]", "answer.mode=local"], {"embedder", "generator"}, {"embedder", "generator"}),
    ],
)
def test_each_phase_names_its_models(settings: Sequence[str], index: set[Role], answer: set[Role]) -> None:
    found = cell(*settings)
    assert found.roles == Roles(index=frozenset(index), answer=frozenset(answer))
    assert found.models.keys() == index | answer


def test_without_a_generator_the_cell_has_the_one_that_is_none() -> None:
    found = cell("models.generator.provider=none")
    assert found.generator is not None and found.generator.is_none and not found.generates
    assert found.identity["models"]["generator"] == {"provider": "none"}


def with_cache_key(*settings: str) -> tuple[Cell, str]:
    """A cell, and the key under which the vectors of its embedder are cached."""
    found = cell(*settings)
    assert found.embedder is not None
    return found, embedder_cache_key(found.embedder)


@pytest.mark.parametrize("changed", [0, 1])
def test_other_weights_are_another_run_index_and_cache(changed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before, key = with_cache_key(embedder("minilm"))
    assert len(before.identity["models"]["embedder"]["weights_sha256"]) == 64
    files = list(minilm._FILES)
    files[changed] = replace(files[changed], sha256="0" * 64)
    monkeypatch.setattr(minilm, "_FILES", tuple(files))
    after, other_key = with_cache_key(embedder("minilm"))
    assert are_other_runs_and_indexes(before, after)
    assert key != other_key


@pytest.fixture
def start_process() -> Iterator[Callable[[], None]]:
    """start_process() forgets the digests of folders, which are read once in a process."""
    yield folder_digest.cache_clear
    folder_digest.cache_clear()


@pytest.mark.parametrize("name", ["model.safetensors", "1_Pooling/config.json"])
def test_a_changed_file_is_another_model(tmp_path: Path, name: str, start_process: Callable[[], None]) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    settings = (embedder("sentence-transformers"), f"models.embedder.model={tmp_path}")
    before, key = with_cache_key(*settings)
    start_process()
    assert with_cache_key(*settings)[1] == key
    (tmp_path / name).write_bytes(b"changed")
    start_process()
    after, other_key = with_cache_key(*settings)
    assert are_other_runs_and_indexes(before, after)
    assert other_key != key


@needs_spacy
def test_the_parser_of_a_graph_is_part_of_its_index(tmp_path: Path, start_process: Callable[[], None]) -> None:
    (tmp_path / "config.cfg").write_text("[nlp]")
    (tmp_path / "parser").write_bytes(b"weights")
    settings = ("systems=[kg]", "index.extractor=nlp", f"index.nlp_pipeline={tmp_path}")
    before = cell(*settings)
    assert before.identity["weights"] == {"parser": folder_digest(tmp_path)}
    (tmp_path / "parser").write_bytes(b"other weights")
    start_process()
    after = cell(*settings)
    assert after.identity["weights"] != before.identity["weights"]
    assert are_other_runs_and_indexes(before, after)
    assert len(cell(*settings[:2]).identity["weights"]["parser"]) == 64
    assert "weights" not in cell("systems=[kg]").identity


# Systems that are named with a target: what they are called, what identifies them, which generator they have.

A, B = "http://127.0.0.1:8000/ask", "http://127.0.0.1:8000/ask/again"


def planned(*systems: str, settings: tuple[str, ...] = ()) -> list[Cell]:
    named = ", ".join(f'"{name}"' for name in systems)
    return cells(f"systems=[{named}]", *settings)


def test_services_at_other_urls_or_of_another_version_are_other_runs_with_plain_names_and_labels() -> None:
    both = planned(A, B)
    assert [cell.run_id.rpartition("--")[0] for cell in both] == [
        "demo--http-127.0.0.1-8000-ask",
        "demo--http-127.0.0.1-8000-ask-again",
    ]
    assert labels([cell.identity for cell in both]) == [A, B]
    one, other = planned("http://h/a-b", "http://h/a/b")
    assert one.run_id != other.run_id, "their folders would have the same name"
    key = f'per_system."http:{A}".answer.version'
    versions = [planned(A)[0], *(planned(A, settings=(f"{key}={value}",))[0] for value in ("2024-05", "2024-06"))]
    assert len({cell.run_id for cell in versions}) == 3
    assert labels([cell.identity for cell in versions[1:]]) == [
        f"{A} answer.version={value}" for value in ("2024-05", "2024-06")
    ]
    swept = planned(A, settings=('matrix.answer.version=["1", "2"]',))
    assert [cell.identity["system"]["answer"]["version"] for cell in swept] == ["1", "2"]


def test_a_service_has_a_generator_of_its_own_unless_only_retrieval_is_wanted() -> None:
    (cell,) = planned(A)
    assert (cell.generator, cell.embedder, cell.generates) == (None, None, True)
    assert cell.identity["models"] == {"generator": {"provider": OWN_MODELS, "model": None}}
    assert "contract" not in cell.identity["answers"]
    (cell,) = planned(A, settings=("models.generator.provider=none",))
    assert cell.identity["models"] == {"generator": {"provider": "none"}}
    assert not cell.generates and "answers" not in cell.identity


def test_changed_code_is_another_run_with_lent_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs: list[Any] = []
    for code in ("def answer(question): return 1", "def answer(question): return 2"):
        (tmp_path / "mine.py").write_text(code)
        runs += planned("python:mine:answer")
    assert [cell.models["generator"].provider for cell in runs] == ["fake", "fake"]
    assert are_other_runs_and_indexes(*runs)
    assert runs[0].run_id.startswith("demo--python-mine-answer--")
    (cell,) = planned("python:mine:answer", settings=("models.embedder.provider=none",))
    assert set(cell.models) == {"generator"}


def test_a_kind_without_a_target_says_how_to_name_one() -> None:
    with pytest.raises(ConfigError, match="needs a target: such as http:"):
        planned("http")
    with pytest.raises(ConfigError, match="'naive' stands for itself"):
        planned("naive:x")
