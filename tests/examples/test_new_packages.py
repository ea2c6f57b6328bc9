"""What `rag-harness new` writes works as it is: built, installed, listed, run, and held to its contract. It is the
example of its kind under another name, so the examples keep their contracts too.
"""

import json
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine
from strangers import InstalledHere, command_line, install_package, keeps_its_contract, says

from harness import testing

pytestmark = [pytest.mark.slow, pytest.mark.long]
Written = tuple[CommandLine, Path]
CHOSEN = {
    "system": ("-s", "my-own"),
    "dataset": ("-s", "gold", "-d", "my-own"),
    "evaluator": ("-s", "gold", "--set", "evaluators=[my-own]"),
}


@pytest.fixture(params=CHOSEN, scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def written(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The command line with the package installed, and the package."""
    folder = tmp_path_factory.mktemp(kind)
    says(command_line(folder), "new", kind, "my-own", "--into", "plugins")
    package = folder / "plugins" / "my-own"
    # The commands of one kind run in processes, as a user's.
    how = CommandLine if kind == "system" else InstalledHere
    return command_line(folder, install_package(package, folder / "installed"), kind=how), package


def test_it_is_listed_and_runs(kind: str, written: Written) -> None:
    outside, _ = written
    rows = json.loads(says(outside, "list", f"{kind}s", "--json"))
    assert "my-own" in {row["name"] for row in rows}
    words = (
        "run",
        "-c",
        str(SMOKE),
        "--set",
        "dataset.sample.per_type=1",
        *CHOSEN[kind],
        "--json",
        "--out",
        "told",
    )
    (run,) = json.loads(says(outside, *words))["runs"]
    assert (run["status"], run["n_error"]) == ("done", 0)
    assert ("my-own" if kind != "evaluator" else "my_own_words") in (
        outside.folder / "told" / "summary.csv"
    ).read_text()


def test_it_keeps_its_contract(kind: str, written: Written) -> None:
    found = keeps_its_contract(*written)
    clauses = [name for name in dir(getattr(testing, f"{kind.title()}Contract")) if name.startswith("test_")]
    assert found.total() >= len(clauses) > 0
    assert found["passed"] > found["skipped"]
