"""Sensitivity of measures: perturbed answers are scored like any run, and compared with the original ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.api.config_building import evaluation_config
from harness.api.evaluating import EvaluateOptions, Evaluation, evaluate_all
from harness.core.errors import ConfigError, MissingDependency, nearest
from harness.core.hashing import short_digest
from harness.display.text_format import file_name
from harness.extensions.meta_evaluation.correlation_columns import computed_values
from harness.extensions.meta_evaluation.perturbed_runs import (
    FEWEST_CASES,
    BaseAnswer,
    Perturbation,
    PerturbationChoice,
    PerturbedRuns,
    swap_answers,
)
from harness.protocols import Measure, Side
from harness.registry import EVALUATORS
from harness.runner.evaluating.plan import PlannedEvaluator, plan_evaluation
from harness.statistics.confidence_intervals import (
    ENOUGH,
    FEWEST,
    UNKNOWN,
    Array,
    Interval,
    limits,
    ratio_of_sums,
    wilson,
)
from harness.statistics.correlation import Auc, QueryScores, auc
from harness.statistics.run_frame import Frame
from harness.statistics.sampling_design import numbers_of
from harness.store import RunDir

Noticed = Literal["notices", "in part", "hardly", "misses", "prefers it", "undecided", "too few", "cannot notice"]
_CLEAR, _PART = 0.9, 0.7
"""AUC from which a measure notices a perturbation, and from which in part."""
_NOTHING = 0.05
"""Share of a measure's span: if the mean's change is shown to be smaller, the perturbation is missed."""


@dataclass(frozen=True)
class PerturbationEffect:
    """One measure and one perturbation, over the answers with a value before and after."""

    measure: Measure
    swap: Perturbation
    before: tuple[float, ...]
    after: tuple[float, ...]
    """Of the same answers, in the same order."""
    n_swapped: int
    n_clusters: int
    drop: float | None
    """How much worse the mean is afterwards; negative: better."""
    interval: Interval
    auc: Auc
    """How well the value distinguishes unchanged from changed answers, over all queries; 1: perfectly."""
    n_lower: int
    verdict: Noticed

    @property
    def n(self) -> int:
        return len(self.before)

    @property
    def mean_before(self) -> float | None:
        return fmean(self.before) if self.before else None

    @property
    def mean_after(self) -> float | None:
        return fmean(self.after) if self.after else None

    @property
    def lower(self) -> Interval:
        """Lower limit of the share of answers that become worse (Wilson; none if answers share clusters)."""
        return wilson(self.n_lower, self.n) if self.n_clusters == self.n else UNKNOWN


def swap_effects(runs: PerturbedRuns, measures: Sequence[Measure]) -> list[PerturbationEffect]:
    """Of each measure with a better direction, for each perturbation; measures without any value are left out."""
    clusters = Frame.of(runs.base).clusters
    before = computed_values(runs.base)
    known = [one for one in measures if one.failure_value is not None and before.get(one.name)]
    found = []
    for swap, run in runs.swapped:
        after, n_swapped = computed_values(run), len(run.sample())
        for measure in known:
            values = (before[measure.name], after.get(measure.name, {}))
            shared = sorted(values[0].keys() & values[1].keys())
            numbers = numbers_of([clusters.get(query, query) for query in shared])
            was, became = (np.array([own[query] for query in shared], np.float64) for own in values)
            found.append(_effect(measure, swap, was, became, numbers, n_swapped))
    return found


def by_measure(effects: Sequence[PerturbationEffect]) -> list[tuple[Measure, list[PerturbationEffect]]]:
    groups: dict[str, list[PerturbationEffect]] = {}
    for effect in effects:
        groups.setdefault(effect.measure.name, []).append(effect)
    return [(own[0].measure, own) for own in groups.values()]


def _effect(
    measure: Measure, swap: Perturbation, before: Array, after: Array, clusters: NDArray[np.int64], n_swapped: int
) -> PerturbationEffect:
    """`clusters`: the number of each answer's cluster, from 0."""
    n_clusters = len(set(clusters.tolist()))
    sign = 1 if measure.higher_is_better else -1
    was, became = sign * before, sign * after
    drops = was - became
    interval = UNKNOWN
    if n_clusters >= FEWEST and np.ptp(drops) > 0:
        # Clusters of queries are the independent units.
        sums = np.bincount(clusters, weights=drops).astype(np.float64)
        sizes = np.bincount(clusters).astype(np.float64)
        span = measure.range[1] - measure.range[0] if measure.range else inf
        interval = limits(ratio_of_sums(sums[:, None], sizes), n_clusters, (-span, span))
    own = (clusters == number for number in range(n_clusters))
    area = auc(QueryScores(was[rows].tolist(), became[rows].tolist()) for rows in own)
    # No interval for few clusters, or if no resample orders the values differently.
    if n_clusters < ENOUGH or area.interval.low == area.interval.high:
        area = Auc(area.value, UNKNOWN)
    return PerturbationEffect(
        measure,
        swap,
        tuple(before.tolist()),
        tuple(after.tolist()),
        n_swapped,
        n_clusters,
        drop=float(drops.mean()) if len(drops) else None,
        interval=interval,
        auc=area,
        n_lower=int((drops > 0).sum()),
        verdict=verdict_by_rule(swap.side, measure, drops.tolist(), interval, area.value or 0.0),
    )


