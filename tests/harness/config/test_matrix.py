"""A matrix becomes its cells, in a stable order."""

import re
from typing import Any

import pytest
import yaml

from harness.config import BenchConfig, SampleConfig, expand, load_config
from harness.config.template import template
from harness.core.errors import ConfigError


def bench(**fields: object) -> BenchConfig:
    return BenchConfig.model_validate(fields)


def refusal(config: BenchConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        expand(config)
    return str(caught.value)


def test_every_combination_is_a_cell_of_one_system_and_the_last_axis_changes_fastest() -> None:
    assert [cell.systems for cell in expand(bench(systems=["b", "a"]))] == [("b",), ("a",)]
    cells = expand(bench(systems=["a", "b"], matrix={"answer.top_k": [1, 5], "seed": [7, 8]}))
    assert [(cell.systems, cell.answer["top_k"], cell.seed) for cell in cells] == [
        ((system,), top_k, seed) for system in "ab" for top_k in (1, 5) for seed in (7, 8)
    ]


def test_a_cell_keeps_the_rest_of_the_config_and_has_no_matrix_left() -> None:
    config = bench(
        answer={"top_k": 3, "style": "phrase"}, matrix={"answer.top_k": [1]}, exclude=[{"answer.top_k": 2}]
    )
    assert expand(config) == [bench(answer={"top_k": 1, "style": "phrase"})]


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


def test_exclude_leaves_out_the_combinations_that_match_a_whole_rule() -> None:
    exclude = [{"system": "a", "answer.top_k": 5}, {"answer.top_k": 1}]
    cells = expand(bench(systems=["a", "b"], matrix={"answer.top_k": [1, 5, 9]}, exclude=exclude))
    found = [(cell.systems[0], cell.answer["top_k"]) for cell in cells]
    assert found == [("a", 9), ("b", 5), ("b", 9)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"matrix": {"seed": [1]}, "exclude": [{"seed": 9, "sed": 1}]}, "'sed' is not an axis: axes are: system"),
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
    found = [(cell.answer["search"], cell.answer["top_k"]) for cell in expand(config)]
    assert found == [("dense", 1), ("dense", 5)]


# The config that `init` writes: the schema's defaults in the schema's words, so that it cannot go stale.


TEXT = template("my.yaml")


def uncommented(text: str) -> str:
    """With each # before a key taken away; explanations begin with a space."""
    return re.sub(r"^( *)#(?=\w)", r"\1", text, flags=re.MULTILINE)


def keys(tree: Any, path: str = "") -> set[str]:
    if not isinstance(tree, dict):
        return set()
    return {f"{path}{key}" for key in tree} | {own for key in tree for own in keys(tree[key], f"{path}{key}.")}


def test_the_written_config_is_the_defaults_with_and_without_the_marks_before_keys() -> None:
    assert load_config(yaml.safe_load(TEXT)) == load_config(yaml.safe_load(uncommented(TEXT))) == BenchConfig()


def test_every_key_is_explained_there_unless_another_section_has_the_same() -> None:
    shown, wanted = keys(yaml.safe_load(uncommented(TEXT))), keys(BenchConfig().model_dump(mode="json"))
    assert set(BenchConfig.model_fields) <= shown <= wanted
    same = {"models.embedder", "models.judge", "models.judge_embedder"}
    assert {key.rpartition(".")[0] for key in wanted - shown} == same
    lines = TEXT.splitlines()
    for number, line in enumerate(lines):
        if re.match(r" *#?\w+:", line):
            assert re.match(r" *# \S", lines[number - 1]), line
    assert "None" not in TEXT
