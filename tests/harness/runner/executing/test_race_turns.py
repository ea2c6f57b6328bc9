"""Cells that race: their answers are made up, what looks at them and who is asked further is real."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from records import run_record

from harness.config import BenchConfig
from harness.core.errors import BudgetExhausted, ConfigError
from harness.core.records import Failure, Prediction, RaceRecord
from harness.datasets.sampling import query_order
from harness.runner.evaluating.plan import plan_evaluation
from harness.runner.executing.execute import CellResult, RunContext
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution
from harness.runner.executing.turns import InTurns, run_in_turns
from harness.runner.executing.worker_supervisor import SystemBroken
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.runner.race_plan import plan_race, race_lines

RIGHT = {1: 0.1, 4: 0.9, 8: 0.8}
"""How often a cell is right, by its top_k."""
Asked = list[tuple[int, str]]


def config(**keys: Any) -> BenchConfig:
    models = {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}}
    tree = {
        "systems": ["naive", "closed-book"],
        "dataset": {"name": "demo", "sample": {"per_type": 10}},
        "models": models,
        "matrix": {"answer.top_k": [1, 4, 8]},
        "measure": "accuracy",
        "race": {},
        **keys,
    }
    return BenchConfig.model_validate(tree)


def top_k(cell: Cell) -> int:
    return int(cell.answer_params.model_dump().get("top_k", 0))


def answer(run: Execution, todo: QueryTask, failure: Failure | None = None) -> None:
    """An answer is made up, and the same whenever it is; or there is none."""
    cell = run.cell
    (reference,) = (one for one in cell.dataset.references if one.query_id == todo.query_id)
    is_right = Random(f"{top_k(cell)}/{todo.query_id}").random() < RIGHT.get(top_k(cell), 0.5)
    said = failure or Prediction(answer=reference.answers[0] if is_right else "something else")
    run.run.append_record(run_record(todo.query_id, said, repeat=todo.repeat, attempt=todo.attempt))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """(top_k, query) of each answer, in the order asked."""
    found: Asked = []

    def take(self: Execution, todo: list[QueryTask], progress: Any) -> None:
        for one in todo:
            found.append((top_k(self.cell), one.query_id))
            answer(self, one)

    monkeypatch.setattr(Execution, "answer", take)
    monkeypatch.setattr(InTurns, "_build", lambda _self, _run: None)
    return found


def go(results: Path, **keys: Any) -> tuple[list[Cell], list[CellResult]]:
    chosen = config(**keys)
    cells = plan_cells(chosen)
    race = plan_race(chosen, cells, plan_evaluation(chosen))
    return cells, run_in_turns(cells, RunContext(results, Reporter(quiet=True)), race)


def established(results: list[CellResult]) -> RaceRecord:
    races = {result.run.race() for result in results}
    (race,) = races
    assert race is not None
    return race


def raise_after(
    n_turns: int,
    error: Callable[[], BaseException],
    monkeypatch: pytest.MonkeyPatch,
    of: Sequence[int] = (0, *RIGHT),
) -> None:
    """`of`: the cells, by their top_k, whose turns count and end so."""
    take, seen = Execution.answer, []

    def taken(self: Execution, todo: list[QueryTask], progress: Any) -> None:
        if top_k(self.cell) in of:
            seen.append(1)
            if len(seen) > n_turns:
                raise error()
        take(self, todo, progress)

    monkeypatch.setattr(Execution, "answer", taken)


def test_who_is_worse_is_asked_no_more_and_the_rest_goes_on(tmp_path: Path, asked: Asked) -> None:
    cells, results = go(tmp_path)
    race = established(results)
    order = query_order(cells[0].dataset.references, 0)
    worst = next(cell for cell in cells if top_k(cell) == 1)
    (drop,) = race.dropped
    assert drop.run_id == worst.run_id
    assert (race.ended, race.n_queries, len(race.left)) == ("queries", len(order), 2)
    n_asked = {k: sum(one == k for one, _ in asked) for k in (0, 1, 4, 8)}
    assert n_asked[4] == n_asked[8] == n_asked[0] == len(order)
    assert drop.after <= n_asked[1] < drop.after + 4
    held = {result.run.run_id: [row.query.query_id for row in result.run.sample()] for result in results}
    assert set(held[worst.run_id]) == set(order[: drop.after])
    assert all(len(ids) == len(order) for run_id, ids in held.items() if run_id != worst.run_id)


def test_a_decided_race_asks_nobody_and_baselines_cover_its_queries(tmp_path: Path, asked: Asked) -> None:
    cells, results = go(tmp_path, matrix={"answer.top_k": [1, 4]})
    race = established(results)
    assert race.ended == "decided"
    assert race.n_queries < len(cells[0].dataset.queries)
    assert {len(result.run.sample()) for result in results} == {race.n_queries}
    asked.clear()
    assert established(go(tmp_path, matrix={"answer.top_k": [1, 4]})[1]) == race
    assert not asked


def test_kills_change_no_decision(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = established(go(tmp_path / "whole")[1])
    n_whole = len(asked)
    for n_turns in (1, 13):
        asked.clear()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            raise_after(n_turns, KeyboardInterrupt, patch)
            go(tmp_path / str(n_turns))
        results = go(tmp_path / str(n_turns))[1]
        assert established(results) == whole
        assert len(asked) == len({*asked}) == n_whole


def test_any_order_of_answers_decides_alike(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a concurrency of several: what comes later in the order may be answered first."""
    whole = established(go(tmp_path / "whole")[1])
    draw, n_left = Random(0), 40

    def take(self: Execution, todo: list[QueryTask], progress: Any) -> None:
        nonlocal n_left
        for one in draw.sample(todo, len(todo)):
            n_left -= 1
            if n_left == 0:
                raise KeyboardInterrupt
            answer(self, one)

    limits = {"concurrency": 4}
    monkeypatch.setattr(Execution, "answer", take)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "killed", limits=limits)
    found = established(go(tmp_path / "killed", limits=limits)[1])
    k_of = {cell.run_id: top_k(cell) for keys in ({}, {"limits": limits}) for cell in plan_cells(config(**keys))}

    def said(race: RaceRecord) -> object:
        drops = [(k_of[one.run_id], one.after, k_of[one.against], one.low, one.high) for one in race.dropped]
        gaps = [(k_of[one.a], k_of[one.b], one.low, one.high) for one in race.gaps]
        return race.ended, race.n_queries, [k_of[one] for one in race.left], drops, gaps

    assert said(found) == said(whole)


