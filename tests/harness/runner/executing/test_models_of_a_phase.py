"""Whole runs: each phase has the models that its spec names; what is not named is neither built nor asked for."""

import re
from pathlib import Path

import pytest
from plugins import PlugIn

from harness.config import ModelConfig, load_config
from harness.core.records import RunRecord
from harness.runner.executing import execute
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_here")]

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


@pytest.mark.parametrize("provider", ["minilm", "openai", "none"])
def test_of_an_embedder_that_nobody_calls_nothing_is_fetched_or_built(
    tmp_path: Path, cache: Path, provider: str
) -> None:
    result = run(tmp_path / "results", "systems=[closed-book]", f"models.embedder.provider={provider}")
    assert (result.status, result.n_ok, result.n_error) == ("done", 4, 0)
    assert not cache.exists()
    assert {role for record in records(result) for role in record.cost.usage} == {"generator"}


def test_a_graph_whose_triplets_are_all_that_is_asked_for_embeds_no_question(tmp_path: Path) -> None:
    hybrid = run(tmp_path / "results", "systems=[kg]")
    triplets = run(tmp_path / "results", "systems=[kg]", "answer.mode=triplets", "answer.rank=words")
    index = triplets.run.index()
    assert index is not None
    assert index.reused_from == hybrid.run.run_id
    assert (triplets.status, triplets.n_error) == ("done", 0)
    assert [record.cost.usage.keys() for record in records(hybrid)] == [{"embedder", "generator"}] * 4
    assert [record.cost.usage.keys() for record in records(triplets)] == [{"generator"}] * 4


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
