"""A matrix becomes its cells, in a stable order."""

import re
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from harness.config import BenchConfig, SampleConfig, expand, load_config, schema
from harness.config.template import _docstrings, template
from harness.core.errors import ConfigError


def bench(**fields: object) -> BenchConfig:
    return BenchConfig.model_validate(fields)


def refusal(config: BenchConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        expand(config)
    return str(caught.value)


def test_without_a_matrix_every_system_is_one_cell_in_the_order_named() -> None:
    cells = expand(bench(systems=["b", "a"]))
    assert [cell.systems for cell in cells] == [("b",), ("a",)]


def test_every_combination_is_a_cell_and_the_last_axis_changes_fastest() -> None:
    cells = expand(bench(systems=["a", "b"], matrix={"answer.top_k": [1, 5], "seed": [7, 8]}))
    assert [(cell.systems[0], cell.answer["top_k"], cell.seed) for cell in cells] == [
        ("a", 1, 7),
        ("a", 1, 8),
        ("a", 5, 7),
        ("a", 5, 8),
        ("b", 1, 7),
        ("b", 1, 8),
        ("b", 5, 7),
        ("b", 5, 8),
    ]


def test_a_cell_names_one_system_and_has_no_matrix_left() -> None:
    for cell in expand(bench(systems=["a", "b"], matrix={"seed": [1, 2]}, exclude=[{"seed": 2}])):
        assert len(cell.systems) == 1
        assert (cell.matrix, cell.exclude) == ({}, ())
        assert expand(cell) == [cell]


def test_what_the_matrix_does_not_name_stays_as_it_is() -> None:
    config = bench(answer={"top_k": 3, "style": "phrase"}, matrix={"answer.top_k": [1]}, repeats=2)
    assert expand(config) == [bench(answer={"top_k": 1, "style": "phrase"}, repeats=2)]


def test_an_axis_may_run_over_any_key_of_the_config() -> None:
    config = bench(
        matrix={
            "dataset.sample": ["full", {"per_type": 2}],
            "models.generator.provider": ["fake"],
            "per_system.a.answer.top_k": [4],
        }
    )
    full, some = expand(config)
    assert (full.dataset.sample, some.dataset.sample) == ("full", SampleConfig(per_type=2))
    assert some.models.generator.provider == "fake"
    assert some.per_system["a"].answer == {"top_k": 4}


def test_an_axis_over_a_part_of_the_sample_makes_it_a_sample() -> None:
    config = bench(dataset={"sample": "full"}, matrix={"dataset.sample.per_type": [1, 2]})
    assert [cell.dataset.sample for cell in expand(config)] == [SampleConfig(per_type=1), SampleConfig(per_type=2)]


def test_exclude_leaves_out_the_combinations_that_fit_a_whole_rule() -> None:
    config = bench(
        systems=["a", "b"],
        matrix={"answer.top_k": [1, 5]},
        exclude=[{"system": "a", "answer.top_k": 5}, {"system": "b", "answer.top_k": 1}],
    )
    assert [(cell.systems[0], cell.answer["top_k"]) for cell in expand(config)] == [("a", 1), ("b", 5)]


def test_exclude_by_one_axis_leaves_out_every_cell_of_that_value() -> None:
    cells = expand(bench(systems=["a", "b"], matrix={"seed": [1, 2]}, exclude=[{"seed": 1}]))
    assert [(cell.systems[0], cell.seed) for cell in cells] == [("a", 2), ("b", 2)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"matrix": {"seed": [1]}, "exclude": [{"seed": 9, "sed": 1}]},
            "'sed' is not an axis: axes are: system",
        ),
        ({"exclude": [{}]}, "an empty rule"),
        ({"systems": []}, "nothing to run: an empty list of systems or matrix values"),
        ({"matrix": {"answer.top_k": []}}, "nothing to run: an empty list of systems or matrix values"),
        ({"exclude": [{"system": "naive"}]}, "nothing to run: `exclude` removes every combination"),
        ({"matrix": {"dataset.nme": ["demo"]}}, "unknown key 'dataset.nme': did you mean 'name'?"),
        ({"matrix": {"repeats": [1, 0]}}, "repeats: "),
    ],
)
def test_a_matrix_that_cannot_be_is_one_line(fields: dict[str, object], said: str) -> None:
    assert said in refusal(bench(**fields))


@pytest.mark.parametrize("setting", ["matrix={answer.top_k: [1, 5]}", "matrix.answer.top_k=[1, 5]"])
def test_an_axis_that_is_set_overrides_the_values_of_single_systems(setting: str) -> None:
    own = {"systems": ["a"], "per_system": {"a": {"answer": {"top_k": 3, "style": "phrase"}}}}
    config = load_config(own, [setting])
    assert [cell.answer["top_k"] for cell in expand(config)] == [1, 5]
    assert config.per_system["a"].answer == {"style": "phrase"}


def test_a_setting_of_a_swept_key_is_its_only_value() -> None:
    """Or the matrix of a config would silently overrule the command line."""
    own = {"systems": ["a"], "matrix": {"answer.search": ["bm25", "hybrid"], "answer.top_k": [1, 5]}}
    config = load_config(own, ["answer.search=dense"])
    assert [(cell.answer["search"], cell.answer["top_k"]) for cell in expand(config)] == [
        ("dense", 1),
        ("dense", 5),
    ]


# The config that `init` writes: the schema's defaults in the schema's words, so that it cannot go stale.


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
