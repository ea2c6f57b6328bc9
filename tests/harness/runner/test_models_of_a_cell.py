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
from harness.core.records import OWN_MODELS
from harness.models.embedding_cache import embedder_cache_key
from harness.models.providers import minilm
from harness.protocols import Role, Roles
from harness.report.labels import labels
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


# Systems that are named with a target: what they are called, what identifies them, who plays their generator.


FAKE_MODELS: dict[str, Any] = {
    "models": {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}},
    "dataset": {"sample": {"per_type": 2}},
}
A, B = "http://127.0.0.1:8000/ask", "http://127.0.0.1:8000/ask/again"


def planned(*systems: str, settings: tuple[str, ...] = (), **keys: Any) -> list[Cell]:
    return plan_cells(load_config({**FAKE_MODELS, "systems": list(systems), **keys}, settings))


def test_two_services_are_two_runs_in_folders_with_plain_names_and_labels_that_say_which() -> None:
    cells = planned(A, B)
    assert [cell.run_id.rpartition("--")[0] for cell in cells] == [
        "demo--http-127.0.0.1-8000-ask",
        "demo--http-127.0.0.1-8000-ask-again",
    ]
    assert labels([cell.identity for cell in cells]) == [A, B]


def test_urls_that_differ_in_signs_alone_are_two_runs() -> None:
    one, other = planned("http://h/a-b", "http://h/a/b")
    assert one.run_id != other.run_id


def test_what_the_user_calls_the_service_now_makes_it_another_run() -> None:
    key = f'per_system."http:{A}".answer.version'
    versions = [planned(A)[0], *(planned(A, settings=(f"{key}={value}",))[0] for value in ("2024-05", "2024-06"))]
    assert len({cell.run_id for cell in versions}) == 3
    assert labels([cell.identity for cell in versions[1:]]) == [
        f"{A} answer.version={value}" for value in ("2024-05", "2024-06")
    ]


def test_an_axis_spans_runs_of_a_service() -> None:
    cells = planned(A, matrix={"answer.version": ["1", "2"]})
    assert [cell.identity["system"]["answer"]["version"] for cell in cells] == ["1", "2"]


def test_a_service_has_a_generator_of_its_own_and_needs_none_of_the_config() -> None:
    (cell,) = planned(A)
    assert (cell.generator, cell.embedder, cell.generates) == (None, None, True)
    assert cell.identity["models"] == {"generator": {"provider": OWN_MODELS, "model": None}}
    assert "contract" not in cell.identity["answers"]


def test_where_retrieval_alone_is_asked_for_it_has_none() -> None:
    (cell,) = planned(A, settings=("models.generator.provider=none",))
    assert not cell.generates
    assert cell.identity["models"] == {"generator": {"provider": "none"}}
    assert "answers" not in cell.identity


def test_code_is_lent_the_configs_models_and_a_change_of_it_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = []
    for code in ("def answer(question): return 1", "def answer(question): return 2"):
        (tmp_path / "mine.py").write_text(code)
        runs += planned("python:mine:answer")
    assert [cell.models["generator"].provider for cell in runs] == ["fake", "fake"]
    assert len({cell.run_id for cell in runs}) == len({cell.index_id for cell in runs}) == 2
    assert runs[0].run_id.startswith("demo--python-mine-answer--")


def test_without_an_embedder_in_the_config_code_is_lent_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def answer(question): return 1")
    (cell,) = planned("python:mine:answer", settings=("models.embedder.provider=none",))
    assert set(cell.models) == {"generator"}


def test_a_kind_without_a_target_says_how_to_name_one() -> None:
    with pytest.raises(ConfigError, match="needs a target: such as http:"):
        planned("http")
    with pytest.raises(ConfigError, match="'naive' stands for itself"):
        planned("naive:x")
