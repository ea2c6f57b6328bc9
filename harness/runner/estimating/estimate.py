"""Estimates the cost of configurations from the expectations of their systems, corrected by earlier runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import ModelConfig
from harness.core.records import Estimate, EvaluationRecord, Expected, PhaseEstimate, Usage, Work
from harness.display.text_format import duration
from harness.models.providers import provider_of
from harness.protocols import Corpus, Workload
from harness.runner.estimating.earlier_runs import EarlierRuns, SimilarityKey, server_of
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator, plan_evaluation
from harness.runner.machine_info import describe_machine
from harness.runner.plan import Cell, index_dirs
from harness.runner.progress import Reporter
from harness.runner.routed_systems import joined_expectation
from harness.statistics.estimates import Allowed, Rates, Task, predict
from harness.statistics.estimates.remaining_cost import bases, phases_left, totals
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir

SAMPLE_FIRST = "run a small sample first, e.g. --set dataset.sample.per_type=1, and estimate again"


class Estimator:
    """Estimates configurations from the runs in a results folder. Calls no model, starts nothing and writes
    nothing.
    """

    def __init__(self, results: Path, prices: Prices, *, without: Sequence[str] = ()) -> None:
        """`without`: run ids to ignore."""
        self._results = results
        self._prices = prices
        self._without = without

    def estimate_all(self, cells: Sequence[Cell], paid: set[str] | None = None) -> list[Estimate]:
        """One estimate per configuration. The first configuration that uses an index pays for it. `paid` holds the
        ids of indexes that earlier ones pay for, and is extended.
        """
        paid = set() if paid is None else paid
        estimates = []
        for cell in cells:
            estimate = self.estimate(cell)
            indexes = {one.cell.index_id for one in cell.routed} or {cell.index_id}
            if indexes <= paid:
                estimate = estimate.model_copy(update={"index_is_built": True})
            paid |= indexes
            estimates.append(estimate)
        return estimates

    def estimate(self, cell: Cell) -> Estimate:
        """The estimate of the whole run, with the number of answers that are left."""
        n_answers, expected = cell.n_answers, expected_work(cell)
        run = RunDir(self._results / cell.run_id)
        n_left = n_answers - len(run.intact_statuses())
        return Estimate(
            run_id=cell.run_id,
            index=self._index(cell, expected),
            answer=self._answers(cell, expected, n_answers),
            judging=self._judging(cell, run, n_answers, n_left),
            expected=expected,
            index_is_built=all(index.record() is not None for index in index_dirs(cell, self._results)),
            n_answers=n_answers,
            n_left=n_left,
        )

    @cached_property
    def _earlier(self) -> EarlierRuns:
        return EarlierRuns(self._results, without=self._without)

    @cached_property
    def _machine(self) -> dict[str, Any]:
        return describe_machine()

    def _index(self, cell: Cell, expected: Expected | None) -> PhaseEstimate:
        wanted, per_document = self._similarity_key(cell), expected is None
        documents = len(cell.dataset.documents)
        work = _without_generator(expected.index, cell) if expected else None
        return predict(
            Task(
                units=documents if per_document else 1,
                work=work,
                rates=self._rates(cell, "index"),
                earlier=self._earlier.index_phases(wanted, per_document=per_document),
                price=lambda usage: self._usd(cell, usage),
                embedder_is_metered=_embedder_is_metered(cell),
                generator=_allowed(cell.generator),
                embedder=_allowed(cell.embedder),
                size=documents if work is None else work.embedded_texts,
                timed=self._earlier.index_times(wanted, per_document=per_document),
                assumed=_assumed(expected),
            )
        )

    def _answers(self, cell: Cell, expected: Expected | None, n_answers: int) -> PhaseEstimate:
        wanted = self._similarity_key(cell)
        return predict(
            Task(
                units=n_answers,
                work=_without_generator(expected.query, cell) if expected else None,
                rates=self._rates(cell, "answer"),
                earlier=self._earlier.answer_phases(wanted),
                price=lambda usage: self._usd(cell, usage),
                embedder_is_metered=_embedder_is_metered(cell),
                generator=_allowed(cell.generator),
                embedder=_allowed(cell.embedder),
                size=n_answers,
                timed=self._earlier.answer_times(wanted),
                assumed=_assumed(expected),
            )
        )

    def _rates(self, cell: Cell, phase: Any) -> Rates:
        if not cell.generates:
            return Rates()
        return self._earlier.rates(self._similarity_key(cell), phase)

    def _usd(self, cell: Cell, usage: Mapping[str, Usage]) -> float | None:
        return usage_usd(self._prices, cell.identity["models"], usage)

    def _similarity_key(self, cell: Cell) -> SimilarityKey:
        system = cell.identity["system"]
        return SimilarityKey(
            system=cell.spec.name,
            index_kind=cell.spec.stored_index_kind,
            index=system["index"],
            answer=system["answer"],
            dataset=cell.dataset.name,
            server=server_of(cell.identity),
            is_local=cell.generator is not None and provider_of(cell.generator).is_here,
            concurrency=cell.config.limits.concurrency,
            machine=self._machine,
        )

    def _judging(self, cell: Cell, run: RunDir, n_answers: int, n_left: int) -> dict[str, PhaseEstimate]:
        """Estimates by evaluator, without those that already scored the finished run with the same judge and
        parameters.
        """
        plan = plan_evaluation(cell.config)
        evaluations = run.evaluations() if not n_left else []
        asking = [
            one
            for one in plan.evaluators
            if _called_models(one, plan) and not any(plan.would_make(one, record) for record in evaluations)
        ]
        return {one.spec.name: self._judged(one, plan, cell.spec.name, n_answers) for one in asking}

    def _judged(
        self, planned: PlannedEvaluator, plan: EvaluationPlan, system: str, n_answers: int
    ) -> PhaseEstimate:
        models = _called_models(planned, plan)
        wanted = planned.spec.version, planned.params.model_dump(mode="json")

        def closeness(record: EvaluationRecord, own: str) -> int:
            """Prefers the same evaluator parameters, then the same system: long contexts need more judge calls."""
            return 2 * ((record.version, record.params) == wanted) + (own == system)

        alike = self._earlier.judged(planned.spec.name, models, closeness)
        if not alike:
            by = " and ".join("judge" if role == "judge" else "embedder" for role in models)
            return PhaseEstimate(notes=(f"no earlier evaluation by this evaluator and {by}",))
        share = n_answers / sum(n for _, n in alike)
        used = {role: _scaled((record.cost.usage.get(role) for record, _ in alike), share) for role in models}
        judge, embedder = (used.get(role, Usage()) for role in ("judge", "judge_embedder"))
        live = [(record, n) for record, n in alike if not record.cost.replayed_calls and record.cost.wall_s]
        seconds = sum(record.cost.wall_s or 0.0 for record, _ in live)
        least_s = max(
            _allowed(model).seconds(usage.calls, usage.input_tokens + usage.output_tokens)
            for model, usage in ((plan.judge, judge), (plan.embedder, embedder))
        )
        return PhaseEstimate(
            calls=judge.calls + embedder.calls,
            input_tokens=judge.input_tokens,
            output_tokens=judge.output_tokens,
            cached_tokens=judge.cached_tokens,
            embedder_tokens=embedder.input_tokens,
            usd=usage_usd(self._prices, plan.models, used),
            seconds=max(seconds * n_answers / sum(n for _, n in live), least_s) if live else None,
            basis=f"{len(alike)} earlier {'evaluation' if len(alike) == 1 else 'evaluations'}",
        )


def _called_models(planned: PlannedEvaluator, plan: EvaluationPlan) -> dict[str, dict[str, Any]]:
    """Role -> identity of the models behind a server. An embedder in this process uses no tokens."""
    configs: dict[str, ModelConfig] = {model.role: model for model in (plan.judge, plan.embedder)}
    models = plan.models_of(planned)
    return {role: model for role, model in models.items() if provider_of(configs[role]).encoder is None}


def _scaled(used: Iterable[Usage | None], share: float) -> Usage:
    total = sum(filter(None, used), Usage())
    return Usage(**{name: round(count * share) for name, count in total.model_dump().items()})


def expected_work(cell: Cell) -> Expected | None:
    """The work of a run as its system expects it, before anything was measured. None if the system gives none."""
    corpus = Corpus(cell.corpus_digest, cell.dataset.documents)
    answer_tokens = cell.generator.max_tokens if cell.generator else 1
    return expected_of(cell, Workload(corpus, cell.dataset.queries, answer_tokens, cell.answer_style))


def expected_of(cell: Cell, workload: Workload) -> Expected | None:
    """The expected work of its system and of the systems to which it routes queries. None if one of them gives no
    expectation.
    """
    own = _own_expected(cell, workload)
    if own is None or not cell.routed:
        return own
    routed = [(one.route.spoken, one.cell.index_id, _own_expected(one.cell, workload)) for one in cell.routed]
    known = [(name, index_id, expected) for name, index_id, expected in routed if expected is not None]
    return joined_expectation(own, known) if len(known) == len(routed) else None


def _own_expected(cell: Cell, workload: Workload) -> Expected | None:
    expect = cell.spec.expect
    return expect(cell.index_params, cell.answer_params, workload) if expect else None


def _without_generator(work: Work, cell: Cell) -> Work:
    """The work, without generator calls if the configuration has no generator."""
    return work if cell.generates else work.model_copy(update={"calls": ()})


def _embedder_is_metered(cell: Cell) -> bool:
    return cell.embedder is not None and provider_of(cell.embedder).counts_tokens


def _allowed(model: ModelConfig | None) -> Allowed:
    return Allowed(model.requests_per_minute, model.tokens_per_minute) if model else Allowed()


def _assumed(expected: Expected | None) -> tuple[str, ...]:
    if expected is None:
        return ()
    return (f"at most: {expected.most}", *expected.notes) if expected.most else expected.notes


def say_total(cells: Sequence[Cell], estimator: Estimator, reporter: Reporter) -> None:
    """Print one line with the remaining cost of all configurations, before the first begins. Never raises."""
    with _errors_as_notes(reporter):
        estimates = estimator.estimate_all(cells)
        phases = [phase for estimate in estimates for phase in phases_left(estimate)]
        if phases:
            judged = ", without judges" if any(estimate.judging for estimate in estimates) else ""
            reporter.say(f"estimate of all {len(cells)} runs{judged}: {in_one_line(phases)}")


def keep_estimate(cell: Cell, run: RunDir, prices: Prices, reporter: Reporter) -> None:
    """Estimate a run that begins, save the estimate in the run and print it. Never raises."""
    with _errors_as_notes(reporter):
        if run.estimate() is None and not run.intact_statuses():
            estimate = Estimator(run.path.parent, prices).estimate(cell)
            run.write_estimate(estimate)
            judged = " without judges" if estimate.judging else ""
            reporter.say(f"  estimate{judged}: {in_one_line(phases_left(estimate))}")


@contextmanager
def _errors_as_notes(reporter: Reporter) -> Iterator[None]:
    """A failed estimate is one line of output and does not stop the run."""
    try:
        yield
    except Exception as error:
        reporter.say(f"  note: no estimate ({type(error).__name__}: {' '.join(str(error).split())[:200]})")


def in_one_line(phases: Sequence[PhaseEstimate]) -> str:
    """`about 12 min, 410,000 tokens, $0.00; from formula, corrected by 4 runs`."""
    summed = totals(phases)
    seconds, usd = summed["seconds"], summed["usd"]
    tokens = [summed[name].value for name in ("input_tokens", "output_tokens")]
    known = [value for value in tokens if value is not None]
    time_known = seconds.is_whole and seconds.value is not None
    words = [
        f"about {duration(seconds.value or 0.0)}" if time_known else "an unknown time",
        f"{sum(known):,.0f} tokens" if known else "unknown tokens",
        f"${usd.value:.2f}" if usd.is_whole and usd.value is not None else "unknown dollars",
    ]
    return f"{', '.join(words)}; from {' and '.join(bases(phases))}"
