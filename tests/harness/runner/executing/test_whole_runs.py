"""Whole runs: the models that each phase has, what is said of damage, and what an index takes by itself."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from damaging import WorkersHere
from plugins import PlugIn

from harness.config import ModelConfig, load_config
from harness.core.records import Cost, RunRecord
from harness.runner.executing import execute
from harness.runner.executing.execute import NO_RERUN, CellResult, RerunOptions, RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.store import IndexDir, RunDir

pytestmark = pytest.mark.slow


FAKE = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")
SLY = """
from harness.protocols import EMBEDS, GENERATES, NO_ROLE, Params, SystemSpec
from harness.core.records import IndexStats, Prediction

class Answer(Params):
    wants: str = ""
    where: str = "answer"

class Sly:
    def __init__(self, index, answer, runtime):
        self.wants, self.where, self.runtime = answer.wants, answer.where, runtime
    async def index(self, corpus):
        self.call("index")
        return IndexStats(documents=len(corpus))
    async def load(self):
        self.call("load")
    async def answer(self, query):
        self.call("answer")
        return Prediction(answer="fine")
    def call(self, here):
        if here == self.where and self.wants:
            getattr(self.runtime, self.wants)
    def close(self):
        pass

SPEC = SystemSpec("sly", "1", "calls what it does not name", Params, Answer, Sly, NO_ROLE, NO_ROLE)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of weights and vectors, empty."""
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path / "cache"


def run(results: Path, *settings: str) -> CellResult:
    (cell,) = plan_cells(load_config(None, [*FAKE, *settings]))
    return run_cell(cell, RunContext(results, Reporter(quiet=True)))


def records(result: CellResult) -> list[RunRecord]:
    return list(result.run.records().values())


@pytest.mark.usefixtures("workers_here")
@pytest.mark.parametrize("provider", ["minilm", "openai", "none"])
def test_of_an_embedder_that_nobody_calls_nothing_is_fetched_or_built(
    tmp_path: Path, cache: Path, provider: str
) -> None:
    result = run(tmp_path / "results", "systems=[closed-book]", f"models.embedder.provider={provider}")
    assert (result.status, result.n_ok, result.n_error) == ("done", 4, 0)
    assert not cache.exists()
    assert {role for record in records(result) for role in record.cost.usage} == {"generator"}


@pytest.mark.usefixtures("workers_here")
def test_a_graph_whose_triplets_are_all_that_is_asked_for_embeds_no_question(tmp_path: Path) -> None:
    hybrid = run(tmp_path / "results", "systems=[kg]")
    triplets = run(tmp_path / "results", "systems=[kg]", "answer.mode=triplets", "answer.rank=words")
    index = triplets.run.index()
    assert index is not None
    assert index.reused_from == hybrid.run.run_id
    assert (triplets.status, triplets.n_error) == ("done", 0)
    assert [record.cost.usage.keys() for record in records(hybrid)] == [{"embedder", "generator"}] * 4
    assert [record.cost.usage.keys() for record in records(triplets)] == [{"generator"}] * 4


@pytest.mark.usefixtures("workers_here")
def test_where_the_index_is_there_only_what_the_answers_call_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[set[str]] = []

    def fetch(_reporter: Reporter, *models: ModelConfig) -> None:
        fetched.append({model.role for model in models})

    monkeypatch.setattr(execute, "fetch_weights", fetch)
    for most in (5, 6):
        by_words = ("answer.mode=triplets", "answer.rank=words", f"answer.max_triplets={most}")
        run(tmp_path / "results", "systems=[kg]", *by_words)
    assert fetched == [{"generator", "embedder"}, {"generator"}]


@pytest.mark.usefixtures("workers_here")
@pytest.mark.parametrize(("wants", "role"), [("chat", "generator"), ("embedder", "embedder")])
def test_a_query_that_asks_for_a_model_that_is_not_named_is_an_error_that_names_it(
    tmp_path: Path, plug_in: PlugIn, wants: str, role: str
) -> None:
    plug_in("rag_harness.systems", "sly", SLY)
    result = run(tmp_path / "results", "systems=[sly]", f"answer.wants={wants}")
    assert (result.status, result.n_ok, result.n_error) == ("done", 0, 4)
    for record in records(result):
        assert record.failure is not None
        assert record.failure.kind == "RuntimeError"
        assert f"names no {role} for this phase" in record.failure.message


@pytest.mark.usefixtures("workers_here")
@pytest.mark.parametrize(("wants", "role"), [("chat", "generator"), ("embedder", "embedder")])
@pytest.mark.parametrize("where", ["index", "load"])
def test_an_index_that_asks_for_a_model_that_is_not_named_is_a_failed_run_that_names_it(
    tmp_path: Path, plug_in: PlugIn, wants: str, role: str, where: str
) -> None:
    plug_in("rag_harness.systems", "sly", SLY)
    result = run(tmp_path / "results", "systems=[sly]", f"answer.wants={wants}", f"answer.where={where}")
    assert (result.status, result.n_ok, result.n_error) == ("failed", 0, 0)
    assert re.search(f"RuntimeError: .* names no {role} for this phase", result.reason)
    assert result.run.done() is None


# What was damaged and is made again is said to who asked to be quiet, too; what a kill leaves is no damage.


FAKE_MODELS = ("models.generator.provider=fake", "models.embedder.provider=fake", "dataset.sample.per_type=1")


def run_here(results: Path) -> tuple[Cell, CellResult]:
    (cell,) = plan_cells(load_config(None, [*FAKE_MODELS, "systems=[naive]"]))
    with WorkersHere():
        return cell, run_cell(cell, RunContext(results, Reporter(quiet=True)))


def test_damage_is_said_quietly_and_what_a_kill_while_answering_leaves_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def killed(_: IndexDir) -> Iterator[None]:
        """Whoever is killed notes nothing at the end."""
        yield

    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as patched:
        patched.setattr(IndexDir, "in_use", killed)
        cell, result = run_here(tmp_path)
    # Opening them has changed files of the index, and they were noted again.
    assert IndexDir(tmp_path, cell.index_id).remove_damaged() == []
    assert capsys.readouterr().err == ""

    for name in ("sample.jsonl", "done.json"):
        path = result.run.path / name
        path.write_bytes(path.read_bytes()[:-20])
    assert run_here(tmp_path)[1].status == "done"
    first, second = capsys.readouterr().err.splitlines()
    assert "sample.jsonl" in first
    assert first.endswith("the sample is written again")
    assert "done.json" in second
    assert second.endswith("the run is open again")


# What an index took by itself: rebuilt from what earlier builds noted, or measured by building it anew.


FAKE_RUN = (
    "models.generator.provider=fake",
    "models.embedder.provider=fake",
    "models.embedder.options.latency_s=0.3",
    "models.embedder.batch_size=16",
    "dataset.sample.per_type=1",
)


def run_naive(results: Path, system: str, rerun: RerunOptions = NO_RERUN) -> RunDir:
    (cell,) = plan_cells(load_config(None, [*FAKE_RUN, f"systems=[{system}]"]))
    with WorkersHere():
        return run_cell(cell, RunContext(results, Reporter(quiet=True), rerun=rerun)).run


def cost_of(run_naive: RunDir) -> Cost:
    index = run_naive.index()
    assert index is not None
    return index.cost


def test_what_an_index_would_have_taken_alone_is_rebuilt_from_the_vectors_that_were_there(tmp_path: Path) -> None:
    first = cost_of(run_naive(tmp_path / "one", "naive"))
    helped = cost_of(run_naive(tmp_path / "other", "naive"))
    assert helped.saved_s is not None
    assert (first.saved_s, first.cached_texts) == (None, 0)
    assert (helped.cached_texts, helped.embedded_texts) == (first.embedded_texts, 0)
    assert helped.saved_s >= 4 * 0.3, "56 passages, 16 a call"
    assert helped.saved_s <= first.stages_s["embed"]


def test_a_fresh_index_is_built_with_nothing_that_another_left_and_measured(tmp_path: Path) -> None:
    results = tmp_path / "results"
    naive = run_naive(results, "naive")
    reusing = run_naive(results, "recursive")
    assert cost_of(reusing) == cost_of(naive)
    shutil.rmtree(reusing.path)
    recursive = run_naive(results, "recursive", RerunOptions(index=True))
    index = recursive.index()
    assert index is not None
    assert (index.built_by, index.reused_from) == (recursive.run_id, None)
    assert (index.cost.cached_texts, index.cost.replayed_calls) == (0, 0)
    assert index.cost.embedded_texts == cost_of(naive).embedded_texts
    assert cost_of(run_naive(results, "naive", RerunOptions(index=True))) == cost_of(naive), (
        "what is finished stays"
    )
