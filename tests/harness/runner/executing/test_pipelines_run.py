"""Runs over pipelines of others: what is kept of them, and what a change in the middle does."""

from pathlib import Path

import pytest
from damaging import WorkersHere

from harness.config import load_config
from harness.core.errors import HarnessError
from harness.core.records import OWN_MODELS, Usage
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter

pytestmark = pytest.mark.slow

FAKE = {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}}
TOLD = {"answer": "Yes", "usage": {"calls": 2, "input_tokens": 30, "output_tokens": 4}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is called; caches are its own."""
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "as it was")  # Set again where models are lent.
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(name: str, code: str) -> Cell:
    Path(f"{name}.py").write_text(code)
    tree = {"systems": [f"python:{name}:answer"], "models": FAKE, "dataset": {"sample": {"per_type": 1}}}
    (cell,) = plan_cells(load_config(tree))
    return cell


def run(cell: Cell, folder: Path) -> CellResult:
    with WorkersHere():
        return run_cell(cell, RunContext(folder / "results", Reporter(quiet=True)))


def test_what_is_reported_stands_apart_from_what_was_metered_and_the_index_is_unknown(folder: Path) -> None:
    cell = planned("tells", f"def answer(question): return {TOLD}")
    result = run(cell, folder)
    usages = [record.cost.usage for record in result.run.iter_records()]
    assert (result.status, result.n_ok) == ("done", 4)
    assert usages == [{OWN_MODELS: Usage(calls=2, input_tokens=30, output_tokens=4, unmetered_calls=2)}] * 4
    index = result.run.index()
    assert index is not None
    assert (index.stats.is_elsewhere, index.cost.wall_s) == (True, None)
    assert index.cost.usage == {OWN_MODELS: Usage(unmetered_calls=1)}
    assert any("in words of its own" in note for note in result.run.manifest().notes)


def test_code_that_changed_since_the_run_began_ends_it_before_a_question_is_mixed(folder: Path) -> None:
    cell = planned("changes", "def answer(question): return 'Yes'")
    Path("changes.py").write_text("def answer(question): return 'No'")
    with pytest.raises(HarnessError, match=r"a different version .*: run the same command again"):
        run(cell, folder)
    assert planned("changes", "def answer(question): return 'No'").run_id != cell.run_id


def test_a_question_that_raises_used_what_nobody_knows(folder: Path) -> None:
    result = run(planned("raises", "def answer(question): raise KeyError('no')"), folder)
    records = list(result.run.iter_records())
    assert {record.failure.kind for record in records if record.failure} == {"KeyError"}
    assert [record.cost.usage for record in records] == [{OWN_MODELS: Usage(unmetered_calls=1)}] * 4
