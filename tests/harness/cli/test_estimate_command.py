"""`rag-harness estimate`: what a config will take, from the command line."""

import json
import re
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere

from harness.config import GeneratorConfig
from harness.runner.estimating import model_speed


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"})


def test_a_table_of_at_most_80_columns_holds_each_run_and_the_total_and_no_run_is_written(
    cli: CommandLine,
) -> None:
    done = cli.call(
        "estimate", "-c", str(SMOKE), "--set", "matrix.answer.top_k=[1,2]", "--set", "budget.minutes=10"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("total")) + 1]
    assert max(map(len, table)) <= 80
    assert all(name in table[0] for name in ("configuration", "index", "answers", "total", "tokens", "$"))
    assert [line.split()[:2] for line in table[1:-1]] == [["naive", "top_k=1"], ["naive", "top_k=2"]]
    assert any("10 min" in line for line in lines if line.startswith("budget"))
    assert any("demo, 8 queries, 2 runs, 1 pair" in line and "20 points about" in line for line in lines)
    assert [path.name for path in cli.folder.iterdir()] == ["cache"]


def test_the_part_of_a_total_that_no_column_has_is_said(cli: CommandLine) -> None:
    words = ("estimate", "-c", str(SMOKE), "--set", "models.generator.provider=none")
    lines = cli.call(*words).stdout.splitlines()
    (cell,) = json.loads(cli.call(*words, "--json").stdout)["cells"]
    assert cell["left"]["seconds"]["low"] >= cell["start"]["low"] > 0
    assert any(re.match(r"total: \d.* start", line) for line in lines)
    assert "pair" not in "".join(lines)  # There is no other run to compare with.


def test_an_index_that_another_run_builds_is_not_said_to_be_built(cli: CommandLine) -> None:
    words = ("estimate", "-c", str(SMOKE), "--set", "matrix.answer.top_k=[1,2]", "--json")
    first, second = json.loads(cli.call(*words).stdout)["cells"]
    assert not first["index_is_built"]
    assert not second["index_is_built"]
    assert second["index_is_shared"]
    assert second["left"]["seconds"]["high"] < first["left"]["seconds"]["high"]


def test_a_budget_that_is_too_small_for_all_questions_is_told(cli: CommandLine) -> None:
    words = ("estimate", "-c", str(SMOKE), "--set")
    assert "of 8 answers" in cli.call(*words, "budget.tokens=500").stdout
    assert "of 8 answers" not in cli.call(*words, "budget.tokens=9000000").stdout


def test_json_holds_each_cell_what_is_left_and_the_total(cli: CommandLine) -> None:
    done = cli.call("estimate", "-c", str(SMOKE), "--json", "--set", "models.generator.provider=openai")
    printed = json.loads(done.stdout)
    (cell,) = printed["cells"]
    assert cell["n_left"] == cell["n_answers"] == 8
    (size,) = printed["sample_sizes"]
    assert (size["n_queries"], size["n_pairs"], size["can_show_anything"]) == (8, 1, True)
    assert size["needed"]["5"] > size["needed"]["10"] > size["needed"]["20"]
    assert cell["left"]["calls"] == {"low": 8.0, "high": 8.0, "is_whole": True}
    assert 0 < printed["total"]["usd"]["low"] < printed["total"]["usd"]["high"]
    # The paid model was not called: its seconds are assumed, and said to be.
    assert 0 < printed["total"]["seconds"]["low"] < printed["total"]["seconds"]["high"]
    assert any("0.5 to 5 seconds" in note for note in cell["answer"]["notes"])


def speeds(cli: CommandLine) -> list[Path]:
    return list((cli.folder / "cache" / "speed").glob("*.json"))


def test_a_free_model_is_measured_once_and_a_flag_skips_it(cli: CommandLine) -> None:
    words = ("estimate", "-c", str(SMOKE), "--json", "--set", "models.generator.options.latency_s=0.05")
    assumed = json.loads(cli.call(*words, "--no-calibrate").stdout)["total"]["seconds"]
    assert speeds(cli) == []
    measured = json.loads(cli.call(*words).stdout)["total"]["seconds"]
    stored = {path: path.stat().st_mtime_ns for path in speeds(cli)}
    assert stored
    assert measured["high"] < assumed["high"]
    cli.call(*words)
    assert {path: path.stat().st_mtime_ns for path in speeds(cli)} == stored


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


def test_weights_that_are_missing_are_named_with_their_size_and_not_downloaded(cli: CommandLine) -> None:
    done = cli.call("estimate", "-c", str(SMOKE), "--set", "models.generator.provider=local")
    assert done.returncode == 0, done.stderr
    assert any("491 MB" in line and "qwen2.5-coder-0.5b" in line for line in done.stdout.splitlines())
    assert not list((cli.folder / "cache").glob("weights/*.gguf"))


OWN_PRICES = """prices:
  - {provider: openai, model: my-model, input: 1000000, output: 0, as_of: 2026-01-01, source: mine}
"""


def test_a_price_table_of_ones_own_is_counted_with(cli: CommandLine) -> None:
    (cli.folder / "own.yaml").write_text(OWN_PRICES)
    openai = ("--set", "models.generator.provider=openai", "--set", "models.generator.model=my-model")
    words = ("estimate", "-c", str(SMOKE), "--json", *openai)
    assert json.loads(cli.call(*words).stdout)["total"]["usd"]["is_whole"] is False
    total = json.loads(cli.call(*words, "--set", "prices=own.yaml").stdout)["total"]
    for end in ("low", "high"):
        assert total["usd"][end] == pytest.approx(total["input_tokens"][end], abs=1)


def test_a_price_table_that_is_not_there_is_one_line(cli: CommandLine) -> None:
    assert "cannot read the prices in none.yaml" in cli.refused("estimate", "--set", "prices=none.yaml")
