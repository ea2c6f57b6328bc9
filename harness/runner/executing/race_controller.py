"""Runs a race: tests the answers as they arrive and decides which systems continue."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from pathlib import Path
from typing import Literal

from harness.core.errors import ConfigError
from harness.core.records import RaceDrop, RaceGap, RaceRecord, RunRecord
from harness.evaluators.run_scoring import Scorer, score_run
from harness.llm_utils.concurrency import run_to_end
from harness.protocols import RunFacts
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.progress import Reporter
from harness.runner.race_plan import PlannedRace
from harness.statistics.aggregate import mean_of
from harness.statistics.race_test import Race
from harness.statistics.sampling_design import SamplingDesign, repeated_questions
from harness.store import RecordKey, RunDir, sample_rows
from harness.store.record_lines import keep_latest

Ended = Literal["decided", "queries", "budget", "broken"]


class RaceController:
    """One race, based on the records of its runs.

    Queries are used in their order, each once, as soon as all active systems have answered it. So the result
    depends only on the records, not on when they are read.
    """

    def __init__(
        self,
        planned: PlannedRace,
        order: Sequence[str],
        runs: Sequence[RunDir],
        reporter: Reporter,
        stack: ExitStack,
    ) -> None:
        """`runs`: those of the competing cells, in the same order. `order`: the query ids in the order of use.
        `stack` closes the evaluator.
        """
        self._planned, self._order = planned, order
        self._scorer = _open_scorer(planned, reporter, stack)
        self._runs = {run.run_id: run for run in runs}
        cell = planned.cells[0]
        rows = sample_rows(cell.dataset.queries, cell.dataset.references)
        self._rows = {row.query.query_id: row for row in rows}
        self._facts = RunFacts(has_generator=all(one.generates for one in planned.cells))
        self._repeats = cell.config.repeats
        self._read = dict.fromkeys(self._runs, 0)
        self._records: dict[str, dict[RecordKey, RunRecord]] = {run_id: {} for run_id in self._runs}
        weights = self._weights()
        if not weights:
            what = f"'{planned.measure.name}' applies to none of these queries, so a race cannot use it"
            raise ConfigError(what, "choose another metric")
        self.race = Race([*self._runs], planned.rules, weights)

    @property
    def is_over(self) -> bool:
        return self.race.is_decided or self.race.n_queries == len(self._order)

    def competes(self, run_id: str) -> bool:
        """Whether a run is still in the race."""
        return run_id in self.race.active and not self.is_over

    def n_wanted(self, run_id: str) -> int:
        """How many queries, from the first one, a run is to answer. Baselines answer all that the race used."""
        if run_id in self._runs:
            return len(self._order) if self.competes(run_id) else 0
        return self.race.n_queries if self.is_over else len(self._order)

    def look(self, is_pending: Callable[[str, str], bool]) -> list[str]:
        """Test with all queries that every active system has answered; a line for each eliminated system.

        `is_pending(run_id, query_id)`: whether the query will be answered again.
        """
        race, before = self.race, len(self.race.dropped)
        # An elimination can complete more queries: those that only the eliminated system had not answered.
        while not race.is_decided and (ready := self._ready_queries(is_pending)):
            values = {run_id: self._values(run_id, ready) for run_id in race.active}
            for query_id in ready:
                if race.is_decided:
                    break
                race.take(query_id, {run_id: values[run_id].get(query_id) for run_id in race.active})
        return [
            f"after {drop.after:,} queries {drop.name} is eliminated: significantly worse than {drop.against}"
            for drop in race.dropped[before:]
        ]

    def record(self, ended: Ended) -> RaceRecord:
        race, rules = self.race, self._planned.rules
        left = [race.leader, *(one for one in race.active if one != race.leader)]
        return RaceRecord(
            measure=self._planned.measure.name,
            margin=rules.margin,
            alpha=rules.alpha,
            n_queries=race.n_queries,
            n_drawn=len(self._order),
            ended="decided" if race.is_decided else ended,
            entrants=tuple(self._runs),
            left=tuple(left),
            dropped=tuple(
                RaceDrop(run_id=one.name, after=one.after, against=one.against, low=one.low, high=one.high)
                for one in race.dropped
            ),
            gaps=tuple(
                RaceGap(a=a, b=b, low=low, high=high)
                for a, b in combinations(left, 2)
                for low, high in [race.interval(a, b)]
            ),
        )

    def _ready_queries(self, is_pending: Callable[[str, str], bool]) -> list[str]:
        for run_id in self.race.active:
            records, self._read[run_id] = self._runs[run_id].records_since(self._read[run_id])
            for record in records:
                keep_latest(self._records[run_id], (record.query_id, record.repeat), record)
        ready = []
        for query_id in self._order[self.race.n_queries :]:
            keys = [(query_id, repeat) for repeat in range(self._repeats)]
            if not all(
                all(key in self._records[run_id] for key in keys) and not is_pending(run_id, query_id)
                for run_id in self.race.active
            ):
                break
            ready.append(query_id)
        return ready

    def _values(self, run_id: str, query_ids: Sequence[str]) -> dict[str, float]:
        """Query id -> mean over its repeats, without queries that have no value."""
        rows = [self._rows[query_id] for query_id in query_ids]
        records = self._records[run_id]
        scores = run_to_end(lambda: score_run(self._scorer, rows, records, self._repeats, self._facts))
        found: dict[str, list[float]] = {}
        for score in scores:
            if score.value is not None:
                found.setdefault(score.query_id, []).append(score.value)
        return {query_id: mean_of(values) for query_id, values in found.items()}

    def _weights(self) -> dict[str, float]:
        """The weight in the natural mix of each query to which the metric applies. Repeated questions get none,
        because they would make the race too certain.
        """
        queries = [self._rows[query_id].query for query_id in self._order if query_id in self._rows]
        again = repeated_questions((query.query_id, query.text) for query in queries)
        applies = [
            query_id
            for query_id, row in self._rows.items()
            if query_id not in again
            and not self._scorer.evaluator.not_applicable(row.reference, self._planned.measure, self._facts)
        ]
        types = {query_id: row.reference.query_type for query_id, row in self._rows.items()}
        drawn = SamplingDesign(types, self._planned.cells[0].dataset.type_mix)
        weights = drawn.weights(applies, [*self._rows], applies)
        return {one: 1.0 if weights is None else float(weights[place]) for place, one in enumerate(applies)}


def _open_scorer(planned: PlannedRace, reporter: Reporter, stack: ExitStack) -> Scorer:
    # No model is called, so nothing is written to a folder.
    models = EvaluationModels(planned.evaluation.without_models(), Path(), reporter, stack)
    runtime = MeteredEvaluation(models, lambda _done, _total, _doing: None)
    spec = planned.evaluator.spec
    evaluator = stack.enter_context(closing(spec.build(planned.evaluator.params, runtime)))
    return Scorer(spec.name, (planned.measure,), evaluator)
