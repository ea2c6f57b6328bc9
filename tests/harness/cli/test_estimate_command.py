"""`rag-harness estimate`: what a config will take, from the command line."""

import json
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine, CommandLineHere


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"})


def test_a_row_a_cell_a_total_and_what_is_assumed_and_nothing_is_written(cli: CommandLine) -> None:
    done = cli.call("estimate", "-c", str(SMOKE), "--set", "matrix.answer.top_k=[1,2]")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:1]] == ["run"]
    assert sum(line.startswith("demo--naive--") for line in lines) == 2
    total = next(line for line in lines if line.startswith("total"))
    assert total.split()[1] == "16"
    assert any("4 characters" in line for line in lines)
    assert any("run a small sample first" in line for line in lines)
    assert any("demo, 8 queries, 2 runs, 1 pair" in line and "20 points about" in line for line in lines)
    assert list(cli.folder.iterdir()) == []


def test_json_holds_each_cell_what_is_left_and_the_total(cli: CommandLine) -> None:
    done = cli.call("estimate", "-c", str(SMOKE), "--json", "--set", "models.generator.provider=openai")
    printed = json.loads(done.stdout)
    (cell,) = printed["cells"]
    assert cell["n_left"] == cell["n_answers"] == 8
    (size,) = printed["sample_sizes"]
    assert (size["n_queries"], size["n_pairs"], size["can_show_anything"]) == (8, 1, True)
    assert size["needed"]["5"] > size["needed"]["10"] > size["needed"]["20"]
    assert cell["left"]["calls"] == {"value": 8.0, "is_whole": True}
    assert printed["total"]["usd"]["value"] > 0
    assert printed["total"]["seconds"] == {"value": None, "is_whole": False}


def test_a_mistake_in_the_config_is_one_line(cli: CommandLine) -> None:
    assert "unknown key 'answer.top_q'" in cli.refused("estimate", "--set", "answer.top_q=2")


OWN_PRICES = """prices:
  - {provider: openai, model: my-model, input: 1000000, output: 0, as_of: 2026-01-01, source: mine}
"""


def test_a_price_table_of_ones_own_is_counted_with(cli: CommandLine) -> None:
    (cli.folder / "own.yaml").write_text(OWN_PRICES)
    openai = ("--set", "models.generator.provider=openai", "--set", "models.generator.model=my-model")
    words = ("estimate", "-c", str(SMOKE), "--json", *openai)
    assert json.loads(cli.call(*words).stdout)["total"]["usd"]["is_whole"] is False
    total = json.loads(cli.call(*words, "--set", "prices=own.yaml").stdout)["total"]
    assert total["usd"] == {"value": total["input_tokens"]["value"], "is_whole": True}


def test_a_price_table_that_is_not_there_is_one_line(cli: CommandLine) -> None:
    assert "cannot read the prices in none.yaml" in cli.refused("estimate", "--set", "prices=none.yaml")
