"""Sensitivity of measures: perturbed answers are scored like any run, and compared with the original ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean
from typing import Literal

import numpy as np

from harness.api.config_building import evaluation_config
from harness.api.evaluating import EvaluateOptions, Evaluation, evaluate_all
from harness.core.errors import ConfigError, MissingDependency, nearest
from harness.core.hashing import short_digest
from harness.display.text_format import file_name
from harness.extensions.meta_evaluation.answers_as_run import scored_values
from harness.extensions.meta_evaluation.perturbations import Perturbation
from harness.extensions.meta_evaluation.perturbed_runs import (
    FEWEST_CASES,
    BaseAnswer,
    PerturbationChoice,
    PerturbedRuns,
    swap_answers,
)
from harness.protocols import Measure, Sides
from harness.registry import EVALUATORS
from harness.runner.evaluating.plan import PlannedEvaluator, plan_evaluation
from harness.statistics.confidence_intervals import (
    ENOUGH,
    FEWEST,
    UNKNOWN,
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

FOLDER = "sensitivity"


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
    frame = Frame.of(runs.base)
    before = scored_values(runs.base.scores())
    found = []
    for swap, run in runs.swapped:
        after, n_swapped = scored_values(run.scores()), len(run.sample())
        for measure in measures:
            if measure.failure_value is not None and before.get(measure.name):
                both = (before[measure.name], after.get(measure.name, {}))
                found.append(_effect(measure, swap, both, n_swapped, frame))
    return found


def by_measure(effects: Sequence[PerturbationEffect]) -> list[tuple[Measure, list[PerturbationEffect]]]:
    groups: dict[str, list[PerturbationEffect]] = {}
    for effect in effects:
        groups.setdefault(effect.measure.name, []).append(effect)
    return [(own[0].measure, own) for own in groups.values()]


def _effect(
    measure: Measure,
    swap: Perturbation,
    values: tuple[Mapping[str, float], Mapping[str, float]],
    n_swapped: int,
    frame: Frame,
) -> PerturbationEffect:
    shared = sorted(values[0].keys() & values[1].keys())
    before, after = (tuple(side[query] for query in shared) for side in values)
    clusters = numbers_of([frame.clusters.get(query, query) for query in shared])
    n_clusters = len(set(clusters.tolist()))
    sign = 1 if measure.higher_is_better else -1
    was, became = sign * np.array(before), sign * np.array(after)
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
        before,
        after,
        n_swapped,
        n_clusters,
        drop=float(drops.mean()) if shared else None,
        interval=interval,
        auc=area,
        n_lower=int((drops > 0).sum()),
        verdict=verdict_by_rule(swap.changes, measure, drops.tolist(), interval, area.value or 0.0),
    )


def verdict_by_rule(
    changes: Sides, measure: Measure, drops: Sequence[float], interval: Interval, area: float
) -> Noticed:
    """The verdict from the drops, the interval of their mean and the AUC: see docs/sensitivity.md."""
    if measure.reads and not measure.reads & changes:
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
    evaluators: tuple[str, ...]
    swaps: tuple[str, ...]
    base: BaseAnswer
    sweeps: tuple[str, ...] = ()
    """Each as `EVALUATOR.PARAMETER=VALUE,VALUE`."""
    settings: tuple[str, ...] = ()
    """Each as `KEY=VALUE`, before those of the user."""
    optional: frozenset[str] = frozenset()
    """Evaluators that are left out, with a note, if their packages are missing."""


PRESETS = {
    "kg-eval": PerturbationPreset(
        ("kg", "kg_nlp", "ragas"),
        (),
        "reference",
        ("kg_nlp.tau=0.5,0.6,0.7,0.8,0.9", "kg_nlp.delta=0.3,0.5,0.8,1.2"),
        ("per_evaluator.ragas.metrics=[context_relevance,response_relevancy,faithfulness,factual_correctness]",),
        frozenset({"ragas"}),
    ),
    "rag-eval": PerturbationPreset(("rag_eval",), ("query", "generic", "contexts", "wrong_answer"), "own"),
}
"""KG-eval: references against wrong answers, beside the four metrics of RAGAS, with its two constants varied.
RAG-Eval: a system's own answers, answers to another query, and a generic answer."""


@dataclass(frozen=True)
class ParameterSweep:
    evaluator: str
    parameter: str
    values: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"per_evaluator.{self.evaluator}.{self.parameter}"


@dataclass(frozen=True)
class SensitivityOptions:
    choice: PerturbationChoice = field(default_factory=PerturbationChoice)
    evaluate: EvaluateOptions = field(default_factory=EvaluateOptions)
    asks_judges: bool = True
    """False: evaluators that need a judge are left out."""
    sweeps: tuple[ParameterSweep, ...] = ()
    optional: frozenset[str] = frozenset()
    """Evaluators that are left out, with a note, if their packages are missing."""


@dataclass(frozen=True)
class SweptEffects:
    sweep: ParameterSweep
    value: str
    effects: tuple[PerturbationEffect, ...]


@dataclass(frozen=True)
class SensitivityResult:
    runs: PerturbedRuns
    evaluation: Evaluation
    evaluators: tuple[str, ...]
    measures: tuple[Measure, ...]
    effects: tuple[PerturbationEffect, ...]
    swept: tuple[SweptEffects, ...] = ()
    notes: tuple[str, ...] = ()


