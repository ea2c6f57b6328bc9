"""The config that `init` writes: the schema's defaults in the schema's words, so that it cannot go stale."""

import re
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from harness.config import BenchConfig, schema
from harness.config.load import load_config
from harness.config.template import _docstrings, template

TEXT = template("my.yaml")


def uncommented(text: str) -> str:
    """With each # before a key taken away; explanations begin with a space."""
    return re.sub(r"^( *)#(?=\w)", r"\1", text, flags=re.MULTILINE)


def keys(tree: Any, path: str = "") -> set[str]:
    if not isinstance(tree, dict):
        return set()
    return {f"{path}{key}" for key in tree} | {own for key in tree for own in keys(tree[key], f"{path}{key}.")}


def test_as_it_stands_it_is_the_defaults() -> None:
    assert load_config(yaml.safe_load(TEXT)) == BenchConfig()


def test_with_every_comment_before_a_key_taken_away_it_is_the_defaults_too() -> None:
    assert load_config(yaml.safe_load(uncommented(TEXT))) == BenchConfig()


def test_every_key_is_there_but_those_that_another_section_explains() -> None:
    shown, wanted = keys(yaml.safe_load(uncommented(TEXT))), keys(BenchConfig().model_dump(mode="json"))
    assert set(BenchConfig.model_fields) <= shown
    assert shown <= wanted
    assert {key.rpartition(".")[0] for key in wanted - shown} == {
        "models.embedder",
        "models.judge",
        "models.judge_embedder",
    }


def test_every_line_before_a_key_says_what_it_is() -> None:
    lines = TEXT.splitlines()
    for number, line in enumerate(lines):
        if re.match(r" *#?\w+:", line):
            assert re.match(r" *# \S", lines[number - 1]), line
    assert "None" not in TEXT


@pytest.mark.parametrize("name", sorted(_docstrings()))
def test_every_key_of_the_schema_is_explained_where_it_is_defined(name: str) -> None:
    kind = getattr(schema, name)
    if not issubclass(kind, BaseModel):
        return
    for field, found in kind.model_fields.items():
        below = found.annotation
        if not (isinstance(below, type) and issubclass(below, BaseModel) and below.__doc__):
            assert any(_docstrings().get(base.__name__, {}).get(field) for base in kind.__mro__), field
