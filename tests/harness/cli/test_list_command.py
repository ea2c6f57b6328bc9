"""`rag-harness list`: what is installed, and what of it is broken."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from plugins import PlugIn
from teller_server import CLIENT

from harness.cli.new import create
from harness.config.shipped_files import shipped_examples
from harness.core.errors import ConfigError, StoreError
from harness.models.providers import PROVIDERS
from harness.registry import DATASETS, EVALUATORS, SYSTEMS, PluginKind


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
    assert (table.returncode, table.stderr) == (0, "")


def test_a_system_says_whether_its_index_calls_a_model_and_its_parameters_if_asked(cli: CommandLine) -> None:
    calls = {name: row["model calls for the index"] for name, row in rows(cli, "systems").items()}
    assert (calls["naive"], calls["kg"], calls["router"]) == ("none", "yes", "those of its systems")
    assert "chunk_size" not in cli.call("list", "systems").stdout
    assert "chunk_size=1200" in cli.call("list", "systems", "--full").stdout
    assert rows(cli, "systems")["naive"]["index_params"]["chunk_size"] == 1200


def test_options_measures_and_providers_are_listed_with_what_is_needed_to_choose_them(
    cli: CommandLine, plug_in: PlugIn
) -> None:
    options = rows(cli, "datasets")["ir_datasets"]["options"]
    assert options == {"distractors": None, "seed": 42, "id": "(required)"}
    measures = rows(cli, "measures")
    assert measures["accuracy"]["a failure counts as"] == 0.0
    assert measures["hallucination_rate"]["better"] == "lower"
    plug_in("rag_harness.providers", "teller", CLIENT.replace("that tells", "[red]of [/x]"))
    providers = rows(cli, "providers")
    plays = [providers[name]["plays"] for name in ("teller", "local", "minilm")]
    assert plays == [["embedder", "generator"], ["generator"], ["embedder"]]
    # Brackets are shown, and not read as markup.
    assert providers["teller"]["summary"] == "a server [red]of [/x]"
    assert "a server [red]of [/x]" in cli.call("list", "providers").stdout


@pytest.mark.parametrize("words", [["--json"], []])
def test_a_broken_plug_in_is_one_line_and_the_rest_is_listed(
    cli: CommandLine, plug_in: PlugIn, words: list[str]
) -> None:
    plug_in("rag_harness.providers", "lame", "import no_such_package\n")
    plug_in("rag_harness.providers", "odd", "SPEC = 'no provider'\n")
    plug_in("rag_harness.providers", "teller", CLIENT)
    plug_in("rag_harness.evaluators", "halt", "SPEC = 1 / 0\n")
    done = cli.call("list", "providers", *words)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "left out: provider 'lame' (lame: lame:SPEC) cannot be imported (No module named 'no_such_package'): "
        "install what it needs",
        "left out: provider 'odd' (odd: odd:SPEC) is no ProviderSpec: export one",
    ]
    assert "a server that tells" in done.stdout
    assert "lame" not in done.stdout
    measures = cli.call("list", "measures", *words)
    assert "'halt' (halt: halt:SPEC) cannot be imported (ZeroDivisionError" in measures.stderr
    assert "accuracy" in measures.stdout


# `rag-harness new`: what it writes, what it refuses, and that it overwrites nothing.


OLD_NAMES = {"system": "bm25", "dataset": "bakery", "evaluator": "grounding"}


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", OLD_NAMES)
@pytest.mark.parametrize("suffix", ["", "-two", "_two"])
def test_a_new_name_replaces_that_of_the_example_everywhere(kind: str, suffix: str, tmp_path: Path) -> None:
    name = f"{OLD_NAMES[kind]}{suffix}" if suffix else "my-own"
    create(kind, name, tmp_path)
    written = files(tmp_path / name)
    module = name.replace("-", "_")
    assert {"pyproject.toml", f"{module}/__init__.py", "tests/test_contract.py"} <= written.keys()
    assert f'name = "{name}"\n' in written["pyproject.toml"]
    assert f'\n{name} = "{module}:SPEC"\n' in written["pyproject.toml"]
    assert f'name="{name}",' in written[f"{module}/__init__.py"]
    assert f'name = "{name}"\n' in written["tests/test_contract.py"]
    everything = "\n".join([*written, *written.values()])
    left = re.sub(rf"{re.escape(name)}|{module}", "", everything)
    assert OLD_NAMES[kind] not in left
    assert "example" not in left


@pytest.mark.parametrize("kind", OLD_NAMES)
def test_a_new_package_names_its_next_three_commands_and_its_own_measures(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "with space" / "my-own"
    create(kind, "my-own", folder.parent)
    first, title, *commands = capsys.readouterr().out.splitlines()
    assert first.startswith(f"wrote {folder}: pyproject.toml, ")
    assert title == "next:"
    assert [command.split()[0] for command in commands] == ["pip", "pytest", "rag-harness"]
    assert f"'{folder}[test]'" in commands[0]
    assert "my-own" in commands[2]
    if kind == "evaluator":
        names = re.findall(r'name="(\S+)",', (folder / "my_own" / "__init__.py").read_text())
        assert names == ["my_own_words", "my_own_numbers", "my-own"]


@pytest.mark.parametrize(
    "name",
    ["", "../up", "a/b", "/abs", "Capital", "class", "1st", "a--b", "-x", "x-", "é", "a b", "a\nb", "x" * 51,
     "a\0b", "\x1b[31mred", "a.b", "*"],
)  # fmt: skip
def test_a_name_that_no_package_can_have_is_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot name a package: use at most 50") as refused:
        create("system", name, tmp_path)
    assert str(refused.value).isprintable()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("system", "naive", "the system 'naive' is already registered"),
        ("dataset", "demo", "the data set 'demo' is already registered"),
        ("evaluator", "answer", "the evaluator 'answer' is already registered"),
        ("system", "json", "a module 'json' already exists"),
        ("system", "harness", "a module 'harness' already exists"),
        ("dataset", "tests", "a module 'tests' already exists"),
    ],
)
def test_a_name_that_is_taken_is_one_line(kind: str, name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        create(kind, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_and_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept.txt").write_text("kept")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    for name in ("mine", "nowhere"):
        with pytest.raises(ConfigError, match=f"{name} already exists: choose another name, or another folder"):
            create("system", name, tmp_path)
    assert files(tmp_path / "mine") == {"kept.txt": "kept"}
    assert not (tmp_path / "gone").exists()
    with pytest.raises(StoreError, match="a part of the path is a file"):
        create("system", "my-own", tmp_path / "mine" / "kept.txt")


def test_compiled_code_and_caches_in_an_example_are_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped" / "system"
    shutil.copytree(shipped_examples() / "system", shipped, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for left in ("__pycache__/m.pyc", "tests/__pycache__/t.pyc", ".pytest_cache/v/x"):
        (shipped / left).parent.mkdir(parents=True, exist_ok=True)
        (shipped / left).write_bytes(b"\xff\x00")
    monkeypatch.setattr("harness.cli.new.shipped_examples", lambda: shipped.parent)
    create("system", "my-own", tmp_path)
    kept = {"pyproject.toml", "my_own/__init__.py", "tests/test_contract.py"}
    assert files(tmp_path / "my-own").keys() == kept
