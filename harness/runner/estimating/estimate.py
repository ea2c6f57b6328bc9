"""Estimates the cost of configurations from the expectations of their systems, corrected by earlier runs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import ModelConfig
from harness.core.current_process import usable_cores
from harness.core.records import Estimate, Expected, PhaseEstimate, Range, Work
from harness.models.embedding_cache import embedder_cache_key, stored_share
from harness.models.providers import provider_of
from harness.models.weights import cache_dir, missing_bytes
from harness.protocols import Corpus, Workload
from harness.runner.estimating.earlier_runs import EarlierRuns
from harness.runner.estimating.estimate_text import budget_text, in_one_line, likely_answers
from harness.runner.estimating.model_speed import ModelSpeed, calibrate, keep_measured, stored_speed
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator, plan_evaluation
from harness.runner.plan import Cell, is_indexed
from harness.runner.progress import Reporter
from harness.runner.routed_systems import joined_expectation
from harness.statistics.estimate import ALL, NO_TIME, Earlier, Rates, Task, predict, without_calls
from harness.statistics.prices import Prices, usage_usd
from harness.store import IndexDir, RunDir
from harness.store.asked_calls import latest_calls

_SERVER_CALL_S = Range(low=0.5, high=5.0)
_SERVER_PASSAGES = Range(low=20.0, high=500.0)
_LOCAL_PROMPT, _LOCAL_COMPLETION = Range(low=30.0, high=800.0), Range(low=4.0, high=60.0)
_LOCAL_PASSAGES = Range(low=5.0, high=300.0)
"""Speeds that are assumed, and said, if nothing was measured: of models behind a server and on this machine."""
_PROCESS_S = Range(low=1.0, high=5.0)
"""To start a process: for the index, for the answers, and to score them."""
_BUSIEST = 4.0
"""Most by which other programs slow down the start of processes."""


class Estimator:
    """Estimates configurations from earlier runs and stored model speeds. Calls, starts and writes nothing."""

    def __init__(self, results: Path, prices: Prices, *, fresh_index: bool = False) -> None:
        """`fresh_index`: indexes are built without stored vectors and calls."""
        self._results, self._prices, self._fresh_index = results, prices, fresh_index

    def estimate_all(self, cells: Sequence[Cell], paid: set[str] | None = None) -> list[Estimate]:
        """One estimate per configuration. The first one that uses an index pays for it. `paid`: ids of indexes
        that earlier ones pay for; it is extended.
        """
        paid = set() if paid is None else paid
        estimates = []
        for cell in cells:
            estimate = self.estimate(cell)
            indexes = {one.index_id for one in cell.routed} or {cell.index_id}
            if indexes <= paid and not estimate.index_is_built:
                estimate = estimate.model_copy(update={"index_is_shared": True})
            paid |= indexes
            estimates.append(estimate)
        return estimates

    def estimate(self, cell: Cell) -> Estimate:
        n_answers, expected = cell.n_answers, expected_work(cell)
        run = RunDir(self._results / cell.run_id)
        n_left = n_answers - len(run.intact_statuses())
        units = 1 if expected else len(cell.dataset.documents)
        indexed = self._earlier.index_phases(cell, per_document=expected is None)
        answered = self._earlier.answer_phases(cell)
        is_built = is_indexed(cell, self._results)
        index = self._predicted(cell, expected, expected.index if expected else None, units, indexed)
        builds = bool(index.calls) and not is_built and not self._fresh_index
        made = self._earlier.index_calls_made(cell) if builds else 0
        return Estimate(
            run_id=cell.run_id,
            index=index,
            answer=self._predicted(cell, expected, expected.query if expected else None, n_answers, answered),
            judging=self._judging(cell, run, n_answers, n_left),
            # As it is saved, without samples of texts.
            expected=expected and Expected.model_validate_json(expected.model_dump_json()),
            index_is_built=is_built,
            start=self._start(cell, 2 if is_built else 3) if n_left else NO_TIME,
            n_answers=n_answers,
            n_left=n_left,
            index_left=max(0.0, 1 - made / index.calls) if made and index.calls else 1.0,
        )

    def _to_embed(self, cell: Cell, work: Work | None) -> Range:
        """The share of its texts that have no stored vector. One of which the sample says nothing may have one."""
        if self._fresh_index or work is None or not work.sample or cell.embedder is None:
            return ALL
        cache = cache_dir() / "embeddings.sqlite"
        stored = stored_share(cache, embedder_cache_key(cell.embedder), work.sample)
        is_whole = len(work.sample) >= work.sampled_texts
        surely = stored if is_whole else max(0.0, stored - 1 / len(work.sample))
        return Range(low=1 - stored, high=1 - surely * work.sampled_texts / work.embedded_texts)

    @cached_property
    def _earlier(self) -> EarlierRuns:
        return EarlierRuns(self._results)

    def _predicted(
        self, cell: Cell, expected: Expected | None, work: Work | None, units: int, earlier: Sequence[Earlier]
    ) -> PhaseEstimate:
        rates, assumed = self._rates(cell)
        work = work if work is None or cell.generates else without_calls(work)
        notes = expected.notes if expected else ()
        if expected and expected.most:
            notes = (f"an upper bound: {expected.most}", *notes)
        task = Task(
            units=units,
            work=work,
            rates=_limits(rates, cell.generator, cell.embedder),
            earlier=earlier,
            price=lambda usage: usage_usd(self._prices, cell.identity["models"], usage),
            embedder_is_metered=cell.embedder is not None and provider_of(cell.embedder).counts_tokens,
            is_most=bool(expected and expected.most),
            notes=notes,
            to_embed=self._to_embed(cell, work),
        )
        found = predict(task)
        uses = {"generator": bool(work and work.calls), "embedder": bool(work and work.embedded_texts)}
        said = [
            note for role, note in assumed.items() if uses[role] and not any(one.spent.seconds for one in earlier)
        ]
        return found.model_copy(update={"notes": (*found.notes, *said)})

    def _rates(self, cell: Cell) -> tuple[Rates, dict[str, str]]:
        """The rates of the models of a configuration; by role, a note about a speed that is assumed."""
        rates, assumed = Rates(), dict[str, str]()
        if cell.generator is not None and cell.generates:
            rates, assumed["generator"] = self._generator_rates(cell, cell.generator)
        if cell.embedder is not None and not cell.embedder.is_none:
            speed, is_here = stored_speed(cell.embedder), provider_of(cell.embedder).is_here
            passages = speed.range_of("passages_per_s") if speed else None
            if passages is None:
                passages = _LOCAL_PASSAGES if is_here else _SERVER_PASSAGES
                assumed["embedder"] = f"{_words(passages)} passages/s of {cell.embedder.label} are assumed"
            rates = replace(rates, passages_per_s=passages)
        return rates, {role: note for role, note in assumed.items() if note}

    def _generator_rates(self, cell: Cell, model: ModelConfig) -> tuple[Rates, str]:
        note, rates = "", self._earlier.rates(cell)
        speed = stored_speed(model) or ModelSpeed()
        read, written = speed.range_of("prompt_tokens_per_s"), speed.range_of("completion_tokens_per_s")
        if read and written:
            return replace(rates, prompt_tokens_per_s=read, completion_tokens_per_s=written), ""
        if rates.call_s is not None:
            return rates, ""
        if provider_of(model).is_here:
            note = f"{_words(_LOCAL_PROMPT)} prompt and {_words(_LOCAL_COMPLETION)} completion tokens/s"
            rates = replace(rates, prompt_tokens_per_s=_LOCAL_PROMPT, completion_tokens_per_s=_LOCAL_COMPLETION)
        else:
            note = f"{_words(_SERVER_CALL_S)} seconds per call"
            rates = replace(rates, call_s=_SERVER_CALL_S.times(1 / cell.config.limits.concurrency))
        return rates, f"{note} of {model.label} are assumed: it was not measured on this machine"

    def _start(self, cell: Cell, processes: int) -> Range:
        """Seconds to start the processes of a run and to load its models, twice if both phases use them."""
        speeds = [speed for model in cell.models.values() if (speed := stored_speed(model))]
        busy = min(max(os.getloadavg()[0] / usable_cores(), 1.0), _BUSIEST)
        return _PROCESS_S.times(processes, processes * busy) + Range(
            low=0.0, high=2 * sum(speed.load_s for speed in speeds)
        )

    def _judging(self, cell: Cell, run: RunDir, n_answers: int, n_left: int) -> dict[str, PhaseEstimate]:
        """By evaluator, without those that already scored the finished run with the same judge and parameters."""
        plan, found = plan_evaluation(cell.config), dict[str, PhaseEstimate]()
        evaluations = run.evaluations() if not n_left else []
        for one in plan.evaluators:
            models = _called_models(one, plan)
            if models and not any(plan.would_make(one, record) for record in evaluations):
                earlier = self._earlier.judged(one, cell.spec.name, models)
                found[one.spec.name] = self._judged(plan, models, earlier, n_answers)
        return found

    def _judged(
        self, plan: EvaluationPlan, models: Mapping[str, Any], earlier: Sequence[Earlier], n_answers: int
    ) -> PhaseEstimate:
        if not earlier:
            by = " and ".join("judge" if role == "judge" else "embedder" for role in models)
            return PhaseEstimate(notes=(f"no earlier evaluation by this evaluator and {by}",))
        roles = {"generator": "judge", "embedder": "judge_embedder"}
        task = Task(
            units=n_answers,
            work=None,
            rates=_limits(Rates(), plan.judge, plan.embedder),
            earlier=earlier,
            price=lambda usage: usage_usd(
                self._prices, plan.models, {roles[role]: used for role, used in usage.items()}
            ),
            embedder_is_metered=True,
        )
        return predict(task)


def _limits(rates: Rates, generator: ModelConfig | None, embedder: ModelConfig | None) -> Rates:
    return replace(
        rates,
        requests_per_minute=generator.requests_per_minute if generator else None,
        tokens_per_minute=generator.tokens_per_minute if generator else None,
        embedder_tokens_per_minute=embedder.tokens_per_minute if embedder else None,
    )


def _words(span: Range) -> str:
    return f"{span.low:g} to {span.high:g}"


def _called_models(planned: PlannedEvaluator, plan: EvaluationPlan) -> dict[str, dict[str, Any]]:
    """Role -> identity of the models behind a server. An embedder in this process uses no tokens."""
    configs: dict[str, ModelConfig] = {model.role: model for model in (plan.judge, plan.embedder)}
    models = plan.models_of(planned)
    return {role: model for role, model in models.items() if provider_of(configs[role]).encoder is None}


def expected_work(cell: Cell, workload: Workload | None = None) -> Expected | None:
    """The work that a system and its routed systems expect; None if one of them gives no expectation."""
    if workload is None:
        corpus = Corpus(cell.corpus_digest, cell.dataset.documents)
        answer_tokens = cell.generator.max_tokens if cell.generator else 1
        workload = Workload(corpus, cell.dataset.queries, answer_tokens, cell.answer_style)
    own, *others = (
        one.spec.expect(one.index_params, one.answer_params, workload) if one.spec.expect else None
        for one in cell.systems
    )
    if own is None or not others:
        return own
    routes = zip(cell.spec.own_routes(cell.answer_params), cell.routed, others, strict=True)
    routed = [(route.display_name, one.index_id, expected) for route, one, expected in routes if expected]
    return joined_expectation(own, routed) if len(routed) == len(others) else None


def calibrate_models(cells: Sequence[Cell], reporter: Reporter, *, measure: bool) -> list[str]:
    """Measure the speed of free models, a few seconds each, unless done today. Calls no paid model and downloads
    nothing. Returns notes about weights to download and failures.
    """
    models = {repr(model): model for cell in cells for model in cell.models.values() if not model.is_none}
    notes = []
    for model in models.values():
        if size := missing_bytes(provider_of(model).weights(model)):
            notes.append(f"{model.label}: {size / 1e6:,.0f} MB of weights will be downloaded by the first run")
        elif measure and (note := calibrate(model, reporter.say)):
            notes.append(note)
    return notes


def say_total(cells: Sequence[Cell], estimator: Estimator, reporter: Reporter) -> None:
    """Print one line with the remaining cost of all configurations, before the first begins. Never raises."""
    with _errors_as_notes(reporter):
        estimates = estimator.estimate_all(cells)
        if any(estimate.n_left for estimate in estimates):
            budget = cells[0].config.budget
            allowed = likely_answers(budget, estimates)
            runs = f"all {len(cells)} runs" if len(cells) > 1 else "the run"
            judges = " without judges" if any(estimate.judging for estimate in estimates) else ""
            what = f"{runs}{' without the budget' if allowed else ''}{judges}"
            end = f"; the budget of {budget_text(budget)} is likely to allow {allowed}" if allowed else ""
            reporter.say(f"estimate of {what}: {in_one_line(estimates)}{end}")


def keep_estimate(
    cell: Cell, run: RunDir, prices: Prices, reporter: Reporter, *, fresh_index: bool = False
) -> None:
    """Estimate a run that begins, and save the estimate in the run. Never raises."""
    with _errors_as_notes(reporter):
        if run.estimate() is None and not run.intact_statuses():
            run.write_estimate(Estimator(run.path.parent, prices, fresh_index=fresh_index).estimate(cell))


def keep_speeds(cells: Sequence[Cell], results: Path, reporter: Reporter) -> None:
    """Store the speeds that runs measured without further calls, for later estimates. Never raises."""
    with _errors_as_notes(reporter):
        for cell in cells:
            if cell.generator is not None and not cell.generator.is_none:
                paths = (RunDir(results / cell.run_id).journal_path, IndexDir(results, cell.index_id).journal_path)
                calls = [
                    call for path in paths for call in latest_calls(path) if call.paid_by in ("", cell.run_id)
                ]
                keep_measured(cell.generator, [call for call in calls if call.role == "generator"])


@contextmanager
def _errors_as_notes(reporter: Reporter) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        reporter.say(f"  note: no estimate ({type(error).__name__}: {' '.join(str(error).split())[:200]})")
