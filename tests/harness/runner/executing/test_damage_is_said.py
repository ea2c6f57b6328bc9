"""What was damaged and is made again is said to who asked to be quiet, too; what a kill leaves is no damage."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from damaging import WorkersHere

from harness.config import load_config
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.store import IndexDir
from harness.store.stored_files import Inventory

pytestmark = pytest.mark.slow
FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")


def run(results: Path) -> tuple[Cell, CellResult]:
    (cell,) = plan_cells(load_config(None, [*FAKE, "systems=[naive]"]))
    with WorkersHere():
        return cell, run_cell(cell, RunContext(results, Reporter(quiet=True)))


def test_damage_is_said_quietly_and_what_a_kill_while_answering_leaves_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def killed(_: Inventory) -> Iterator[None]:
        """Whoever is killed notes nothing at the end."""
        yield

    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as patched:
        patched.setattr(Inventory, "in_use", killed)
        cell, result = run(tmp_path)
    # Opening them has changed files of the index, and they were noted again.
    assert IndexDir(tmp_path, cell.index_id).remove_damaged() == []
    assert capsys.readouterr().err == ""

    for name in ("sample.jsonl", "done.json"):
        path = result.run.path / name
        path.write_bytes(path.read_bytes()[:-20])
    assert run(tmp_path)[1].status == "done"
    first, second = capsys.readouterr().err.splitlines()
    assert "sample.jsonl" in first
    assert first.endswith("the sample is written again")
    assert "done.json" in second
    assert second.endswith("the run is open again")
