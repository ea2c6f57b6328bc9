"""A router as the runner runs it: whose indexes it answers from, and what that costs."""

from pathlib import Path
from typing import Any

import pytest

from harness.config import load_config
from harness.core.errors import ConfigError
from harness.runner.executing.execute import RunContext, run_cell
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.store import IndexDir, RunDir

SMALL, LARGE = {"chunk_size": 400}, {"chunk_size": 800}
POLICY = {
    "routes": {"comparison": {"system": "naive", "index": SMALL, "answer": {"top_k": 2}}},
    "otherwise": {"system": "naive", "index": LARGE},
}


def cells(systems: list[str], router: dict[str, Any], **naive: Any) -> list[Cell]:
    raw = {
        "systems": systems,
        "dataset": {"name": "demo", "sample": {"per_type": 1, "seed": 42}},
        "models": {"generator": {"provider": "none"}, "embedder": {"provider": "fake"}},
        "per_system": {"router": {"answer": router}, "naive": naive},
    }
    return plan_cells(load_config(raw))


def run(cell: Cell, results: Path) -> RunDir:
    done = run_cell(cell, RunContext(results, Reporter(quiet=True)))
    assert done.status == "done", done.reason
    return done.run


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_it_answers_from_the_indexes_of_those_it_asks_which_are_built_once_and_paid_by_who_built_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    results = tmp_path / "results"
    naive, router = cells(["naive", "router"], POLICY, index=SMALL)
    first, routed = run(naive, results), run(router, results)
    built = {one.cell.index_id: IndexDir(results, one.cell.index_id).record() for one in router.routed}
    assert naive.index_id in built
    assert {one.built_by for one in built.values() if one} == {first.run_id, routed.run_id}
    index = routed.index()
    assert index is not None
    assert index.cost.usage["embedder"].input_tokens == sum(
        one.cost.usage["embedder"].input_tokens for one in built.values() if one
    )
    assert list(index.cost.replayed_from) == [first.run_id]
    records = routed.records().values()
    assert {record.status for record in records} == {"ok"}
    assert {record.prediction.trace[0].name for record in records if record.prediction} == {"route"}


def test_what_the_systems_it_asks_would_answer_with_is_part_of_what_a_run_is() -> None:
    (one,) = cells(["router"], POLICY)
    third = {"system": "naive", "index": LARGE, "answer": {"top_k": 3}}
    (other,) = cells(["router"], {**POLICY, "otherwise": third})
    (elsewhere,) = cells(["router"], {**POLICY, "otherwise": {**third, "index": {"chunk_size": 900}}})
    assert len({one.run_id, other.run_id, elsewhere.run_id}) == 3
    assert one.index_id == other.index_id != elsewhere.index_id
    assert [system["index"]["chunk_size"] for system in one.identity["system"]["routed"]] == [400, 800]


def test_it_needs_the_models_of_those_it_asks_and_no_other() -> None:
    words = {"system": "naive", "index": {"vectors": False}, "answer": {"search": "bm25"}}
    (cell,) = cells(["router"], {"otherwise": words})
    assert cell.roles.index == frozenset()
    assert "embedder" not in cell.models


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ({"system": "naiv"}, "naive"),
        ({"system": "router"}, "routes queries itself"),
        ({"system": "gold"}, "sees the gold evidence"),
        ({"system": "http://127.0.0.1:9/ask"}, "its own models and index"),
        ({"system": "naive", "answer": {"topk": 3}}, "top_k"),
    ],
)
def test_a_route_that_leads_nowhere_is_one_line_before_anything_is_paid(route: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        cells(["router"], {"otherwise": route})
