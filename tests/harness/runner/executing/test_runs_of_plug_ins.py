"""Whole runs with a provider and with pipelines that somebody else wrote."""

from pathlib import Path

import pytest
from cells import cell
from damaging import WorkersHere
from journals import usage_by_role
from plugins import PlugIn
from records import known
from teller_server import CLIENT, TellerServer

from harness.core.errors import HarnessError
from harness.core.records import OWN_MODELS, RunRecord, Usage
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell
from harness.runner.progress import Reporter

pytestmark = pytest.mark.slow

N_QUERIES = 4


@pytest.fixture(autouse=True)
def folder(plug_in: PlugIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is called, with the provider installed and caches of its own."""
    plug_in("rag_harness.providers", "teller", CLIENT)
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "as it was")  # Set again where models are lent.
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_here(cell: Cell, folder: Path) -> CellResult:
    return run_cell(cell, RunContext(folder / "results", Reporter(quiet=True)))


def planned(server: TellerServer, *settings: str) -> Cell:
    """One query of each type of the demo, both models played by the teller."""
    played = [f"models.{role}.{key}={value}" for role in ("generator", "embedder")
              for key, value in (("provider", "teller"), ("base_url", server.url))]  # fmt: skip
    return cell(*played, *settings)


def records(result: CellResult) -> list[RunRecord]:
    return list(result.run.records().values())


def used(result: CellResult, role: str) -> Usage:
    return sum((record.cost.usage[role] for record in records(result)), Usage())


def test_every_call_is_made_journaled_and_counted_once(teller_server: TellerServer, folder: Path) -> None:
    result = run_here(planned(teller_server), folder)
    assert (result.status, result.n_ok, result.n_error) == ("done", N_QUERIES, 0)
    answers = [record.prediction and record.prediction.answer for record in records(result)]
    assert answers == ["so it is"] * N_QUERIES
    index = known(result.run.index())
    paid = usage_by_role(result.run.journal_path)
    assert paid["generator"] == used(result, "generator")
    assert paid["embedder"] == used(result, "embedder")
    assert usage_by_role(folder / "results" / "indexes" / "calls.sqlite") == index.cost.usage
    assert teller_server.answered.count("tell") == used(result, "generator").calls == N_QUERIES
    embedded = used(result, "embedder").calls + index.cost.usage["embedder"].calls
    assert teller_server.answered.count("place") == embedded
    everything = [used(result, "generator"), used(result, "embedder"), index.cost.usage["embedder"]]
    assert teller_server.heard == sum(usage.input_tokens for usage in everything)
    assert teller_server.spoke == used(result, "generator").output_tokens


# Runs over pipelines of others: what is kept of them, and what a change in the middle does.

TOLD = {"answer": "Yes", "usage": {"calls": 2, "input_tokens": 30, "output_tokens": 4}}


def planned_pipeline(name: str, code: str) -> Cell:
    Path(f"{name}.py").write_text(code)
    return cell(f'systems=["python:{name}:answer"]')


def run_pipeline(cell: Cell, folder: Path) -> CellResult:
    with WorkersHere():
        return run_here(cell, folder)


def test_what_is_reported_stands_apart_from_what_was_metered_and_the_index_is_unknown(folder: Path) -> None:
    cell = planned_pipeline("tells", f"def answer(question): return {TOLD}")
    result = run_pipeline(cell, folder)
    usages = [record.cost.usage for record in result.run.iter_records()]
    assert (result.status, result.n_ok) == ("done", 4)
    assert usages == [{OWN_MODELS: Usage(calls=2, input_tokens=30, output_tokens=4, unmetered_calls=2)}] * 4
    index = known(result.run.index())
    assert (index.stats.is_elsewhere, index.cost.wall_s) == (True, None)
    assert index.cost.usage == {OWN_MODELS: Usage(unmetered_calls=1)}
    assert any("in words of its own" in note for note in result.run.manifest().notes)


def test_code_that_changed_since_the_run_began_ends_it_before_a_question_is_mixed(folder: Path) -> None:
    cell = planned_pipeline("changes", "def answer(question): return 'Yes'")
    Path("changes.py").write_text("def answer(question): return 'No'")
    with pytest.raises(HarnessError, match=r"a different version .*: run the same command again"):
        run_pipeline(cell, folder)
    assert planned_pipeline("changes", "def answer(question): return 'No'").run_id != cell.run_id


def test_a_question_that_raises_used_what_nobody_knows(folder: Path) -> None:
    result = run_pipeline(planned_pipeline("raises", "def answer(question): raise KeyError('no')"), folder)
    records = list(result.run.iter_records())
    assert {record.failure.kind for record in records if record.failure} == {"KeyError"}
    assert [record.cost.usage for record in records] == [{OWN_MODELS: Usage(unmetered_calls=1)}] * 4
