"""Interleaved schedule: cells take turns of a few queries each, all in the same random order of queries.

If the budget is exhausted, all cells have answered the same first queries, a sample of all. The runs are then
closed over those (`RunDir.mark_done`), and the same command resumes them. Changing conditions, such as a warm or
busy machine, affect all cells alike.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import psutil

from harness.config import ModelConfig
from harness.core.errors import BudgetExhausted
from harness.datasets.sampling import query_order
from harness.models.llama_server import LocalServer
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.executing.execute import (
    NOTHING_AGAIN,
    CellResult,
    RerunOptions,
    begin,
    broken_result,
    close_run,
    model_server,
    open_run,
    prepare,
    result_of,
)
from harness.runner.executing.interleaved_run import InterleavedRun
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution, ProgressCounter
from harness.runner.executing.race_controller import Ended, RaceController, open_scorer
from harness.runner.executing.worker_supervisor import SystemBroken
from harness.runner.plan import Cell
from harness.runner.progress import Priced, Reporter
from harness.runner.race_plan import PlannedRace
from harness.store import RunDir

_LEAST_FREE_BYTES = 1 << 30
"""Free memory that must remain before another worker is started beside those that wait."""


@dataclass(frozen=True)
class InterleavedOptions:
    """Options of an interleaved schedule."""

    results: Path
    priced: Callable[[Cell], Priced]
    again: RerunOptions = NOTHING_AGAIN
    race: PlannedRace | None = None
    """Eliminates systems that are significantly worse, and stops when the choice is clear."""
    evaluation: EvaluationPlan | None = None
    """The evaluators; required for a race."""


def run_in_turns(
    cells: Sequence[Cell], options: InterleavedOptions, reporter: Reporter, spending: BudgetTracker
) -> list[CellResult]:
    """Index and answer all of these cells in turns. Returns a result for each, in their order.

    If the budget is exhausted after every cell has answered at least one common query, the runs are closed over
    the queries that all have answered, and `ended_by` holds the reason. When a race ends, each run is closed over
    the queries it was asked, and the result of the race is saved in each. A cell whose system breaks gets no more
    turns, and its run stays open. After an interruption, the next call resumes.
    """
    with ExitStack() as stack:
        table = InterleavedScheduler(cells, options, reporter, spending, stack)
        return table.run()


class InterleavedScheduler:
    """The scheduler of one command."""

    def __init__(
        self,
        cells: Sequence[Cell],
        options: InterleavedOptions,
        reporter: Reporter,
        spending: BudgetTracker,
        stack: ExitStack,
    ) -> None:
        """`stack` closes what the scheduler opens."""
        self._cells, self._options, self._reporter, self._spending = cells, options, reporter, spending
        self._stack = stack
        self._servers: dict[str, LocalServer | None] = {}
        self._orders = {
            cell.dataset.digest: query_order(cell.dataset.references, cells[0].config.seed) for cell in cells
        }
        self._seats: list[InterleavedRun] = []
        """Runs with work left."""
        self._finished: list[InterleavedRun] = []
        self._referee: RaceController | None = None

    def run(self) -> list[CellResult]:
        for cell in self._cells:
            self._open(cell)
        if self._options.race is not None:
            self._hold(self._options.race)
        stopped = None
        try:
            for seat in self._seats:
                if self._referee is None or any(self._wanted(seat, self._order_of(seat))):
                    self._build(seat)
            self._answer()
        except BudgetExhausted as reached:
            stopped = reached
        results = [*self._closed(stopped)]
        return [next(one for one in results if one.run.run_id == cell.run_id) for cell in self._cells]

    def _open(self, cell: Cell) -> None:
        options, run = self._options, open_run(cell, self._options.results, self._reporter.warn)
        lock_fd = self._stack.enter_context(run.exclusive())
        todo = begin(cell, run, options.results, self._reporter, options.again)
        execution = Execution(
            cell,
            run,
            options.results,
            self._reporter,
            options.priced(cell),
            self._spending,
            lock_fd,
            None,
            options.again.index,
        )
        (self._finished if todo is None else self._seats).append(InterleavedRun(execution, todo or []))

    def _hold(self, race: PlannedRace) -> None:
        """Begin the race with the answers of earlier commands, which may already decide it."""
        runs = [RunDir(self._options.results / cell.run_id) for cell in race.cells]
        assert self._options.evaluation is not None  # noqa: S101 - the race was planned from it
        scorer = open_scorer(race, self._options.evaluation, self._reporter, self._stack)
        self._referee = RaceController(race, self._orders[race.cells[0].dataset.digest], runs, scorer)
        self._look()

    def _look(self) -> None:
        """Update the race with new answers, and end the workers of eliminated systems."""
        if self._referee is None:
            return
        seats = {seat.execution.run.run_id: seat for seat in (*self._seats, *self._finished)}
        for line in self._referee.look(lambda run_id, query_id: bool(seats[run_id].left_of([query_id]))):
            self._reporter.say(line)
        for seat in self._seats:
            if self._referee.is_asked(seat.execution.run.run_id) is False:
                seat.leave()

    def _order_of(self, seat: InterleavedRun) -> list[str]:
        return self._orders[seat.execution.cell.dataset.digest]

    def _wanted(self, seat: InterleavedRun, block: Sequence[str]) -> list[QueryTask]:
        """The queries of the block that the cell still has to answer."""
        referee = self._referee
        if seat.broken:
            return []
        if referee is not None:
            if self._is_broken or referee.is_asked(seat.execution.run.run_id) is False:
                return []
            if referee.is_over:
                # Baselines answer all queries that the race used.
                taken = {*self._order_of(seat)[: referee.race.n_queries]}
                block = [query_id for query_id in block if query_id in taken]
        return seat.left_of(block)

    @property
    def _is_broken(self) -> bool:
        """Whether a system still in the race is broken: the race cannot be decided without it."""
        return any(
            seat.broken and self._referee and self._referee.is_asked(seat.execution.run.run_id)
            for seat in self._seats
        )

    def _build(self, seat: InterleavedRun) -> None:
        """Build its index, and start its model server unless another cell already uses the same one."""
        execution = seat.execution
        if not seat.n_left and execution.run.index() is not None:
            return
        if seat.n_left:
            self._spending.check()
        models = prepare(execution.cell, execution.run, execution.results, self._reporter)
        execution.server = self._server(models.get("generator"), seat)
        try:
            execution.ensure_index()
        except SystemBroken as broken:
            self._give_up(seat, broken)

    def _server(self, model: ModelConfig | None, seat: InterleavedRun) -> LocalServer | None:
        if model is None:
            return None
        key = model.model_dump_json()
        if key not in self._servers:
            self._servers[key] = self._stack.enter_context(model_server(model, seat.execution.run.path))
        return self._servers[key]

    def _give_up(self, seat: InterleavedRun, broken: SystemBroken) -> None:
        seat.broken = broken
        run_id = seat.execution.run.run_id
        self._reporter.say(f"{run_id} gets no more turns: {broken}")
        if self._referee and self._referee.is_asked(run_id):
            way = "fix it and run the same command again, or race the others without it (--system)"
            self._reporter.warn(f"without {run_id} this race cannot be decided, so it stops: {way}")

    def _answer(self) -> None:
        answering = [seat for seat in self._seats if self._wanted(seat, self._order_of(seat))]
        if not answering:
            return
        left = sum(seat.n_left for seat in answering)
        expected = sum(seat.execution.cell.n_answers for seat in answering)
        with ExitStack() as using:
            for seat in answering:
                using.enter_context(seat.index_in_use())
            bar = using.enter_context(self._reporter.bar(f"answer, {len(answering)} systems in turns"))
            for seat in answering:
                using.callback(seat.end)
            tally = ProgressCounter(bar, self._spending, expected - left, expected)
            for seat, todo in self._turns(answering):
                self._make_room(seat)
                try:
                    seat.take_turn(todo, tally)
                except SystemBroken as broken:
                    seat.end()
                    self._give_up(seat, broken)
            for seat in answering:
                seat.leave()

    def _turns(self, seats: Sequence[InterleavedRun]) -> Iterator[tuple[InterleavedRun, list[QueryTask]]]:
        """Rounds of the same queries for each cell; the order of cells within a round is random."""
        size = max(seat.block for seat in seats)
        rounds = {digest: _blocks(order, size) for digest, order in self._orders.items()}
        draw = Random(self._cells[0].config.seed)  # noqa: S311 - an order, not a secret
        for number in range(max(map(len, rounds.values()))):
            for seat in draw.sample(seats, len(seats)):
                for block in rounds[seat.execution.cell.dataset.digest][number : number + 1]:
                    if todo := self._wanted(seat, block):
                        yield seat, todo
            self._look()

    def _make_room(self, seat: InterleavedRun) -> None:
        """End waiting workers while memory is too small for another one. Their indexes are loaded again later."""
        while not seat.is_waiting:
            waiting = [one for one in self._seats if one.is_waiting]
            sizes = {one: one.rss_bytes for one in waiting}
            needed = max(_LEAST_FREE_BYTES, *sizes.values()) if sizes else 0
            if psutil.virtual_memory().available >= needed:
                return
            max(waiting, key=lambda one: sizes[one]).leave()

    def _closed(self, stopped: BudgetExhausted | None) -> Iterator[CellResult]:
        """Close every run over the queries that all its rivals have answered, or over those the race asked."""
        for seat in (*self._seats, *self._finished):
            seat.execution.run.repair()
        reached = {digest: self._n_reached(digest, stopped) for digest in self._orders}
        race = self._referee.record(self._ended(stopped)) if self._referee else None
        after = {one.run_id: one.after for one in race.dropped} if race else {}
        for seat in (*self._seats, *self._finished):
            run, n = seat.execution.run, reached[seat.execution.cell.dataset.digest]
            if run.run_id in after:
                reach, why = self._order_of(seat)[: min(n, after[run.run_id])], "eliminated from the race"
            else:
                reach, why = self._order_of(seat)[:n], self._why(stopped)
            if seat.broken:
                yield broken_result(run, seat.broken)
            elif not reach or _n_common(reach, [seat]) < len(reach):
                yield self._left_open(run, stopped)
            elif seat in self._finished and n == len(self._order_of(seat)) and race is None:
                yield result_of(run)
            else:
                run.reopen()
                is_part = len(reach) < len(self._order_of(seat))
                found = close_run(seat.execution.cell, run, *((reach, why) if is_part else ()), race=race)
                yield replace(found, ended_by=stopped if is_part else None)

    def _left_open(self, run: RunDir, stopped: BudgetExhausted | None) -> CellResult:
        """The result of a run that has not answered all queries over which it would be closed."""
        if stopped:
            return replace(result_of(run), status="stopped", stopped=stopped)
        return replace(result_of(run), status="failed", reason="it waits for a system that is broken")

    def _why(self, stopped: BudgetExhausted | None) -> str:
        """The reason why a run ends before its last query."""
        if stopped:
            return stopped.what
        return "a system of the race is broken" if self._is_broken else "the race is decided"

    def _n_reached(self, digest: str, stopped: BudgetExhausted | None) -> int:
        order = self._orders[digest]
        if self._referee is not None:
            return self._referee.race.n_queries
        if stopped is None:
            return len(order)
        seats = [
            seat
            for seat in (*self._seats, *self._finished)
            if seat.execution.cell.dataset.digest == digest and not seat.broken
        ]
        return _n_common(order, seats)

    def _ended(self, stopped: BudgetExhausted | None) -> Ended:
        if self._referee and self._referee.is_over:
            return "queries"
        return "budget" if stopped else "broken"


def _blocks(order: Sequence[str], size: int) -> list[Sequence[str]]:
    """Blocks of `size` queries. A last block of one query is avoided: see `InterleavedRun.block`."""
    blocks = [order[start : start + size] for start in range(0, len(order), size)]
    if len(blocks) > 1 and len(blocks[-1]) == 1:
        blocks[-2:] = [[*blocks[-2], *blocks[-1]]]
    return blocks


def _n_common(order: Sequence[str], seats: Sequence[InterleavedRun]) -> int:
    """The number of queries at the start of the order that all cells have answered."""
    answered = [
        (seat.execution.run.intact_statuses().keys(), seat.execution.cell.config.repeats) for seat in seats
    ]
    for place, query_id in enumerate(order):
        if not all((query_id, repeat) in keys for keys, repeats in answered for repeat in range(repeats)):
            return place
    return len(order)
