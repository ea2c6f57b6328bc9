"""What an index took by itself: rebuilt from what earlier builds noted, or measured by building it anew."""

import shutil
from pathlib import Path

import pytest
from damaging import WorkersHere

from harness.config import load_config
from harness.core.records import Cost
from harness.runner.executing.execute import NO_RERUN, RerunOptions, RunContext, run_cell
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from harness.store import RunDir

pytestmark = pytest.mark.slow

FAKE = (
    "models.generator.provider=fake",
    "models.embedder.provider=fake",
    "models.embedder.options.latency_s=0.3",
    "models.embedder.batch_size=16",
    "dataset.sample.per_type=1",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of weights and vectors, empty."""
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))


def run(results: Path, system: str, rerun: RerunOptions = NO_RERUN) -> RunDir:
    (cell,) = plan_cells(load_config(None, [*FAKE, f"systems=[{system}]"]))
    with WorkersHere():
        return run_cell(cell, RunContext(results, Reporter(quiet=True), rerun=rerun)).run


def cost_of(run: RunDir) -> Cost:
    index = run.index()
    assert index is not None
    return index.cost


def test_what_an_index_would_have_taken_alone_is_rebuilt_from_the_vectors_that_were_there(tmp_path: Path) -> None:
    first = cost_of(run(tmp_path / "one", "naive"))
    helped = cost_of(run(tmp_path / "other", "naive"))
    assert helped.saved_s is not None
    assert (first.saved_s, first.cached_texts) == (None, 0)
    assert (helped.cached_texts, helped.embedded_texts) == (first.embedded_texts, 0)
    assert helped.saved_s >= 4 * 0.3, "56 passages, 16 a call"
    assert helped.saved_s <= first.stages_s["embed"]


def test_a_fresh_index_is_built_with_nothing_that_another_left_and_measured(tmp_path: Path) -> None:
    results = tmp_path / "results"
    naive = run(results, "naive")
    reusing = run(results, "recursive")
    assert cost_of(reusing) == cost_of(naive)
    shutil.rmtree(reusing.path)
    recursive = run(results, "recursive", RerunOptions(index=True))
    index = recursive.index()
    assert index is not None
    assert (index.built_by, index.reused_from) == (recursive.run_id, None)
    assert (index.cost.cached_texts, index.cost.replayed_calls) == (0, 0)
    assert index.cost.embedded_texts == cost_of(naive).embedded_texts
    assert cost_of(run(results, "naive", RerunOptions(index=True))) == cost_of(naive), "what is finished stays"
