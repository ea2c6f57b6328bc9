"""`rag-harness list`: what is installed, and what of it is broken."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, CommandLineHere
from plugins import PlugIn
from teller_server import CLIENT

from harness.models.providers import PROVIDERS
from harness.registry import DATASETS, EVALUATORS, SYSTEMS, PluginKind

NOTHING_BROKEN = ""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"})


def rows(cli: CommandLine, kind: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(cli.call("list", kind, "--json").stdout)}


@pytest.mark.parametrize(
    ("kind", "registered"),
    [("systems", SYSTEMS), ("datasets", DATASETS), ("evaluators", EVALUATORS), ("providers", PROVIDERS)],
)
def test_it_names_what_is_registered(cli: CommandLine, kind: str, registered: PluginKind[Any]) -> None:
    names = registered.names()
    assert list(rows(cli, kind)) == names
    table = cli.call("list", kind)
    assert all(name in table.stdout for name in names)
    assert (table.returncode, table.stderr) == (0, NOTHING_BROKEN)


def test_what_has_no_default_is_said_to_be_named(cli: CommandLine) -> None:
    listed = rows(cli, "datasets")
    assert listed["ir_datasets"]["options"] == {"distractors": None, "seed": 42, "id": "(required)"}


def test_a_measure_says_what_a_failure_counts_as(cli: CommandLine) -> None:
    measures = rows(cli, "measures")
    assert measures["accuracy"]["a failure counts as"] == 0.0
    assert measures["hallucination_rate"]["better"] == "lower"


def test_a_provider_says_what_it_plays(cli: CommandLine, plug_in: PlugIn) -> None:
    plug_in("rag_harness.providers", "teller", CLIENT)
    providers = rows(cli, "providers")
    assert providers["teller"] == {
        "name": "teller",
        "summary": "a server that tells",
        "plays": ["embedder", "generator"],
    }
    assert providers["local"]["plays"] == ["generator"]
    assert providers["minilm"]["plays"] == ["embedder"]


@pytest.mark.parametrize("words", [["--json"], []])
def test_what_is_broken_is_a_line_each_and_the_rest_is_listed(
    cli: CommandLine, plug_in: PlugIn, words: list[str]
) -> None:
    plug_in("rag_harness.providers", "lame", "import no_such_package\n")
    plug_in("rag_harness.providers", "odd", "SPEC = 'no provider'\n")
    plug_in("rag_harness.providers", "teller", CLIENT)
    done = cli.call("list", "providers", *words)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "left out: provider 'lame' (lame: lame:SPEC) cannot be imported (No module named 'no_such_package'): "
        "install what it needs",
        "left out: provider 'odd' (odd: odd:SPEC) is no ProviderSpec: export one",
    ]
    assert "a server that tells" in done.stdout
    assert "lame" not in done.stdout


def test_a_broken_evaluator_is_named_with_the_measures_too(cli: CommandLine, plug_in: PlugIn) -> None:
    plug_in("rag_harness.evaluators", "lame", "SPEC = 1 / 0\n")
    done = cli.call("list", "measures")
    assert done.stderr.splitlines() == [
        "left out: evaluator 'lame' (lame: lame:SPEC) cannot be imported (ZeroDivisionError: division by zero): "
        "correct it, or uninstall that package"
    ]
    assert "accuracy" in done.stdout


def test_brackets_in_a_summary_are_shown_and_not_read(cli: CommandLine, plug_in: PlugIn) -> None:
    plug_in("rag_harness.providers", "teller", CLIENT.replace("that tells", "[red]of [/x]"))
    assert "a server [red]of [/x]" in cli.call("list", "providers").stdout
