"""Whole runs with a provider that somebody else wrote, whose server speaks a protocol of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from journals import usage_by_role
from plugins import PlugIn
from teller_server import CLIENT, TellerServer

from harness.config import load_config
from harness.core.records import RunRecord, Usage
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter

pytestmark = pytest.mark.slow

Run = Callable[..., CellResult]
N_QUERIES = 4


@pytest.fixture(autouse=True)
def teller(plug_in: PlugIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider, installed; caches of its own."""
    plug_in("rag_harness.providers", "teller", CLIENT)
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def run(teller_server: TellerServer, tmp_path: Path) -> Run:
    """run(*settings): one query of each type of the demo, both models played by the teller."""

    def go(*settings: str) -> CellResult:
        cell = planned(teller_server, *settings)
        return run_cell(cell, RunContext(tmp_path / "results", Reporter(quiet=True)))

    return go


def planned(server: TellerServer, *settings: str) -> Cell:
    played = [f"models.{role}.{key}={value}" for role in ("generator", "embedder")
              for key, value in (("provider", "teller"), ("base_url", server.url))]  # fmt: skip
    (cell,) = plan_cells(load_config(None, ["dataset.sample.per_type=1", *played, *settings]))
    return cell


def records(result: CellResult) -> list[RunRecord]:
    return list(result.run.records().values())


def used(result: CellResult, role: str) -> Usage:
    return sum((record.cost.usage[role] for record in records(result)), Usage())


def test_every_call_is_made_once_journaled_and_counted_as_its_server_counts(
    run: Run, teller_server: TellerServer, tmp_path: Path
) -> None:
    result = run()
    assert (result.status, result.n_ok, result.n_error) == ("done", N_QUERIES, 0)
    assert [record.prediction and record.prediction.answer for record in records(result)] == [
        "so it is"
    ] * N_QUERIES
    index = result.run.index()
    assert index is not None
    paid = usage_by_role(result.run.journal_path)
    assert paid["generator"] == used(result, "generator")
    assert paid["embedder"] == used(result, "embedder")
    assert usage_by_role(tmp_path / "results" / "indexes" / "calls.sqlite") == index.cost.usage
    assert teller_server.answered.count("tell") == used(result, "generator").calls == N_QUERIES
    embedded = used(result, "embedder").calls + index.cost.usage["embedder"].calls
    assert teller_server.answered.count("place") == embedded
    everything = [used(result, "generator"), used(result, "embedder"), index.cost.usage["embedder"]]
    assert teller_server.heard == sum(usage.input_tokens for usage in everything)
    assert teller_server.spoke == used(result, "generator").output_tokens


@pytest.mark.usefixtures("workers_here")
def test_another_server_of_the_same_model_is_another_run(teller_server: TellerServer) -> None:
    here = planned(teller_server)
    elsewhere = planned(teller_server, "models.generator.base_url=http://127.0.0.1:9")
    assert here.run_id != elsewhere.run_id
    assert here.index_id == elsewhere.index_id
