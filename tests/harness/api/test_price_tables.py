"""Runs that were made with price tables of their own: whose is read says the reader, for every row the same."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandLineHere
from paired_runs import ScoredRun, write_run

import harness.api as rag
from harness.core.errors import ConfigError
from harness.store import RunDir

MadeWith = Callable[[str, str | None], RunDir]
REFUSED = r"names its own price table, which is read only if you name it: add --prices .*\.yaml"


def table(path: Path, usd: float) -> Path:
    entry = f"{{provider: openai, model: gpt-4o-mini, input: {usd}, output: 0, as_of: 2026-01-01, source: mine}}"
    path.write_text(f"prices:\n  - {entry}\n", encoding="utf-8")
    return path


@pytest.fixture
def made_with(tmp_path: Path) -> MadeWith:
    """made_with(system, a price table or None): a run whose config names it, of 100, 101 and 102 input tokens."""

    def make(system: str, prices: str | None) -> RunDir:
        scores = {"accuracy": [1.0, 0.0, 1.0]}
        return write_run(tmp_path / "results", ScoredRun(system=system, scores=scores, config={"prices": prices}))

    return make


def usd_of(runs: list[RunDir], **wishes: object) -> list[float]:
    """Dollars of a mean query of the first run and of the second."""
    (row,) = rag.compare(rag.Runs(runs), ["usd"], **wishes).to_dict("records")  # type: ignore[arg-type]
    return [row["mean_a"], row["mean_b"]]


@pytest.mark.parametrize("other", [None, "dear.yaml"])
def test_a_table_that_a_run_names_is_not_read_until_one_is_chosen(
    made_with: MadeWith, tmp_path: Path, other: str | None
) -> None:
    cheap, dear = table(tmp_path / "cheap.yaml", 1.0), table(tmp_path / "dear.yaml", 7.0)
    runs = [made_with("naive", str(cheap)), made_with("kg", str(tmp_path / other) if other else None)]
    with pytest.raises(ConfigError, match=REFUSED):
        usd_of(runs)
    with pytest.raises(ConfigError, match=REFUSED):
        rag.report(rag.Runs(runs), tmp_path / "report")
    assert not (tmp_path / "report").exists()
    assert usd_of(runs, prices=dear) == pytest.approx([707e-6, 707e-6])


def test_the_baseline_is_priced_by_the_same_table_as_the_others(made_with: MadeWith, tmp_path: Path) -> None:
    cheap = str(table(tmp_path / "cheap.yaml", 1.0))
    runs, against = [made_with("naive", cheap)], made_with("kg", None)
    with pytest.raises(ConfigError, match=REFUSED):
        usd_of(runs, against=against)
    assert usd_of(runs, against=against, prices=cheap) == pytest.approx([101e-6, 101e-6])


@pytest.mark.slow
def test_on_the_command_line_it_is_one_line(made_with: MadeWith, tmp_path: Path) -> None:
    cli = CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})
    cheap = str(table(tmp_path / "cheap.yaml", 1.0))
    naive, kg = made_with("naive", cheap).run_id, made_with("kg", None).run_id
    for words in (("report", naive, kg), ("compare", naive, kg), ("compare", naive, "--against", kg)):
        assert "its own price table" in cli.refused(*words)
    done = cli.call("compare", naive, kg, "--measure", "usd", "--prices", cheap, "--json")
    assert done.returncode == 0, done.stderr
    ranking = json.loads(done.stdout)["measures"][0]["ranking"]
    assert [one["mean"] for one in ranking] == pytest.approx([101e-6] * 2)