def verdict_by_rule(
    changed: Side, measure: Measure, drops: Sequence[float], interval: Interval, area: float
) -> Noticed:
    """The verdict from the drops, the interval of their mean and the AUC: see docs/sensitivity.md."""
    if measure.reads and changed not in measure.reads:
        return "cannot notice"
    if len(drops) < FEWEST_CASES:
        return "too few"
    if not any(drops):
        return "misses" if len(drops) >= ENOUGH else "undecided"
    low, high = interval
    if low is None or high is None:
        # Equal differences need no interval; for others it is unknown.
        low, high = (drops[0], drops[0]) if len(set(drops)) == 1 else (-inf, inf)
    if high < 0:
        return "prefers it"
    if low > 0:
        return "notices" if area >= _CLEAR else "in part" if area >= _PART else "hardly"
    span = measure.range[1] - measure.range[0] if measure.range else 0.0
    return "misses" if max(-low, high) <= _NOTHING * span and area < _PART else "undecided"


@dataclass(frozen=True)
class PerturbationPreset:
    evaluators: tuple[str, ...] = ()
    swaps: tuple[str, ...] = ()
    base: BaseAnswer = "reference"
    sweeps: tuple[str, ...] = ()
    """Each as `EVALUATOR.PARAMETER=VALUE,VALUE`."""
    settings: tuple[str, ...] = ()
    """Each as `KEY=VALUE`, before those of the user."""
    optional: frozenset[str] = frozenset()
    """Evaluators that are left out, with a note, if their packages are missing."""


PRESETS = {
    "kg-eval": PerturbationPreset(
        ("kg", "kg_nlp", "ragas"),
        sweeps=("kg_nlp.tau=0.5,0.6,0.7,0.8,0.9", "kg_nlp.delta=0.3,0.5,0.8,1.2"),
        settings=(
            "per_evaluator.ragas.metrics=[context_relevance,response_relevancy,faithfulness,factual_correctness]",
        ),
        optional=frozenset({"ragas"}),
    ),
    "rag-eval": PerturbationPreset(("rag_eval",), ("query", "generic", "contexts", "wrong_answer"), "own"),
}
"""KG-eval: references against wrong answers, beside the four metrics of RAGAS, with its two constants varied.
RAG-Eval: a system's own answers, answers to another query, and a generic answer."""


def preset_named(name: str | None) -> PerturbationPreset:
    """None: one that sets nothing. ConfigError: an unknown name."""
    if name is None:
        return PerturbationPreset()
    if name not in PRESETS:
        raise ConfigError(f"there is no preset '{name}'", nearest(name, PRESETS))
    return PRESETS[name]


@dataclass(frozen=True)
class SweptValue:
    """A value of an evaluator's parameter, and its effects once they are measured."""

    evaluator: str
    parameter: str
    value: str
    effects: tuple[PerturbationEffect, ...] = ()

    @property
    def key(self) -> str:
        return f"per_evaluator.{self.evaluator}.{self.parameter}"

    @property
    def comparable(self) -> list[PerturbationEffect]:
        """The effects with values, on metrics that read what was changed."""
        return [one for one in self.effects if one.n and one.verdict != "cannot notice"]


