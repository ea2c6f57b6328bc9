import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.core.errors import MissingDependency
from harness.protocols import Params
from systems.community.params import AnswerParams, IndexParams
from systems.community.system import SPEC

README = Path(__file__).resolve().parents[3] / "systems" / "community" / "README.md"


def test_the_readme_names_every_parameter_with_its_default() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| `?([^|`]+)`? \|", README.read_text(), re.M)
    halves: dict[str, type[Params]] = {"index": SPEC.index_params, "answer": SPEC.answer_params}
    defaults = [
        (f"{half}.{name}", str(value.default))
        for half, params in halves.items()
        for name, value in params.model_fields.items()
    ]
    assert [(name, value.strip().replace(",", "")) for name, value in rows] == defaults


@pytest.mark.parametrize(
    "bad",
    [{"extractor": "langchain"}, {"max_gleaning": -1}, {"components": "none"}, {"report_tokens": 0}, {"top_k": 3}],
)
def test_index_parameters_that_cannot_be_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        IndexParams.model_validate(bad)


@pytest.mark.parametrize(
    "bad",
    [{"mode": "naive"}, {"community_level": -1}, {"max_reports": 0}, {"context_tokens": 0}, {"top_entities": 0}],
)
def test_answer_parameters_that_cannot_be_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AnswerParams.model_validate(bad)


def test_generator_and_embedder_determine_the_index() -> None:
    assert SPEC.roles(IndexParams(), AnswerParams()).index == {"generator", "embedder"}
    assert SPEC.stored_index_kind == "community/3"


@pytest.mark.parametrize(
    ("params", "roles"),
    [
        ({"extractor": "nlp", "reports": "rules"}, {"embedder"}),
        ({"extractor": "nlp"}, {"embedder", "generator"}),
        ({"reports": "rules"}, {"embedder", "generator"}),
    ],
)
def test_an_index_asks_a_generator_unless_rules_read_and_write(params: dict[str, Any], roles: set[str]) -> None:
    assert SPEC.roles(IndexParams.model_validate(params), AnswerParams()).index == roles


def test_the_parser_is_part_of_an_index_that_it_reads() -> None:
    assert SPEC.own_weights(IndexParams()) == {}
    assert SPEC.own_weights(IndexParams(extractor="nlp")).keys() == {"parser"}


@pytest.mark.parametrize(("mode", "roles"), [("global", {"generator"}), ("local", {"generator", "embedder"})])
def test_only_a_local_search_embeds_the_question(mode: str, roles: set[str]) -> None:
    assert SPEC.roles(IndexParams(), AnswerParams.model_validate({"mode": mode})).answer == roles


def test_a_missing_package_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(IndexParams(), AnswerParams())
    there = importlib.util.find_spec
    monkeypatch.setattr(
        "systems.community.library.find_spec", lambda name: None if name == "nano_vectordb" else there(name)
    )
    with pytest.raises(MissingDependency, match="not installed: nano_vectordb: run `make setup`"):
        SPEC.preflight(IndexParams(), AnswerParams())
