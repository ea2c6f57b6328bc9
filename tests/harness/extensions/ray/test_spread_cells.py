"""Cells over workers on other machines: the same as here, whichever of them is lost; nothing is paid twice."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from damaging import WorkersHere
from killing import journaled, what_was_answered
from serving import serving
from workers_in_threads import Machines, WorkerInThread, losing_at

from harness.config import BenchConfig
from harness.core.errors import HarnessError
from harness.extensions.ray.spread_execution import run_spread
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.executing.execute import CellResult, RunContext, run_cell
from harness.runner.executing.messages import (
    CallRequested,
    IndexBuilt,
    QueryFinished,
    QueryStarted,
    TextsExtracted,
    WaitingForTurn,
    WorkerMessage,
)
from harness.runner.executing.messages import Event as WorkerEvent
from harness.runner.executing.remote_workers import RULES
from harness.runner.plan import Cell, plan_cells
from harness.runner.progress import Reporter
from harness.store import RunDir

N = 8
READ_ELSEWHERE = "several workers extracted its texts in parallel, so its time is not that of one process."
Serve = Callable[..., FakeServer]


class Heard(Reporter):
    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.warned: list[str] = []
        self.has_warned = Event()

    def warn(self, line: str) -> None:
        self.warned.append(line)
        self.has_warned.set()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda **script: stack.enter_context(serving(FakeServer(FakeScript(**script))))


def cells(server: FakeServer | None, *systems: str, **keys: Any) -> list[Cell]:
    """Without a server, the same model answers within whichever process calls it."""
    generator: dict[str, Any] = {"provider": "fake"}
    if server is not None:
        generator = {"provider": "openai-compatible", "model": "m", "base_url": server.base_url}
    generator |= {"max_tokens": 20, **keys.pop("generator", {})}
    config = {
        "systems": systems or ("gold",),
        "dataset": {"name": "demo", "sample": {"per_type": N // 4}},
        "models": {"generator": generator, "embedder": {"provider": "fake"}},
        **keys,
    }
    return plan_cells(BenchConfig.model_validate(config))


def spread(
    found: list[Cell],
    results: Path,
    machines: Machines | None = None,
    reporter: Reporter | None = None,
    spending: BudgetTracker | None = None,
) -> list[CellResult]:
    context = RunContext(results, reporter or Heard(), spending or BudgetTracker.unlimited())
    return run_spread(found, context, (machines or Machines()).start, 3)


def run_here(found: list[Cell], results: Path) -> list[CellResult]:
    with WorkersHere():
        return [run_cell(cell, RunContext(results, Reporter(quiet=True))) for cell in found]


def same(one: RunDir, other: RunDir) -> bool:
    return what_was_answered(one) == what_was_answered(other) and sorted(journaled(one.journal_path)) == sorted(
        journaled(other.journal_path)
    )


def test_what_workers_elsewhere_answer_is_what_one_here_answers(tmp_path: Path) -> None:
    machines, found = Machines(), cells(None, "gold", "closed-book")
    here = run_here(found, tmp_path / "here")
    there = spread(found, tmp_path / "there", machines)
    assert [one.status for one in there] == ["done", "done"]
    assert all(same(one.run, other.run) for one, other in zip(here, there, strict=True))
    # Each of the two indexes by a worker, and more than one worker for the queries of a cell.
    assert len([one for one in machines.started if one.asked]) > 2
    records = [record for result in there for record in result.run.iter_records()]
    assert {record.cost.usage["generator"].calls for record in records} == {1}
    assert all(result.run.resources_path() is None for result in there)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(1, IndexBuilt), (1, QueryStarted), (5, CallRequested), (N, QueryFinished), (1, WaitingForTurn)],
)
def test_a_worker_that_is_lost_costs_no_finished_query_and_no_call_twice(
    tmp_path: Path, serve: Serve, number: int, kind: type[WorkerMessage]
) -> None:
    server, machines, reporter = serve(latency_s=0.01), Machines(losing_at(number, kind)), Heard()
    found = cells(server)
    [result] = spread(found, tmp_path / "there", machines, reporter)
    assert sum(one.is_lost for one in machines.started) == 1
    assert (result.status, result.n_ok) == ("done", N)
    assert len(list(result.run.iter_records())) == N
    assert server.model.served["calls"] == N
    assert any("was lost" in line for line in reporter.warned)
    [whole] = spread(found, tmp_path / "whole")
    assert same(whole.run, result.run)


class Reading:
    """For `Machines`: who builds an index waits until another has read a part of it, or until something else. The
    first other one is lost.
    """

    def __init__(self, until: Event | None = None) -> None:
        self.n_read = self._n_asked = 0
        self._until = until or Event()

    def __call__(self, worker: WorkerInThread, event: WorkerEvent) -> None:
        if isinstance(event, TextsExtracted):
            self.n_read += 1
            if self.n_read == 1:
                worker.lose()
            self._until.set()
        elif isinstance(event, CallRequested) and event.call.role == RULES:
            self._n_asked += 1
            if self._n_asked == 2:
                assert self._until.wait(60)


def by_rules() -> list[Cell]:
    return cells(None, "community", per_system={"community": {"index": {"extractor": "nlp"}}})


@pytest.mark.slow
def test_several_workers_extract_by_rules_and_the_graph_is_the_same_though_one_is_lost_or_none_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.extraction.remote_extraction.BATCH", 2)
    found = by_rules()
    [here] = run_here(found, tmp_path / "here")
    reading, reporter = Reading(), Heard()
    [there] = spread(found, tmp_path / "there", Machines(reading), reporter)
    assert (there.status, there.reason) == ("done", "")
    assert reading.n_read and not reporter.warned
    assert same(here.run, there.run)
    one, other = here.run.index(), there.run.index()
    assert one is not None and other is not None
    assert other.stats.notes == (*one.stats.notes, READ_ELSEWHERE)
    assert one.stats == other.stats.model_copy(update={"notes": one.stats.notes})
    # Workers with another pipeline would extract differently: then one builds the index alone.
    monkeypatch.setattr("harness.runner.executing.remote_workers.pipeline_digest", lambda _: "another")
    reading = Reading(until=reporter.has_warned)
    [alone] = spread(found, tmp_path / "alone", Machines(reading), reporter)
    assert (alone.status, reading.n_read) == ("done", 0)
    assert any("read by one worker alone: the spaCy pipeline" in line for line in reporter.warned)


def test_a_query_that_loses_every_machine_is_a_record_and_the_others_are_answered(
    tmp_path: Path, serve: Serve
) -> None:
    found = cells(serve())
    victim = found[0].dataset.queries[3].query_id

    def at(worker: WorkerInThread, event: WorkerEvent) -> None:
        if isinstance(event, CallRequested) and f"/{victim}/" in event.call.scope:
            time.sleep(0.1)  # Until its supervisor has read that the query began; what is unread is lost as well.
            worker.lose()

    [result] = spread(found, tmp_path, Machines(at))
    assert (result.status, result.n_ok, result.n_error) == ("done", N - 1, 1)
    [failed] = [record for record in result.run.iter_records() if record.status != "ok"]
    assert failed.query_id == victim
    assert failed.failure is not None
    assert "was lost" in failed.failure.message


def test_where_every_machine_is_lost_at_once_it_ends_in_a_line_and_goes_on_later(
    tmp_path: Path, serve: Serve
) -> None:
    server = serve()
    found = cells(server)

    def at(worker: WorkerInThread, event: WorkerEvent) -> None:
        if isinstance(event, QueryStarted):
            worker.lose()

    with pytest.raises(HarnessError, match="run the same command again"):
        spread(found, tmp_path, Machines(at))
    [result] = spread(found, tmp_path)
    assert (result.status, result.n_ok) == ("done", N)
    assert server.model.served["calls"] == N


def test_a_budget_is_kept_over_all_workers_of_all_cells_and_the_same_command_goes_on(
    tmp_path: Path, serve: Serve
) -> None:
    server = serve(latency_s=0.01)
    budget = {"tokens": 900}
    found = cells(server, "gold", "closed-book", budget=budget)
    payers = [CostOwner(RunDir(tmp_path / cell.run_id), cell.identity["models"]) for cell in found]
    spending = BudgetTracker(found[0].config.budget, BudgetTracker.unlimited().prices, tmp_path, payers)
    stopped = spread(found, tmp_path, spending=spending)
    counted = server.model.served
    assert counted["input_tokens"] + counted["output_tokens"] <= budget["tokens"]
    assert {one.status for one in stopped} == {"stopped"}
    assert not [record for one in stopped for record in one.run.iter_records() if record.status != "ok"]
    done = spread(found, tmp_path)
    assert [(one.status, one.n_ok) for one in done] == [("done", N), ("done", N)]
    assert server.model.served["calls"] == 2 * N


def test_one_limit_of_a_model_holds_for_all_workers_of_all_cells(tmp_path: Path, serve: Serve) -> None:
    server, under_way, most = serve(latency_s=0.02), list[bytes](), list[int]()
    respond = server.model.respond

    def counting(path: str, body: bytes) -> Any:
        under_way.append(body)
        most.append(len(under_way))
        try:
            return respond(path, body)
        finally:
            under_way.pop()

    server.model.respond = counting  # type: ignore[method-assign]
    keys = {"limits": {"concurrency": 4}, "generator": {"max_concurrency": 2}}
    spread(cells(server, "gold", "closed-book", **keys), tmp_path)
    assert max(most) == 2


def test_an_interrupt_ends_every_worker_and_the_next_command_goes_on(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        time.sleep(0.4)
        raise KeyboardInterrupt

    found, machines = cells(serve(latency_s=0.05)), Machines()
    monkeypatch.setattr("harness.extensions.ray.spread_execution.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spread(found, tmp_path, machines)
    assert all(one.is_killed for one in machines.started)
    assert not [one for one in RunDir(tmp_path / found[0].run_id).iter_records() if one.status != "ok"]
    monkeypatch.undo()
    [result] = spread(found, tmp_path)
    assert (result.status, result.n_ok, result.n_error) == ("done", N, 0)
