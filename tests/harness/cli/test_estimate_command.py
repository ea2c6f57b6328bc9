"""`rag-harness estimate`: the expected cost of a config, from the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import SMOKE, CommandLine

from harness.config import GeneratorConfig
from harness.runner.estimating import model_speed

ESTIMATE = ("estimate", "-c", str(SMOKE))
TWO = ("--set", "matrix.answer.top_k=[1,2]")


def value(cli: CommandLine, *words: str) -> Any:
    return json.loads(cli.call(*ESTIMATE, "--json", *words).stdout)


def test_a_table_of_80_columns_has_each_run_and_the_total_and_no_run_is_written(cli: CommandLine) -> None:
    done = cli.call(*ESTIMATE, *TWO, "--set", "budget.minutes=10")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("total")) + 1]
    assert max(map(len, table)) <= 80
    assert all(name in table[0] for name in ("configuration", "index", "answers", "total", "tokens", "$"))
    assert [line.split()[:2] for line in table[1:-1]] == [["naive", "top_k=1"], ["naive", "top_k=2"]]
    assert any("10 min" in line for line in lines if line.startswith("budget"))
    assert any("demo, 8 queries, 2 runs, 1 pair" in line and "20 points about" in line for line in lines)
    assert [path.name for path in cli.folder.iterdir()] == ["cache"]
    # An index that the other run of the list builds is shared, not built.
    first, second = value(cli, *TWO)["cells"]
    assert not first["index_is_built"] and not second["index_is_built"] and second["index_is_shared"]
    assert second["left"]["seconds"]["high"] < first["left"]["seconds"]["high"]


def test_the_time_to_start_processes_is_part_of_the_total_and_named(cli: CommandLine) -> None:
    words = ("--set", "models.generator.provider=none")
    lines = cli.call(*ESTIMATE, *words).stdout.splitlines()
    (cell,) = value(cli, *words)["cells"]
    assert cell["left"]["seconds"]["low"] >= cell["start"]["low"] > 0
    assert any(re.match(r"total: \d.* start", line) for line in lines)
    assert "pair" not in "".join(lines)  # There is no other run to compare with.


def test_several_configs_count_a_shared_run_once_and_race_with_their_own_systems_alone(cli: CommandLine) -> None:
    once, twice = value(cli), value(cli, "-c", str(SMOKE))
    assert (once["cells"], once["total"]) == (twice["cells"], twice["total"])
    two = "systems: [naive, recursive]\nmodels: {generator: {provider: fake}, embedder: {provider: fake}}\n"
    for name, more in (("plain", ""), ("raced", "race: {margin: 10}\n")):
        (cli.folder / f"{name}.yaml").write_text(two + more)
    done = cli.call("estimate", "-c", "plain.yaml", "-c", "raced.yaml")
    assert (done.returncode, "race" in done.stdout) == (0, True), done.stderr


def test_a_budget_that_is_too_small_for_all_questions_is_reported(cli: CommandLine) -> None:
    assert "of 8 answers" in cli.call(*ESTIMATE, "--set", "budget.tokens=500").stdout
    assert "of 8 answers" not in cli.call(*ESTIMATE, "--set", "budget.tokens=9000000").stdout


def test_json_has_the_remaining_work_of_each_run_and_the_total(cli: CommandLine) -> None:
    printed = value(cli, "--set", "models.generator.provider=openai")
    (cell,) = printed["cells"]
    assert cell["n_left"] == cell["n_answers"] == 8
    (size,) = printed["sample_sizes"]
    assert (size["n_queries"], size["n_pairs"], size["can_show_anything"]) == (8, 1, True)
    assert size["needed"]["5"] > size["needed"]["10"] > size["needed"]["20"]
    assert cell["left"]["calls"] == {"low": 8.0, "high": 8.0, "is_whole": True}
    for quantity in ("usd", "seconds"):
        assert 0 < printed["total"][quantity]["low"] < printed["total"][quantity]["high"]
    # The paid model was not called: its seconds are assumed, and the notes say so.
    assert any("0.5 to 5 seconds" in note for note in cell["answer"]["notes"])


def test_the_speed_of_a_free_model_is_measured_once_and_a_flag_skips_it(cli: CommandLine) -> None:
    def speeds() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (cli.folder / "cache" / "speed").glob("*.json")}

    slow = ("--set", "models.generator.options.latency_s=0.05")
    assumed = value(cli, *slow, "--no-calibrate")["total"]["seconds"]
    assert speeds() == {}
    assert value(cli, *slow)["total"]["seconds"]["high"] < assumed["high"]
    stored = speeds()
    assert stored
    value(cli, *slow)
    assert speeds() == stored


@pytest.mark.parametrize(
    ("model", "is_free"),
    [
        ({"provider": "ollama", "model": "qwen3", "base_url": "http://127.0.0.1:11434/v1"}, True),
        ({"provider": "ollama", "model": "qwen3", "base_url": "http://10.0.0.5:11434/v1"}, False),
        ({"provider": "ollama", "model": "gpt-oss:120b-cloud", "base_url": "http://127.0.0.1:11434/v1"}, False),
        ({"provider": "openai-compatible", "model": "gpt-4o", "base_url": "http://127.0.0.1:4000/v1"}, False),
        ({"provider": "openai", "model": "gpt-4o-mini"}, False),
        ({"provider": "local"}, True),
    ],
)
def test_only_a_model_that_certainly_costs_nothing_is_called(model: dict[str, str], is_free: bool) -> None:
    assert model_speed.is_free(GeneratorConfig.model_validate(model)) == is_free


def test_missing_weights_are_named_with_their_size_and_not_downloaded(cli: CommandLine) -> None:
    done = cli.call(*ESTIMATE, "--set", "models.generator.provider=local")
    assert done.returncode == 0, done.stderr
    assert any("491 MB" in line and "qwen2.5-coder-0.5b" in line for line in done.stdout.splitlines())
    assert not list((cli.folder / "cache").glob("weights/*.gguf"))


def test_the_prices_of_ones_own_table_count_and_a_missing_table_is_one_line(cli: CommandLine) -> None:
    row = "{provider: openai, model: my-model, input: 1000000, output: 0, as_of: 2026-01-01, source: mine}"
    (cli.folder / "own.yaml").write_text(f"prices:\n  - {row}\n")
    openai = ("--set", "models.generator.provider=openai", "--set", "models.generator.model=my-model")
    assert value(cli, *openai)["total"]["usd"]["is_whole"] is False
    total = value(cli, *openai, "--set", "prices=own.yaml")["total"]
    for end in ("low", "high"):
        assert total["usd"][end] == pytest.approx(total["input_tokens"][end], abs=1)
    assert "cannot read the prices in none.yaml" in cli.refused("estimate", "--set", "prices=none.yaml")