def test_a_failing_system_is_eliminated(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Execution.answer

    def taken(self: Execution, todo: list[QueryTask], progress: Any) -> None:
        if top_k(self.cell) != 4:
            return take(self, todo, progress)
        for one in todo:
            answer(self, one, Failure(kind="timeout", message="no answer within 600 s"))
        return None

    monkeypatch.setattr(Execution, "answer", taken)
    cells, results = go(tmp_path)
    race = established(results)
    (best,) = (cell.run_id for cell in cells if top_k(cell) == 8)
    (failing,) = (cell.run_id for cell in cells if top_k(cell) == 4)
    assert race.left[0] == best
    assert failing in {drop.run_id for drop in race.dropped}


def broken() -> SystemBroken:
    return SystemBroken("its index cannot be read")


def test_a_broken_system_stops_the_race(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        raise_after(0, broken, patch, of=[4])
        _, results = go(tmp_path / "at once")
    assert {result.status for result in results} == {"failed"}, "not all answered even one query"
    assert not any(result.run.is_closed() for result in results)
    whole = established(go(tmp_path / "whole")[1])
    with monkeypatch.context() as patch:
        raise_after(3, broken, patch, of=[4])
        cells, results = go(tmp_path / "broken")
    status = {top_k(cell): result.status for cell, result in zip(cells, results, strict=True)}
    assert status == {0: "done", 1: "done", 4: "failed", 8: "done"}
    (race,) = {result.run.race() for result in results if result.status == "done"}
    assert race is not None
    assert (race.ended, race.n_queries, race.dropped, len(race.left)) == ("broken", 6, (), 3)
    assert {len(result.run.sample()) for result in results if result.status == "done"} == {race.n_queries}
    assert established(go(tmp_path / "broken")[1]) == whole


def test_a_larger_budget_ends_a_cut_race(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        raise_after(9, lambda: BudgetExhausted("the time is over"), patch)
        results = go(tmp_path)[1]
    race = established(results)
    assert (race.ended, race.dropped, len(race.left)) == ("budget", (), 3)
    assert len({frozenset(row.query.query_id for row in result.run.sample()) for result in results}) == 1
    assert established(go(tmp_path)[1]).ended == "queries"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"matrix": {}}, "a race needs two systems, .* one besides baselines"),
        ({"systems": ["closed-book"], "matrix": {}}, "a race needs two systems, .* none besides baselines"),
        ({"measure": "latency_s"}, "'latency_s' is not a metric of these evaluators"),
        (
            {"measure": "ragas_faithfulness", "evaluators": ["answer", "ragas"]},
            "'ragas_faithfulness' is judged by a model",
        ),
        ({"matrix": {"dataset.sample.per_type": [1, 2]}}, "a race needs one sample"),
    ],
)
def test_what_cannot_race_is_refused_before_anything_runs(keys: dict[str, Any], message: str) -> None:
    chosen = config(**keys)
    with pytest.raises(ConfigError, match=message) as refused:
        plan_race(chosen, plan_cells(chosen), plan_evaluation(chosen))
    assert refused.value.fix


def test_a_race_needs_a_metric_that_applies_to_some_queries(tmp_path: Path) -> None:
    chosen = config(measure=None)
    unranked = [replace(cell, dataset=replace(cell.dataset, primary_measure="")) for cell in plan_cells(chosen)]
    with pytest.raises(ConfigError, match="neither the config nor demo") as refused:
        race_lines(chosen, unranked)
    assert "accuracy" in refused.value.fix
    with pytest.raises(ConfigError, match="applies to none of these queries"):
        go(tmp_path, models={"generator": {"provider": "none"}, "embedder": {"provider": "fake"}})


def test_a_plan_says_when_the_race_ends_and_about_how_many_queries_that_takes() -> None:
    chosen = config(race={"margin": 10}, matrix={"answer.top_k": [1, 4]})
    ends, takes = race_lines(chosen, plan_cells(chosen))
    assert ends.startswith("a race of 2 systems by accuracy (alpha 0.05, over all pairs)")
    assert "within 10 points of each other, or after all 40 queries" in ends
    assert re.search(r"5 points [\d,]+ queries, 10 points [\d,]+ queries, 20 points [\d,]+ queries;", takes)
    assert not race_lines(config(race=None), [])