def measure_sensitivity(run: RunDir, options: SensitivityOptions) -> SensitivityResult:
    """Create the perturbed runs, score them, and compare. Judgements are saved in the journal of all evaluations.

    ConfigError: nothing to perturb, or no evaluator is left.
    """
    planned, notes = _planned(run, options)
    # Fail before any judge is called.
    sweeps = _planned_sweeps(run, options)
    names = tuple(one.spec.name for one in planned)
    answers = {"base": options.choice.base, "n": options.choice.n, "seed": options.choice.seed}
    folder = options.evaluate.results / FOLDER / f"{run.run_id}--{short_digest(answers)}"
    swapped = swap_answers(run, options.choice, folder)
    evaluation = evaluate_all(swapped.runs, replace(options.evaluate, evaluators=names))
    # Scores of an earlier command are ignored if the evaluator refused now.
    refused = {name for outcome, _ in evaluation.outcomes for name, _ in outcome.refusals}
    measures = tuple(measure for one in planned if one.spec.name not in refused for measure in one.measures)
    if evaluation.stopped:
        return SensitivityResult(swapped, evaluation, names, measures, (), (), (*swapped.notes, *notes))
    effects = tuple(swap_effects(swapped, measures))
    if not effects:
        notes.append("no measure has a value for the original answers: nothing can be compared")
    swept = []
    wrong_answers = replace(options.choice, swaps=("wrong_answer",))
    for sweep, value, evaluate, of_sweep in sweeps:
        # The scores of each value are kept in runs of their own.
        name = file_name(f"{sweep.evaluator}-{sweep.parameter}-{value}")
        runs = swap_answers(run, wrong_answers, folder / name)
        if evaluate_all(runs.runs, evaluate).stopped:
            break
        swept.append(SweptEffects(sweep, value, tuple(swap_effects(runs, of_sweep))))
    return SensitivityResult(swapped, evaluation, names, measures, effects, tuple(swept), (*swapped.notes, *notes))


def chosen_swaps(
    name: str | None = None,
    base: BaseAnswer | None = None,
    swaps: tuple[str, ...] = (),
    n: int | None = None,
    seed: int = 0,
) -> tuple[PerturbationChoice, PerturbationPreset | None]:
    """The checked choice, from the preset of that name where nothing is given. ConfigError: an unknown name."""
    if name is not None and name not in PRESETS:
        raise ConfigError(f"there is no preset '{name}'", nearest(name, PRESETS))
    preset = PRESETS[name] if name else None
    base = base or (preset.base if preset else PerturbationChoice().base)
    choice = PerturbationChoice(base, swaps or (preset.swaps if preset else ()), n, seed)
    _ = choice.chosen
    return choice, preset


def parse_sweep(text: str) -> ParameterSweep:
    """`EVALUATOR.PARAMETER=VALUE,VALUE`. ConfigError: anything else."""
    key, equals, values = text.partition("=")
    evaluator, dot, parameter = key.strip().partition(".")
    found = tuple(filter(None, (value.strip() for value in values.split(","))))
    if not (equals and dot and parameter and found):
        raise ConfigError(f"--sweep {text!r} is no sweep", "write EVALUATOR.PARAMETER=VALUE,VALUE")
    EVALUATORS.load(evaluator)
    return ParameterSweep(evaluator, parameter, found)


def _planned(run: RunDir, options: SensitivityOptions) -> tuple[Sequence[PlannedEvaluator], list[str]]:
    """The evaluators, without those that need a judge if none may be called, and optional ones not installed."""
    given = options.evaluate
    config = evaluation_config(run, given.config, given.evaluators, given.settings)
    found: list[PlannedEvaluator] = []
    judging: list[str] = []
    notes: list[str] = []
    for planned in plan_evaluation(config).evaluators:
        name = planned.spec.name
        if "judge" in planned.spec.roles and not options.asks_judges:
            judging.append(name)
            continue
        try:
            if name in options.optional and planned.spec.preflight:
                planned.spec.preflight(planned.params)
            found.append(planned)
        except MissingDependency as missing:
            notes.append(f"left out: {name}: {missing}")
    names = ", ".join(judging)
    if not found:
        what = f"each of these evaluators asks a judge: {names}"
        raise ConfigError(what, "leave out --no-judge, or name others: -e")
    return found, [*notes, *([f"left out, because they need a judge: {names}"] if names else [])]


def _planned_sweeps(
    run: RunDir, options: SensitivityOptions
) -> Sequence[tuple[ParameterSweep, str, EvaluateOptions, Sequence[Measure]]]:
    """Each value of the swept parameters, with its options and metrics. ConfigError: no such parameter or value,
    or it needs a judge and judges are disabled.
    """
    found = []
    for sweep in options.sweeps:
        for value in sweep.values:
            settings = (*options.evaluate.settings, f"{sweep.key}={value}")
            evaluate = replace(options.evaluate, evaluators=(sweep.evaluator,), settings=settings)
            config = evaluation_config(run, evaluate.config, evaluate.evaluators, settings)
            (planned,) = plan_evaluation(config).evaluators
            if "judge" in planned.spec.roles and not options.asks_judges:
                what = f"--sweep {sweep.evaluator}.{sweep.parameter} asks a judge"
                raise ConfigError(what, "leave out --no-judge, or the sweep")
            found.append((sweep, value, evaluate, planned.measures))
    return found
