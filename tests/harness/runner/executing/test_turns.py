"""Cells that take turns, and a budget that ends them; workers work in this process."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cells import cells
from damaging import WorkersHere
from records import known

from harness.core.errors import BudgetExhausted
from harness.datasets.sampling import query_order
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution
from harness.runner.executing.turns import run_in_turns
from harness.runner.plan import Cell
from harness.runner.progress import Reporter
from harness.store import RunDir

QUIET = Reporter(quiet=True)
N = 8


@pytest.fixture(autouse=True)
def _workers_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    with WorkersHere():
        yield


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """(system, queries) of each turn, as they are taken."""
    taken: list[tuple[str, list[str]]] = []
    answer = Execution.answer

    def noted(self: Execution, todo: list[QueryTask], progress: Any) -> None:
        taken.append((self.cell.spec.name, [one.query_id for one in todo]))
        answer(self, todo, progress)

    monkeypatch.setattr(Execution, "answer", noted)
    return taken


def pair() -> list[Cell]:
    return cells("systems=[closed-book, gold]", "dataset.sample.per_type=2", "schedule=interleaved")


def go(found: list[Cell], results: Path) -> list[CellResult]:
    return run_in_turns(found, RunContext(results, QUIET))


def stop_after(n_turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget ends in the turn after so many."""
    answer, seen = Execution.answer, []

    def stopping(self: Execution, todo: list[QueryTask], progress: Any) -> None:
        seen.append(1)
        if len(seen) > n_turns:
            raise BudgetExhausted("the time is over")
        answer(self, todo, progress)

    monkeypatch.setattr(Execution, "answer", stopping)


def held(run: RunDir) -> set[str]:
    return {row.query.query_id for row in run.sample()}


def test_every_round_answers_the_same_queries(tmp_path: Path, turns: list[tuple[str, list[str]]]) -> None:
    found = pair()
    results = go(found, tmp_path)
    rounds = [turns[start : start + 2] for start in range(0, len(turns), 2)]
    assert all({name for name, _ in one} == {"closed-book", "gold"} for one in rounds)
    assert all(one[0][1] == one[1][1] for one in rounds)
    order = query_order(found[0].dataset.references, 0)
    assert [query_id for one in rounds for query_id in one[0][1]] == order
    assert [(result.status, result.n_ok, result.n_left) for result in results] == [("done", N, 0)] * 2
    assert len({tuple(name for name, _ in one) for one in rounds}) == 2, "who comes first changes"


def test_no_turn_is_of_one_query(tmp_path: Path, turns: list[tuple[str, list[str]]]) -> None:
    """It would profit from the prompt of another system about the same query."""
    whole = pair()[0].dataset
    five = replace(whole, queries=whole.queries[:5], references=whole.references[:5])
    go([replace(cell, dataset=five) for cell in pair()], tmp_path)
    assert [len(query_ids) for _, query_ids in turns] == [2, 2, 3, 3]


def test_an_early_end_leaves_the_same_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pair()
    order = query_order(found[0].dataset.references, 0)
    stop_after(3, monkeypatch)
    results = go(found, tmp_path)
    assert [(one.status, one.n_ok, one.n_left) for one in results] == [("done", 2, N - 2)] * 2
    assert [str(one.ended_by) for one in results] == ["the time is over"] * 2
    for result in results:
        reach = known(result.run.reach())
        assert reach.query_ids == tuple(order[:2])
        assert held(result.run) == set(order[:2]) == {query_id for query_id, _ in result.run.records()}
    # One of the two has answered more: that is kept for the next time.
    assert sorted(len(one.run.intact_statuses()) for one in results) == [2, 4]


def test_the_next_command_goes_on_in_turns_or_in_order_and_the_earlier_look_is_remembered(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    turns: list[tuple[str, list[str]]],
) -> None:
    found = pair()
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        go(found, tmp_path)
    in_order = tmp_path_factory.mktemp("in-order") / "results"
    shutil.copytree(tmp_path, in_order)
    result = run_cell(found[0], RunContext(in_order, QUIET))
    assert (result.status, result.n_ok, result.n_left, len(held(result.run))) == ("done", N, 0, N)
    turns.clear()
    results = go(found, tmp_path)
    assert sum(len(query_ids) for _, query_ids in turns) == 2 * N - 6
    assert [(one.status, one.n_ok, one.n_left, one.ended_by) for one in results] == [("done", N, 0, None)] * 2
    reaches = [one.run.reach() for one in results]
    assert [reach.looks for reach in reaches if reach] == [(2,), (2,)]
    assert all(len(held(one.run)) == N for one in results)
    turns.clear()
    assert [one.n_ok for one in go(found, tmp_path)] == [N, N]
    assert not turns


def test_a_budget_that_ends_at_once_leaves_open_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(1, monkeypatch)
    results = go(pair(), tmp_path)
    assert [one.status for one in results] == ["stopped", "stopped"]
    assert all(one.run.done() is None for one in results)


def test_a_finished_run_is_cut_like_the_one_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pair()
    assert run_cell(found[1], RunContext(tmp_path, QUIET)).n_ok == N
    stop_after(2, monkeypatch)
    results = go(found, tmp_path)
    assert [one.n_left for one in results] == [N - 4, N - 4]
    assert held(results[0].run) == held(results[1].run)
