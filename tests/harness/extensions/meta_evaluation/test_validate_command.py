"""`rag-harness validate` as a user calls it, on a small set."""

import json
from itertools import chain
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from harness.core.errors import HarnessError
from harness.extensions.meta_evaluation.commands import validate

from .conftest import Write, pair

APP = typer.Typer()
APP.command()(validate)


@pytest.fixture
def labelled(pairs: Write) -> None:
    """Twelve pairs, the better answer holding more of the reference; one person is of another mind at times."""
    longer = [1 + n % 4 - n % 3 for n in range(12)]
    rows = [pair(n, min(2, more), min(2, more - 1 + n % 2)) for n, more in enumerate(longer)]
    pairs(list(chain.from_iterable(rows)))


def called(*words: str) -> str:
    result = CliRunner().invoke(APP, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.usefixtures("labelled")
def test_a_set_is_scored_and_its_card_printed_and_written(tmp_path: Path) -> None:
    where = ("--results", str(tmp_path / "results"))
    said = json.loads(called("-e", "answer", "--json", "--quiet", *where))
    overall = said["dimensions"][2]
    found = {one["measure"]: one for one in overall["measures"]}
    assert overall["rows"] == 12
    assert found["token_f1"]["pearson_one_person"]["value"] > 0.5
    assert found["accuracy"]["constant"]
    out = tmp_path / "results" / "validity" / "ragchecker"
    assert (out / "figures" / "correlations.svg").is_file()
    text = called("--from", str(out))
    assert "which answer is better" in text
    assert "one person with another" in text


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "5"], "fewer than 10 questions"),
        (["--judge", "local", "--no-judge"], "--no-judge"),
        (["--from", "nowhere", "-e", "answer"], "drop -e"),
        (["-e", "anser"], "did you mean 'answer'"),
        (["--judge", "nobody/at-all"], "nobody"),
        (["--set-name", "clapnq"], "is not there"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_scored(tmp_path: Path, words: list[str], said: str) -> None:
    with pytest.raises(HarnessError, match=said):
        called(*words, "--results", str(tmp_path / "results"))
    assert not (tmp_path / "results").exists()
