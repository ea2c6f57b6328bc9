"""The printed command makes the same config again."""

import shlex
from collections.abc import Callable
from typing import Any

import pytest

from harness.config import BenchConfig, load_config
from harness.report.tables.runs import run_command
from harness.runner.executing.execute import build_manifest
from harness.runner.plan import plan_cells
from harness.store import RunDir

MakeRun = Callable[..., RunDir]


def unbegun(make_run: MakeRun, config: dict[str, Any]) -> RunDir:
    return make_run(config=config, missing=20, indexed=False, evaluated=False, sessions=())


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"systems": ["kg"], "dataset": {"name": "multihop_rag", "corpus": "cited"}, "answer": {"top_k": 4}},
        {
            "dataset": {"sample": {"per_type": 7, "seed": 1}},
            "per_system": {"naive": {"answer": {"prompt": "it's; $HOME\n| yes", "mode": "no"}}},
        },
        {"models": {"generator": {"provider": "fake", "options": {"script": {"a": [1, 2]}}}}},
        {"per_system": {"naive": {"index": {"chunk_size": 900}}}, "limits": {"concurrency": 4}},
        {"dataset": {"name": "files", "path": "it's my folder", "questions": 'the "best" ones.csv'}},
        {"models": {"generator": {"extra": {"metadata": {}, "a.b": {"c d": 1}}}}, "name": "trial 1"},
    ],
)
def test_the_command_gives_the_same_config(make_run: MakeRun, tree: dict[str, Any]) -> None:
    config = BenchConfig.model_validate(tree)
    run = unbegun(make_run, config.model_dump(mode="json"))
    words = shlex.split(run_command(run.manifest()))
    assert words[:2] == ["rag-harness", "run"]
    assert words[2::2] == ["--set"] * len(words[3::2])
    assert load_config(None, words[3::2]) == config


def test_the_command_of_each_run_of_a_shared_config_makes_that_run_again() -> None:
    shared = BenchConfig.model_validate(
        {
            "systems": ["naive", "kg", "closed-book"],
            "dataset": {"name": "demo", "sample": {"per_type": 1}},
            "models": {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}},
            "index": {"chunk_size": 600},
            "answer": {"top_k": 2},
            "per_system": {"kg": {"index": {"extractor": "nlp"}}},
            "budget": {"tokens": 100_000},
        }
    )
    for cell in plan_cells(shared):
        words = shlex.split(run_command(build_manifest(cell)))
        (again,) = plan_cells(load_config(None, words[3::2]))
        assert again.run_id == cell.run_id


def test_the_command_of_one_run_of_a_race_names_no_race_which_takes_two(make_run: MakeRun) -> None:
    config = BenchConfig.model_validate({"systems": ["naive"], "race": {"alpha": 0.2}})
    assert "race" not in run_command(unbegun(make_run, config.model_dump(mode="json")).manifest())


def test_the_defaults_are_not_spelled_out(make_run: MakeRun) -> None:
    run = unbegun(make_run, BenchConfig().model_dump(mode="json"))
    assert run_command(run.manifest()) == "rag-harness run --set 'systems=[\"naive\"]' --set dataset.name=demo"


def test_a_config_of_another_version_is_shown_instead(make_run: MakeRun) -> None:
    run = unbegun(make_run, {"a key of tomorrow": 1})
    assert run_command(run.manifest()) == f"rag-harness show {run.run_id}"
