"""Runs configurations in turns: an interleaved schedule, or a race.

Configurations answer a few queries each, all in the same random order. If the budget is exhausted, all have
answered the same first queries, a random sample. The runs are then closed over those (`RunDir.mark_done`), and the
same command resumes them. Changing conditions, such as a warm or busy machine, affect all configurations alike.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from random import Random

import psutil

from harness.core.errors import BudgetExhausted
from harness.datasets.sampling import query_order
from harness.models.providers import provider_of
from harness.runner.executing.execute import CellResult, RunContext, Schedule, close_run, result_of
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.phases import Execution
from harness.runner.executing.race_controller import Ended, RaceController
from harness.runner.executing.worker_supervisor import SystemBroken
from harness.runner.plan import Cell
from harness.runner.race_plan import PlannedRace
from harness.store import RunDir

_LEAST_FREE_BYTES = 1 << 30
"""Free memory required to start another worker besides the waiting ones."""


def run_in_turns(cells: Sequence[Cell], context: RunContext, race: PlannedRace | None = None) -> list[CellResult]:
    """Index and answer these configurations in turns; one result each, in their order. The next call resumes.

    If the budget is exhausted, the runs are closed over the queries that all have answered, if there are any, and
    `ended_by` holds the reason. A `race` eliminates systems that are significantly worse; at its end each run is
    closed over its queries so far, with the result of the race. A system that breaks gets no more turns, and its
    run stays open.
    """
    with ExitStack() as stack:
        return InTurns(cells, context, stack, race).run()


class InTurns(Schedule):
    """Several runs, which answer the same queries before any of them goes on to the next ones."""

    def __init__(
        self, cells: Sequence[Cell], context: RunContext, stack: ExitStack, race: PlannedRace | None
    ) -> None:
        """Answers of earlier commands may already decide a race."""
        super().__init__(cells, context, stack)
        self._seed = cells[0].config.seed
        self._orders = {cell.dataset.digest: query_order(cell.dataset.references, self._seed) for cell in cells}
        self._left = {
            one.run.run_id: {(task.query_id, task.repeat): task for task in one.todo} for one in self._executions
        }
        """By run, what it has not answered yet."""
        self._race: RaceController | None = None
        if race is not None:
            runs = [RunDir(context.results / cell.run_id) for cell in race.cells]
            order = self._orders[race.cells[0].dataset.digest]
            self._race = RaceController(race, order, runs, context.reporter, stack)
            self._update_race()

    def _order_of(self, execution: Execution) -> list[str]:
        return self._orders[execution.cell.dataset.digest]

    def _is_needed(self, execution: Execution) -> bool:
        if self._race is None:
            return super()._is_needed(execution)
        return bool(self._remaining(execution, 0, len(self._order_of(execution))))

    def _remaining(self, execution: Execution, start: int, stop: int) -> list[QueryTask]:
        """What is left for a run to answer of the queries at these positions of the order."""
        order = self._order_of(execution)
        if execution.broken or self._is_broken:
            return []
        n_wanted = self._race.n_wanted(execution.run.run_id) if self._race else len(order)
        return self._left_of(execution, order[start : min(stop, n_wanted)])

    def _left_of(self, execution: Execution, query_ids: Sequence[str]) -> list[QueryTask]:
        left, repeats = self._left[execution.run.run_id], range(execution.cell.config.repeats)
        keys = [(query_id, repeat) for query_id in query_ids for repeat in repeats]
        return [left[key] for key in keys if key in left]

    @property
    def _is_broken(self) -> bool:
        """Whether a system still in the race is broken: the race cannot be decided without it."""
        race = self._race
        return race is not None and any(one.broken and race.competes(one.run.run_id) for one in self._executions)

    def _update_race(self) -> None:
        if self._race is None:
            return
        runs = {execution.run.run_id: execution for execution in self._executions}
        for line in self._race.look(lambda run_id, query_id: bool(self._left_of(runs[run_id], [query_id]))):
            self._reporter.say(line)
        for run_id, execution in runs.items():
            if not self._race.n_wanted(run_id):
                execution.leave()

    def _drop(self, execution: Execution, broken: SystemBroken) -> None:
        super()._drop(execution, broken)
        run_id = execution.run.run_id
        self._reporter.say(f"{run_id} gets no more turns: {broken}")
        if self._is_broken:
            way = "fix it and run the same command again, or race the others without it (--system)"
            self._reporter.warn(f"without {run_id} this race cannot be decided, so it stops: {way}")

    def _turns(self, answering: Sequence[Execution]) -> Iterator[tuple[Execution, list[QueryTask]]]:
        """Rounds of the same queries for each configuration, in random order within a round."""
        size = max(_turn_size(execution.cell) for execution in answering)
        draw = Random(self._seed)  # noqa: S311 - an order, not a secret
        for start in range(0, max(map(len, self._orders.values())), size):
            for execution in draw.sample(answering, len(answering)):
                # A last turn of one query is avoided: see `_turn_size`.
                is_nearly_last = len(self._order_of(execution)) == start + size + 1
                if todo := self._remaining(execution, start, start + size + is_nearly_last):
                    self._make_room(execution)
                    yield execution, todo
                    for one in () if execution.broken else todo:
                        del self._left[execution.run.run_id][one.query_id, one.repeat]
            self._update_race()

    def _make_room(self, execution: Execution) -> None:
        """End waiting workers while memory is too small for another one. Their indexes are loaded again later."""
        while not execution.is_waiting:
            waiting = [one for one in self._executions if one.is_waiting]
            sizes = [one.rss_bytes for one in waiting]
            if not waiting or psutil.virtual_memory().available >= max(_LEAST_FREE_BYTES, *sizes):
                return
            waiting[sizes.index(max(sizes))].leave()

    def _results(self, stopped: BudgetExhausted | None) -> list[CellResult]:
        """Each run is closed over the queries that all competing runs have answered, or over those of the race."""
        ended: Ended = "queries" if self._race and self._race.is_over else "budget" if stopped else "broken"
        race = self._race.record(ended) if self._race else None
        after = {one.run_id: one.after for one in race.dropped} if race else {}
        n_common = {digest: self._n_common(digest, stopped) for digest in self._orders}
        broken_or_decided = "a system of the race is broken" if self._is_broken else "the race is decided"
        results = []
        for execution in self._executions:
            run, order = execution.run, self._order_of(execution)
            n, why = n_common[execution.cell.dataset.digest], stopped.what if stopped else broken_or_decided
            if run.run_id in after:
                n, why = min(n, after[run.run_id]), "eliminated from the race"
            if execution.broken:
                results.append(result_of(run, execution.broken))
            elif execution.is_finished and n == len(order) and race is None:
                results.append(result_of(run))
            elif not n or ((stopped or race) and _n_answered(order[:n], [execution]) < n):
                # It has not answered all queries over which it would be closed.
                results.append(result_of(run, "" if stopped else "another system is broken", stopped))
            else:
                run.reopen()
                part = (order[:n], why) if n < len(order) else ()
                result = close_run(execution.cell, run, *part, race=race)
                results.append(replace(result, ended_by=stopped if part else None))
        return results

    def _n_common(self, digest: str, stopped: BudgetExhausted | None) -> int:
        """Over how many queries, from the first one, the runs over a data set are closed."""
        order = self._orders[digest]
        if self._race is not None:
            return self._race.race.n_queries
        if stopped is None:
            return len(order)
        over_it = [one for one in self._executions if one.cell.dataset.digest == digest]
        return _n_answered(order, [execution for execution in over_it if not execution.broken])


def _turn_size(cell: Cell) -> int:
    """Number of queries in a turn.

    At least two and more than the slots of a local model server: each slot caches its last prompt, and the first
    query of a turn must not profit from the prompt of another system about the same query. With concurrency,
    several times as many, because the last queries of a turn run less concurrently.
    """
    slots, at_once = 1, cell.config.limits.concurrency
    if cell.generator is not None and provider_of(cell.generator).serve:
        slots = provider_of(cell.generator).parallel(cell.generator)
    return max(2, slots + 1, 4 * at_once if at_once > 1 else 0)


def _n_answered(order: Sequence[str], executions: Sequence[Execution]) -> int:
    """The number of queries at the start of the order that all configurations have answered."""
    answered = [(one.run.intact_statuses().keys(), one.cell.config.repeats) for one in executions]
    for place, query_id in enumerate(order):
        if not all((query_id, repeat) in keys for keys, repeats in answered for repeat in range(repeats)):
            return place
    return len(order)
