import importlib.util
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import MissingDependency
from systems.community.params import AnswerParams, IndexParams
from systems.community.system import SPEC

README = Path(__file__).resolve().parents[3] / "systems" / "community" / "README.md"


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