def parse_sweep(text: str) -> list[SweptValue]:
    """`EVALUATOR.PARAMETER=VALUE,VALUE`. ConfigError: anything else."""
    key, equals, values = text.partition("=")
    evaluator, dot, parameter = key.strip().partition(".")
    found = list(filter(None, (value.strip() for value in values.split(","))))
    if not (equals and dot and parameter and found):
        raise ConfigError(f"--sweep {text!r} is no sweep", "write EVALUATOR.PARAMETER=VALUE,VALUE")
    EVALUATORS.load(evaluator)
    return [SweptValue(evaluator, parameter, value) for value in found]


@dataclass(frozen=True)
class SensitivityResult:
    runs: PerturbedRuns
    evaluation: Evaluation
    evaluators: tuple[str, ...]
    effects: tuple[PerturbationEffect, ...]
    swept: tuple[SweptValue, ...]
    notes: tuple[str, ...]


def measure_sensitivity(
    run: RunDir,
    choice: PerturbationChoice,
    evaluate: EvaluateOptions,
    *,
    asks_judges: bool = True,
    optional: frozenset[str] = frozenset(),
    sweeps: Sequence[SweptValue] = (),
) -> SensitivityResult:
    """Create the perturbed runs, score them, and compare. Judgements are saved in the journal of all evaluations.

    `asks_judges`: False leaves out evaluators that need a judge; `optional`: evaluators that are left out, with a
    note, if their packages are missing. ConfigError: nothing to perturb, or no evaluator is left.
    """
    planned, notes = _planned(run, evaluate, asks_judges=asks_judges, optional=optional)
    # All values are planned first, so that a wrong one fails before any judge is called.
    planned_sweeps = []
    for one in sweeps:
        settings = (*evaluate.settings, f"{one.key}={one.value}")
        own = replace(evaluate, evaluators=(one.evaluator,), settings=settings)
        planned_sweeps.append((one, own, _planned(run, own, asks_judges=asks_judges)[0]))
    names = tuple(one.spec.name for one in planned)
    answers = {"base": choice.base, "n": choice.n, "seed": choice.seed}
    folder = evaluate.results / "sensitivity" / f"{run.run_id}--{short_digest(answers)}"
    swapped = swap_answers(run, choice, folder)
    evaluation = evaluate_all(swapped.runs, replace(evaluate, evaluators=names))
    effects: list[PerturbationEffect] = []
    swept = []
    if not evaluation.stopped:
        # Scores of an earlier command are ignored if the evaluator refused now.
        refused = {name for outcome in evaluation.outcomes for name, _ in outcome.refusals}
        effects = swap_effects(swapped, _measures([one for one in planned if one.spec.name not in refused]))
        if not effects:
            notes.append("no measure has a value for the original answers: nothing can be compared")
        for one, own, of_sweep in planned_sweeps:
            # The scores of each value are kept in runs of their own.
            name = file_name(f"{one.evaluator}-{one.parameter}-{one.value}")
            runs = swap_answers(run, replace(choice, swaps=("wrong_answer",)), folder / name)
            if evaluate_all(runs.runs, own).stopped:
                break
            swept.append(replace(one, effects=tuple(swap_effects(runs, _measures(of_sweep)))))
    return SensitivityResult(swapped, evaluation, names, tuple(effects), tuple(swept), (*swapped.notes, *notes))


def _measures(planned: Sequence[PlannedEvaluator]) -> list[Measure]:
    return [measure for one in planned for measure in one.measures]


def _planned(
    run: RunDir, evaluate: EvaluateOptions, *, asks_judges: bool, optional: frozenset[str] = frozenset()
) -> tuple[list[PlannedEvaluator], list[str]]:
    """The evaluators, without those that need a judge if none may be called, and optional ones not installed."""
    config = evaluation_config(run, evaluate.config, evaluate.evaluators, evaluate.settings)
    found: list[PlannedEvaluator] = []
    judging: list[str] = []
    notes: list[str] = []
    for planned in plan_evaluation(config).evaluators:
        name = planned.spec.name
        if "judge" in planned.spec.roles and not asks_judges:
            judging.append(name)
            continue
        try:
            if name in optional and planned.spec.preflight:
                planned.spec.preflight(planned.params)
            found.append(planned)
        except MissingDependency as missing:
            notes.append(f"left out: {name}: {missing}")
    names = ", ".join(judging)
    if not found:
        what = f"each of these evaluators asks a judge: {names}"
        raise ConfigError(what, "leave out --no-judge, or name others: -e, --sweep")
    return found, [*notes, *([f"left out, because they need a judge: {names}"] if names else [])]
