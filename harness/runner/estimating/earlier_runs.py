"""Measurements of earlier runs under --results, used to estimate new ones. Damaged runs are skipped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.core.errors import HarnessError
from harness.core.records import OWN_MODELS, Expected, Range, Usage
from harness.models.model_endpoint import server_digests
from harness.models.providers import provider_of
from harness.registry import SYSTEMS
from harness.runner.evaluating.plan import PlannedEvaluator
from harness.runner.machine_info import describe_machine
from harness.runner.plan import Cell
from harness.statistics.estimate import (
    EMBEDDER,
    GENERATOR,
    SAME_PARAMETERS,
    Earlier,
    MeasuredCost,
    Rates,
    answers_spent,
    covered_seconds,
    index_spent,
    measured_range,
    without_calls,
)
from harness.store import IndexDir, Manifest, RunDir, find_runs
from harness.store.asked_calls import AskedCall, count_paid_calls, latest_calls

R = TypeVar("R")
T = TypeVar("T")
_MOST_RUNS = 12
"""Maximum runs used to estimate one configuration, the latest first."""
_MOST_READ = 4
_MOST_RECORDS = 1000
"""Maximum records per run; more do not improve a mean."""


class EarlierRun:
    """An earlier run, read lazily."""

    def __init__(self, run: RunDir, manifest: Manifest) -> None:
        self.run, self.manifest = run, manifest
        self.system = manifest.system
        """Name, version, index and answer parameters of its system."""
        self.server = _server_of(manifest.identity)

    @cached_property
    def index_kind(self) -> str:
        """The kind of its index, which systems may share. Empty if its system is not installed."""
        return str(_read(str(self.system.get("name")), lambda name: SYSTEMS.load(name).stored_index_kind) or "")

    @cached_property
    def calls(self) -> list[AskedCall]:
        return [call for call in latest_calls(self.run.journal_path) if call.role == GENERATOR]

    @cached_property
    def expected(self) -> Expected | None:
        """The work that its system expected when it started, without calls if it had no generator."""
        kept = _read(self.run, RunDir.estimate)
        expected = kept.expected if kept else None
        if expected is None or self.manifest.has_generator:
            return expected
        without = {"index": without_calls(expected.index), "query": without_calls(expected.query)}
        return expected.model_copy(update=without)


class EarlierRuns:
    """All runs in a results folder except imported ones, the latest first."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._rates: dict[tuple[str, int], Rates] = {}
        self._machine = describe_machine()
        self._runs = []
        for run in find_runs(results, []):
            manifest = _read(run, RunDir.manifest)
            if manifest is not None and not manifest.is_imported:
                self._runs.append(EarlierRun(run, manifest))
        self._runs.sort(key=lambda one: (one.manifest.created_at, one.run.run_id), reverse=True)

    def rates(self, cell: Cell) -> Rates:
        """Prompt and reply lengths and seconds per call. Calls of a local model count on this machine only."""
        key = (_server_of(cell.identity), cell.config.limits.concurrency)
        if key not in self._rates:
            self._rates[key] = self._measure(cell)
        return self._rates[key]

    def _measure(self, cell: Cell) -> Rates:
        runs = self._served_by(cell)
        payers = {run.run.run_id for run in runs}
        indexing = latest_calls(IndexDir(self._results, "any").journal_path)
        calls = [call for call in indexing if call.role == GENERATOR and call.paid_by in payers]
        calls += [call for run in runs for call in run.calls]
        input_tokens = sum(call.input_tokens for call in calls)
        if not input_tokens:
            return Rates()
        replies: dict[int, list[int]] = {}
        for call in calls:
            replies.setdefault(call.max_tokens, []).append(call.output_tokens)
        timed = [own for run in runs if self._is_as_fast(run, cell) and (own := run.calls)]
        busy = [covered_seconds((one.started_s, one.started_s + one.wall_s) for one in own) for own in timed]
        if timed:
            mean_s = sum(busy) / sum(map(len, timed))
            best_s = min(seconds / len(own) for seconds, own in zip(busy, timed, strict=True))
        else:
            mean_s = best_s = sum(call.wall_s for call in calls) / len(calls) / cell.config.limits.concurrency
        low, high = (measured_range(seconds, is_speed=False) for seconds in (best_s, mean_s))
        call_s = Range(low=low.low, high=high.high)
        is_known = timed or not _is_here(cell)
        return Rates(
            characters_per_token=sum(call.characters for call in calls) / input_tokens,
            reply_tokens={limit: sum(tokens) / len(tokens) for limit, tokens in replies.items()},
            call_s=call_s if is_known else None,
        )

    def index_phases(self, cell: Cell, *, per_document: bool) -> list[Earlier]:
        """Earlier index builds, each once. `per_document`: the unit is a document instead of a whole index."""
        found: dict[str, Earlier] = {}
        for run in self._served_by(cell, lambda one: one.index_kind == cell.spec.stored_index_kind):
            record = _read(run.run, RunDir.index)
            if record is None or record.index_id in found:
                continue
            spent = index_spent(record)
            if not self._is_as_fast(run, cell):
                spent = replace(spent, seconds=None)
            documents = record.stats.documents
            found[record.index_id] = Earlier(
                spent=replace(spent, units=documents) if per_document else spent,
                work=run.expected.index if run.expected else None,
                closeness=_closeness(run, cell, ("index",)),
            )
        return list(found.values())

    def answer_phases(self, cell: Cell) -> list[Earlier]:
        """The answers of the few most similar runs; reading more records would take too long."""
        phases: list[Earlier] = []
        halves = ("index", "answer")
        alike = self._served_by(cell, lambda one: one.system.get("name") == cell.spec.name)
        for run in sorted(alike, key=lambda one: -_closeness(one, cell, halves)):
            closeness = _closeness(run, cell, halves)
            if len(phases) == _MOST_READ or (phases and closeness < phases[0].closeness):
                break
            records = _read(run.run, lambda one: list(islice(one.iter_records(), _MOST_RECORDS)))
            spent = answers_spent(records or [])
            if not self._is_as_fast(run, cell):
                spent = replace(spent, seconds=None)
            if spent.units and (spent.is_metered or OWN_MODELS in spent.usage):
                phases.append(Earlier(spent, run.expected.query if run.expected else None, closeness))
        return phases

    def judged(self, planned: PlannedEvaluator, system: str, models: Mapping[str, Any]) -> list[Earlier]:
        """Evaluations with these models, the judge as generator. Those of the same system are closer: long
        contexts need more judge calls.
        """
        wanted, found = (planned.spec.version, planned.params.model_dump(mode="json")), list[Earlier]()
        for run in self._runs:
            done = _read(run.run, RunDir.done)
            for record in _read(run.run, RunDir.evaluations) or []:
                played, cost = record.models, record.cost
                same = all(
                    (played.get(role) or {}).get(key) == model.get(key)
                    for role, model in models.items()
                    for key in ("provider", "model")
                )
                if record.evaluator != planned.spec.name or not same or not done or not done.n_ok:
                    continue
                usage = {GENERATOR: cost.usage.get("judge", Usage())}
                usage[EMBEDDER] = cost.usage.get("judge_embedder", Usage())
                seconds = None if cost.replayed_calls else cost.wall_s
                near = SAME_PARAMETERS * ((record.version, record.params) == wanted)
                near += run.system.get("name") == system
                found.append(Earlier(MeasuredCost(done.n_ok, usage, seconds), None, near))
        return sorted(found, key=lambda one: -one.closeness)[:_MOST_RUNS]

    def _served_by(self, cell: Cell, alike: Callable[[EarlierRun], bool] = lambda _: True) -> list[EarlierRun]:
        server = _server_of(cell.identity)
        return [run for run in self._runs if run.server == server and alike(run)][:_MOST_RUNS]

    def _is_as_fast(self, run: EarlierRun, cell: Cell) -> bool:
        if _is_here(cell):
            return all(run.manifest.machine.get(key) == self._machine.get(key) for key in ("processor", "cores"))
        return (run.manifest.identity.get("limits") or {}).get("concurrency") == cell.config.limits.concurrency

    def index_calls_made(self, cell: Cell) -> int:
        """Calls of the generator for the index of this configuration that an interrupted build has journaled."""
        builders = [one.run.run_id for one in self._runs if one.manifest.index_id == cell.index_id]
        return count_paid_calls(IndexDir(self._results, "any").journal_path, GENERATOR, builders)


def _server_of(identity: Mapping[str, Any]) -> str:
    """A digest of the generator of a run: provider, model, weights and URL, without decoding parameters."""
    models = identity.get("models") or {}
    return server_digests({GENERATOR: models.get(GENERATOR) or {}})[GENERATOR]


def _is_here(cell: Cell) -> bool:
    generator = cell.generator
    return generator is None or generator.is_none or provider_of(generator).is_here


def _closeness(run: EarlierRun, cell: Cell, halves: Sequence[str]) -> int:
    same_params = all(run.system.get(half) == cell.identity["system"][half] for half in halves)
    same_dataset = run.manifest.dataset.get("name") == cell.dataset.name
    return SAME_PARAMETERS * same_params + same_dataset


def _read(of: R, what: Callable[[R], T]) -> T | None:
    """what(of), or None if the run is damaged or incomplete, or its system is not installed."""
    try:
        return what(of)
    except (HarnessError, ValidationError, KeyError, TypeError, ValueError):
        return None
