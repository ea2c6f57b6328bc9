"""Interleaved schedule: configurations take turns of a few queries, all in the same random order.

If the budget is exhausted, all have answered the same first queries, a random sample. The runs are then
closed over those (`RunDir.mark_done`), and the same command resumes them. Changing conditions, such as a warm or
busy machine, affect all configurations alike.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from random import Random

import psutil

from harness.config import ModelConfig
from harness.core.errors import BudgetExhausted
from harness.datasets.sampling import query_order
from harness.models.llama_server import LocalServer
from harness.models.providers import provider_of
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.executing.execute import (
    CellResult,
    RunContext,
    begin,
    broken_result,
    close_run,
    model_server,
    open_run,
    prepare,
    result_of,
)
from harness.runner.executing.messages import AnswerTurn, QueryTask
from harness.runner.executing.phases import Execution, OnEvent, ProgressCounter
from harness.runner.executing.race_controller import Ended, RaceController, open_scorer
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken, WorkerEnd
from harness.runner.plan import Cell
from harness.runner.race_plan import PlannedRace
from harness.store import RunDir


class InterleavedRun:
    """A configuration with its remaining answers and its worker."""

    def __init__(self, execution: Execution, todo: Sequence[QueryTask]) -> None:
        self.execution = execution
        self._remaining_queries = {(one.query_id, one.repeat): one for one in todo}
        self._worker: Supervisor | None = None
        self.broken: SystemBroken | None = None

    @property
    def run_id(self) -> str:
        return self.execution.run.run_id

    @property
    def n_left(self) -> int:
        return len(self._remaining_queries)

    @property
    def is_waiting(self) -> bool:
        return self._worker is not None and self._worker.is_waiting

    @property
    def rss_bytes(self) -> int:
        return self._worker.rss_bytes if self._worker else 0

    @property
    def block(self) -> int:
        """Number of queries in a turn.

        At least two and more than the slots of a local model server: each slot caches its last prompt, and the
        first query of a turn must not profit from the prompt of another system about the same query. With
        concurrency, several times as many, because the last queries of a turn run less concurrently.
        """
        cell, slots = self.execution.cell, 1
        if cell.generator is not None and provider_of(cell.generator).serve:
            slots = provider_of(cell.generator).parallel(cell.generator)
        at_once = cell.config.limits.concurrency
        return max(2, slots + 1, 4 * at_once if at_once > 1 else 0)

    def left_of(self, query_ids: Sequence[str]) -> list[QueryTask]:
        keys = [
            (query_id, repeat) for query_id in query_ids for repeat in range(self.execution.cell.config.repeats)
        ]
        return [self._remaining_queries[key] for key in keys if key in self._remaining_queries]

    def take_turn(self, todo: Sequence[QueryTask], progress: ProgressCounter) -> None:
        """Answer `todo` and keep the worker. Raises like `Supervisor.run`."""
        self.execution.work_through(todo, progress, self._ask)
        for one in todo:
            del self._remaining_queries[one.query_id, one.repeat]

    def leave(self) -> None:
        """Let the worker close its system and exit. The next turn starts a new one."""
        if self._worker:
            self._worker.leave()
            self._worker = None

    def end(self) -> None:
        if self._worker:
            self._worker.end()
            self._worker = None

    def _ask(self, pending: Sequence[QueryTask], on_event: OnEvent) -> WorkerEnd:
        execution = self.execution
        if self._worker is None or not self._worker.is_waiting:
            self.end()
            self._worker = execution.supervisor("answer", pending, on_event)
        else:
            execution.spending.check()
        return self._worker.turn(AnswerTurn(todo=tuple(pending), allowance=execution.spending.allowance()))


_LEAST_FREE_BYTES = 1 << 30
"""Free memory required to start another worker besides the waiting ones."""


def run_interleaved(
    cells: Sequence[Cell],
    context: RunContext,
    race: PlannedRace | None = None,
    evaluation: EvaluationPlan | None = None,
) -> list[CellResult]:
    """Index and answer these configurations in turns; one result each, in their order. The next call resumes.

    If the budget is exhausted, the runs are closed over the queries that all have answered, if there are any, and
    `ended_by` holds the reason. A `race`, which needs the evaluators of `evaluation`, eliminates systems that are
    significantly worse; at its end each run is closed over its queries so far, with the result of the race. A
    system that breaks gets no more turns, and its run stays open.
    """
    with ExitStack() as stack:
        return InterleavedScheduler(cells, context, stack, race, evaluation).run()


class InterleavedScheduler:
    def __init__(
        self,
        cells: Sequence[Cell],
        context: RunContext,
        stack: ExitStack,
        race: PlannedRace | None,
        evaluation: EvaluationPlan | None,
    ) -> None:
        """Open the runs; `stack` closes them. Answers of earlier commands may already decide a race."""
        self._cells, self._context, self._stack = cells, context, stack
        self._reporter, self._spending = context.reporter, context.spending
        self._servers: dict[str, LocalServer | None] = {}
        self._orders = {
            cell.dataset.digest: query_order(cell.dataset.references, cells[0].config.seed) for cell in cells
        }
        self._participants: list[InterleavedRun] = []
        """Runs with work left."""
        self._finished: list[InterleavedRun] = []
        self._race: RaceController | None = None
        for cell in cells:
            self._open(cell)
        if race is not None and evaluation is not None:
            runs = [RunDir(context.results / cell.run_id) for cell in race.cells]
            scorer = open_scorer(race, evaluation, self._reporter, stack)
            self._race = RaceController(race, self._orders[race.cells[0].dataset.digest], runs, scorer)
            self._update_race()

    def run(self) -> list[CellResult]:
        stopped = None
        try:
            for participant in self._participants:
                if self._race is None or any(self._remaining(participant, self._order_of(participant))):
                    self._build(participant)
            self._answer()
        except BudgetExhausted as exhausted:
            stopped = exhausted
        results = [*self._closed(stopped)]
        return [next(one for one in results if one.run.run_id == cell.run_id) for cell in self._cells]

    def _open(self, cell: Cell) -> None:
        run = open_run(cell, self._context.results, self._reporter.warn)
        lock_fd = self._stack.enter_context(run.exclusive())
        todo = begin(cell, run, self._context)
        participant = InterleavedRun(self._context.execution(cell, run, lock_fd), todo or [])
        (self._finished if todo is None else self._participants).append(participant)

    def _update_race(self) -> None:
        if self._race is None:
            return
        runs = {one.run_id: one for one in (*self._participants, *self._finished)}
        for line in self._race.look(lambda run_id, query_id: bool(runs[run_id].left_of([query_id]))):
            self._reporter.say(line)
        for participant in self._participants:
            if self._race.is_asked(participant.run_id) is False:
                participant.leave()

    def _order_of(self, participant: InterleavedRun) -> list[str]:
        return self._orders[participant.execution.cell.dataset.digest]

    def _remaining(self, participant: InterleavedRun, block: Sequence[str]) -> list[QueryTask]:
        race = self._race
        if participant.broken:
            return []
        if race is not None:
            if self._is_broken or race.is_asked(participant.run_id) is False:
                return []
            if race.is_over:
                # Baselines answer all queries that the race used.
                taken = {*self._order_of(participant)[: race.race.n_queries]}
                block = [query_id for query_id in block if query_id in taken]
        return participant.left_of(block)

    @property
    def _is_broken(self) -> bool:
        """Whether a system still in the race is broken: the race cannot be decided without it."""
        return any(
            participant.broken and self._race and self._race.is_asked(participant.run_id)
            for participant in self._participants
        )

    def _build(self, participant: InterleavedRun) -> None:
        """Build its index, and start its model server unless another configuration already uses the same one."""
        execution = participant.execution
        if not participant.n_left and execution.run.index() is not None:
            return
        if participant.n_left:
            self._spending.check()
        models = prepare(execution.cell, execution.run, self._context)
        execution.server = self._server(models.get("generator"), participant)
        try:
            execution.ensure_index()
        except SystemBroken as broken:
            self._drop_broken(participant, broken)

    def _server(self, model: ModelConfig | None, participant: InterleavedRun) -> LocalServer | None:
        if model is None:
            return None
        key = model.model_dump_json()
        if key not in self._servers:
            self._servers[key] = self._stack.enter_context(model_server(model, participant.execution.run.path))
        return self._servers[key]

    def _drop_broken(self, participant: InterleavedRun, broken: SystemBroken) -> None:
        participant.broken = broken
        run_id = participant.run_id
        self._reporter.say(f"{run_id} gets no more turns: {broken}")
        if self._race and self._race.is_asked(run_id):
            way = "fix it and run the same command again, or race the others without it (--system)"
            self._reporter.warn(f"without {run_id} this race cannot be decided, so it stops: {way}")

    def _answer(self) -> None:
        answering = [one for one in self._participants if self._remaining(one, self._order_of(one))]
        if not answering:
            return
        left = sum(participant.n_left for participant in answering)
        expected = sum(participant.execution.cell.n_answers for participant in answering)
        with ExitStack() as using:
            for participant in answering:
                using.enter_context(participant.execution.index_in_use())
            who = f", {len(answering)} systems in turns" if len(answering) > 1 else ""
            bar = using.enter_context(self._reporter.bar(f"answer{who}"))
            for participant in answering:
                using.callback(participant.end)
            progress = ProgressCounter(bar, self._spending, expected - left, expected)
            for participant, todo in self._turns(answering):
                self._make_room(participant)
                try:
                    participant.take_turn(todo, progress)
                except SystemBroken as broken:
                    participant.end()
                    self._drop_broken(participant, broken)
            for participant in answering:
                participant.leave()

    def _turns(self, participants: Sequence[InterleavedRun]) -> Iterator[tuple[InterleavedRun, list[QueryTask]]]:
        """Rounds of the same queries for each configuration, in random order within a round."""
        size = max(participant.block for participant in participants)
        rounds = {digest: _blocks(order, size) for digest, order in self._orders.items()}
        draw = Random(self._cells[0].config.seed)  # noqa: S311 - an order, not a secret
        for number in range(max(map(len, rounds.values()))):
            for participant in draw.sample(participants, len(participants)):
                for block in rounds[participant.execution.cell.dataset.digest][number : number + 1]:
                    if todo := self._remaining(participant, block):
                        yield participant, todo
            self._update_race()

    def _make_room(self, participant: InterleavedRun) -> None:
        """End waiting workers while memory is too small for another one. Their indexes are loaded again later."""
        while not participant.is_waiting:
            waiting = [one for one in self._participants if one.is_waiting]
            sizes = {one: one.rss_bytes for one in waiting}
            needed = max(_LEAST_FREE_BYTES, *sizes.values()) if sizes else 0
            if psutil.virtual_memory().available >= needed:
                return
            max(waiting, key=lambda one: sizes[one]).leave()

    def _closed(self, stopped: BudgetExhausted | None) -> Iterator[CellResult]:
        """Close every run over the queries that all competing runs have answered, or over those of the race."""
        for participant in (*self._participants, *self._finished):
            participant.execution.run.cut_torn_line()
        n_common = {digest: self._n_shared(digest, stopped) for digest in self._orders}
        ended: Ended = "queries" if self._race and self._race.is_over else "budget" if stopped else "broken"
        race = self._race.record(ended) if self._race else None
        broken_or_decided = "a system of the race is broken" if self._is_broken else "the race is decided"
        why_ended = stopped.what if stopped else broken_or_decided
        after = {one.run_id: one.after for one in race.dropped} if race else {}
        for participant in (*self._participants, *self._finished):
            run, n = participant.execution.run, n_common[participant.execution.cell.dataset.digest]
            if run.run_id in after:
                reach, why = self._order_of(participant)[: min(n, after[run.run_id])], "eliminated from the race"
            else:
                reach, why = self._order_of(participant)[:n], why_ended
            if participant.broken:
                yield broken_result(run, participant.broken)
            elif not reach or _n_common(reach, [participant]) < len(reach):
                # It has not answered all queries over which it would be closed.
                if stopped:
                    yield replace(result_of(run), status="stopped", stopped=stopped)
                else:
                    yield replace(result_of(run), status="failed", reason="another system is broken")
            elif participant in self._finished and n == len(self._order_of(participant)) and race is None:
                yield result_of(run)
            else:
                run.reopen()
                is_part = len(reach) < len(self._order_of(participant))
                result = close_run(participant.execution.cell, run, *((reach, why) if is_part else ()), race=race)
                yield replace(result, ended_by=stopped if is_part else None)

    def _n_shared(self, digest: str, stopped: BudgetExhausted | None) -> int:
        order = self._orders[digest]
        if self._race is not None:
            return self._race.race.n_queries
        if stopped is None:
            return len(order)
        participants = [
            participant
            for participant in (*self._participants, *self._finished)
            if participant.execution.cell.dataset.digest == digest and not participant.broken
        ]
        return _n_common(order, participants)


def _blocks(order: Sequence[str], size: int) -> list[Sequence[str]]:
    """Blocks of `size` queries. A last block of one query is avoided: see `InterleavedRun.block`."""
    blocks = [order[start : start + size] for start in range(0, len(order), size)]
    if len(blocks) > 1 and len(blocks[-1]) == 1:
        blocks[-2:] = [[*blocks[-2], *blocks[-1]]]
    return blocks


def _n_common(order: Sequence[str], participants: Sequence[InterleavedRun]) -> int:
    """The number of queries at the start of the order that all configurations have answered."""
    executions = [participant.execution for participant in participants]
    answered = [(one.run.intact_statuses().keys(), one.cell.config.repeats) for one in executions]
    for place, query_id in enumerate(order):
        if not all((query_id, repeat) in keys for keys, repeats in answered for repeat in range(repeats)):
            return place
    return len(order)
