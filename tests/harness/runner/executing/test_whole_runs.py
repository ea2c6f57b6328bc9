"""Whole runs: the models that each phase has, what is said of damage, and what an index takes by itself."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cells import cell, ran
from plugins import PlugIn
from records import known

from harness.config import ModelConfig
from harness.core.records import Cost, RunRecord
from harness.runner import model_preflight
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.progress import Reporter
from harness.store import IndexDir, RunDir

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_here")]


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


def records(result: CellResult) -> list[RunRecord]:
    return list(result.run.records().values())


def test_of_an_embedder_that_is_not_called_nothing_is_fetched_or_built(tmp_path: Path, cache: Path) -> None:
    for provider in ("minilm", "openai"):
        result = ran(tmp_path / provider, "systems=[closed-book]", f"models.embedder.provider={provider}")
        assert (result.status, result.n_ok, result.n_error) == ("done", 4, 0)
        assert not cache.exists()
        assert {role for record in records(result) for role in record.cost.usage} == {"generator"}


def test_triplets_alone_need_no_embedder_for_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[set[str]] = []

    def fetch(_reporter: Reporter, *models: ModelConfig) -> None:
        fetched.append({model.role for model in models})

    monkeypatch.setattr(model_preflight, "fetch_weights", fetch)
    hybrid = ran(tmp_path / "results", "systems=[kg]")
    triplets = ran(tmp_path / "results", "systems=[kg]", "answer.mode=triplets", "answer.rank=words")
    index = known(triplets.run.index())
    assert index.reused_from == hybrid.run.run_id
    assert fetched == [{"generator", "embedder"}, {"generator"}]
    assert (triplets.status, triplets.n_error) == ("done", 0)
    assert [record.cost.usage.keys() for record in records(hybrid)] == [{"embedder", "generator"}] * 4
    assert [record.cost.usage.keys() for record in records(triplets)] == [{"generator"}] * 4


@pytest.mark.parametrize(("wants", "role"), [("chat", "generator"), ("embedder", "embedder")])
def test_a_model_that_the_spec_does_not_name_fails(tmp_path: Path, plug_in: PlugIn, wants: str, role: str) -> None:
    plug_in("rag_harness.systems", "sly", SLY)
    result = ran(tmp_path, "systems=[sly]", f"answer.wants={wants}")
    assert (result.status, result.n_ok, result.n_error) == ("done", 0, 4)
    for record in records(result):
        assert record.failure is not None
        assert record.failure.kind == "RuntimeError"
        assert f"names no {role} for this phase" in record.failure.message
    for where in ("index", "load"):
        result = ran(tmp_path / where, "systems=[sly]", f"answer.wants={wants}", f"answer.where={where}")
        assert (result.status, result.n_ok, result.n_error) == ("failed", 0, 0)
        assert re.search(f"RuntimeError: .* names no {role} for this phase", result.reason)
        assert result.run.done() is None


# What was damaged and is made again is said to who asked to be quiet, too; what a kill leaves is no damage.


def test_damage_is_said_quietly_and_what_a_kill_while_answering_leaves_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def killed(_: IndexDir) -> Iterator[None]:
        """Whoever is killed notes nothing at the end."""
        yield

    with monkeypatch.context() as patched:
        patched.setattr(IndexDir, "in_use", killed)
        result = ran(tmp_path, "systems=[naive]")
    # Opening them has changed files of the index, and they were noted again.
    assert IndexDir(tmp_path, cell().index_id).remove_damaged() == []
    assert capsys.readouterr().err == ""

    for name in ("sample.jsonl", "done.json"):
        path = result.run.path / name
        path.write_bytes(path.read_bytes()[:-20])
    assert ran(tmp_path, "systems=[naive]").status == "done"
    first, second = capsys.readouterr().err.splitlines()
    assert "sample.jsonl" in first
    assert first.endswith("the sample is written again")
    assert "done.json" in second
    assert second.endswith("the run is open again")


# What an index took by itself: rebuilt from what earlier builds noted, or measured by building it anew.


def run_slowly(results: Path, system: str, *, fresh_index: bool = False) -> RunDir:
    """Embedding takes 0.3 s a call, of 16 texts."""
    slow = ("models.embedder.options.latency_s=0.3", "models.embedder.batch_size=16")
    context = RunContext(results, Reporter(quiet=True), fresh_index=fresh_index)
    return run_cell(cell(f"systems=[{system}]", *slow), context).run


def cost_of(run: RunDir) -> Cost:
    index = known(run.index())
    return index.cost


def test_what_an_index_would_have_taken_alone_is_rebuilt_from_the_vectors_that_were_there(tmp_path: Path) -> None:
    first = cost_of(run_slowly(tmp_path / "one", "naive"))
    helped = cost_of(run_slowly(tmp_path / "other", "naive"))
    assert helped.saved_s is not None
    assert (first.saved_s, first.cached_texts) == (None, 0)
    assert (helped.cached_texts, helped.embedded_texts) == (first.embedded_texts, 0)
    assert helped.saved_s >= 4 * 0.3, "56 passages, 16 a call"
    assert helped.saved_s <= first.stages_s["embed"]


def test_a_fresh_index_is_built_with_nothing_that_another_left_and_measured(tmp_path: Path) -> None:
    results = tmp_path / "results"
    naive = run_slowly(results, "naive")
    reusing = run_slowly(results, "recursive")
    assert cost_of(reusing) == cost_of(naive)
    shutil.rmtree(reusing.path)
    recursive = run_slowly(results, "recursive", fresh_index=True)
    index = known(recursive.index())
    assert (index.built_by, index.reused_from) == (recursive.run_id, None)
    assert (index.cost.cached_texts, index.cost.replayed_calls) == (0, 0)
    assert index.cost.embedded_texts == cost_of(naive).embedded_texts
    assert cost_of(run_slowly(results, "naive", fresh_index=True)) == cost_of(naive), "what is finished stays"
