"""Systems that are named with a target: what they are called, what identifies them, who plays their generator."""

from pathlib import Path
from typing import Any

import pytest

from harness.config import load_config
from harness.core.errors import ConfigError
from harness.core.records import OWN_MODELS
from harness.report.labels import labels
from harness.runner.plan import Cell, plan_cells

FAKE: dict[str, Any] = {
    "models": {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}},
    "dataset": {"sample": {"per_type": 2}},
}
A, B = "http://127.0.0.1:8000/ask", "http://127.0.0.1:8000/ask/again"


def planned(*systems: str, settings: tuple[str, ...] = (), **keys: Any) -> list[Cell]:
    return plan_cells(load_config({**FAKE, "systems": list(systems), **keys}, settings))


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
