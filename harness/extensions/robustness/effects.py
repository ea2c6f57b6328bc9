"""Runs the configs of runs over perturbed queries and documents, and compares them query by query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from harness.api.config_building import prices_of_runs
from harness.api.running import RunOptions, run_apart, run_bench
from harness.api.untrusted_config import config_to_run_again
from harness.cli.evaluate import resumable
from harness.config import BenchConfig
from harness.core.bounded_files import without_home
from harness.core.errors import ConfigError, DataError, HarnessError
from harness.core.records import Reference, RunRecord
from harness.display import counted
from harness.evaluators.answer import is_right
from harness.extensions.robustness.dataset import (
    NAME,
    PERTURBATIONS,
    PerturbedParams,
    perturbed_config,
    perturbed_sample,
)
from harness.extensions.robustness.perturbations import Perturbed, whole
from harness.extensions.robustness.saved_effects import (
    FOLDER,
    Effect,
    JudgeEffect,
    Robustness,
    effects_file,
    saved_robustness,
)
from harness.report.comparison.compare import paired
from harness.report.comparison.runs import drawn_queries, refuse_unusable
from harness.report.measures import known_measures
from harness.report.records import ANSWERED
from harness.report.verdict.findings import find
from harness.report.view import RunView, load_groups, load_views
from harness.runner.plan import Cell, is_finished, plan_cells
from harness.statistics.paired_comparison import MeasureComparison, compare_measure
from harness.statistics.prices import Prices
from harness.store import RunDir, name_for, rows_by_id
from harness.store.score_files import refuse_link

Records = Mapping[str, RunRecord]
"""By query id."""
Texts = Callable[[str, Cell], "Path | None"]
"""texts(perturbation, original cell) -> a file of queries that a model wrote; None: no model writes them."""


@dataclass(frozen=True)
class _Planned:
    view: RunView
    measure: str
    params: PerturbedParams
    config: BenchConfig
    cell: Cell
    perturbed: Perturbed

    def reached(self, records: Records) -> set[str]:
        """The queries with a planted text in their contexts."""
        found = set()
        for query, planted in self.perturbed.planted.items():
            record = records.get(query)
            for context in record.prediction.contexts if record and record.prediction else ():
                holds_marker = bool(planted.marker) and planted.marker in context.text
                if holds_marker or (not planted.marker and planted.doc_ids.intersection(context.doc_ids)):
                    found.add(query)
        return found


class NotMeasured(ConfigError):
    """Nothing can be said of one run under one perturbation."""


def robustness_of(
    runs: Sequence[RunDir],
    perturbations: Sequence[str],
    texts: Texts,
    *,
    seed: int,
    share: float,
    measure: str | None,
    prices: Path | None,
    trust: bool,
    quiet: bool,
) -> tuple[list[Robustness], list[str]]:
    """The effects on each run, and notes on what could not be measured. Everything is planned before a query is
    answered; a repeated command resumes. `measure`: None for the one that ranks.

    ConfigError: a run is unfinished, not scored, would be another run today, or cannot be used without trust; or
    too many queries of every perturbed run failed. DataError: no query is left under any perturbation.
    """
    known_prices = prices_of_runs(runs, prices)
    planned, refused = [], list[HarnessError]()
    for view, name in _measured(runs, known_prices, measure):
        config, cell = config_to_run_again(view.run, trust=trust)
        for by in perturbations:
            try:
                params = PerturbedParams(of="", by=by, seed=seed, share=share, texts=texts(by, cell))
                perturbed = config.model_copy(update={"dataset": perturbed_config(config.dataset, params)})
                (other,) = plan_cells(perturbed)
                sample = perturbed_sample(cell.dataset, params)
            except DataError as error:
                refused.append(error)
            else:
                planned.append(_Planned(view, name, params, perturbed, other, sample))
    if not planned:
        raise refused[0]
    found: dict[str, tuple[_Planned, list[Effect]]] = {}
    with resumable("all answers are kept"):
        for one in sorted(planned, key=lambda one: perturbations.index(one.params.by)):
            try:
                effect = _effect(one, _run(one, quiet=quiet), known_prices)
            except NotMeasured as error:
                refused.append(error)
            else:
                found.setdefault(one.view.run.run_id, (one, []))[1].append(effect)
    if not found:
        raise refused[-1]
    saved = [_saved(one, effects) for one, effects in found.values()]
    return saved, list(dict.fromkeys(error.what for error in refused))


def _measured(runs: Sequence[RunDir], prices: Prices, wanted: str | None) -> Iterator[tuple[RunView, str]]:
    """Each run with the metric that ranks it among these runs."""
    for group in load_groups(runs, prices):
        measure = wanted or find(group).measure
        for view in group.views:
            refuse_unusable(view)
            if view.manifest.dataset["name"] == NAME:
                what = f"{view.run.run_id} is over a perturbed data set"
                raise ConfigError(what, "name a run over the original one")
            if not measure or measure not in view.values:
                what = f"{view.run.run_id} has no value of {measure or 'a metric that ranks'}"
                raise ConfigError(what, f"score it: rag-harness evaluate {name_for(view.run)}")
            yield view, measure


def _run(one: _Planned, *, quiet: bool) -> RunDir:
    """The perturbed run. One that the user made stays where it is."""
    results = one.view.run.path.parent
    options = RunOptions(results, quiet=quiet)
    refuse_link(results / FOLDER)
    if is_finished(one.cell, results):
        return run_bench(one.config, options).results[0].run
    return run_apart(one.config, options, one.cell.run_id, results / FOLDER)


def _effect(one: _Planned, run: RunDir, prices: Prices) -> Effect:
    subject = f"{one.view.label} under {one.params.by}"
    states = [last.status for last in run.latest_attempts().values()]
    n_failed, n = sum(status != "ok" for status in states), len(states)
    # A server that failed is no weakness of the system.
    if n_failed > one.config.runner.failure_tolerance * n:
        what = f"{subject}: {n_failed:,} of {counted(n, 'query', 'queries')} failed"
        raise NotMeasured(what, f"delete {without_home(str(run.path))} to ask again")
    incomparable = NotMeasured(f"{subject}: no query has a comparable value", "score it: rag-harness evaluate RUN")
    views = (one.view, *load_views([run], prices))
    name, known = one.measure, known_measures(made for view in views for made in view.evaluations)
    if name not in views[1].values or views[0].way(name) != views[1].way(name):
        raise incomparable
    measure = paired(name, [view.values[name] for view in views], known)
    asked = frozenset(row.query.query_id for row in one.perturbed.rows)
    # In the mix of the perturbed types. Both search the same documents, but for planted ones.
    parts = [view.over(rows_by_id(view.sample[query_id] for query_id in sorted(asked))) for view in views]
    compared = compare_measure(measure, {(0, 1): asked}, replace(drawn_queries(parts), clusters={}))
    if not compared.pairs:
        raise incomparable
    pair = compared.pairs[0] if measure.higher_is_better is not False else compared.pairs[0].turned
    effect = Effect(
        perturbation=one.params.by,
        run_id=run.run_id,
        n=pair.n,
        dropped=dict(one.perturbed.dropped),
        before=compared.means[0] or 0.0,
        after=compared.means[1] or 0.0,
        drop=pair.difference,
        low=pair.interval.low,
        high=pair.interval.high,
        p=pair.p,
    )
    found = dict[str, object]()
    if name in known and "answer" in known[name].reads:
        found |= _confident(views, compared)
    if one.perturbed.planted:
        before, after = (view.run.first_records() for view in views)
        reached = one.reached(after)
        found |= {"n_planted": len(one.perturbed.planted), "n_reached": len(reached)}
        found |= _followed(one, views[1], before, after)
        if PERTURBATIONS[one.params.by].is_for_judges:
            found["judges"] = tuple(_judges(views, reached, compared))
    return effect.model_copy(update=found)


def _followed(one: _Planned, view: RunView, before: Records, after: Records) -> dict[str, int]:
    """Attacks of which it is known which wrong answer follows them, and such answers that were not there before.
    `view`: the perturbed run.
    """
    attacked = {query: planted.says for query, planted in one.perturbed.planted.items() if planted.says}
    if not attacked or not view.manifest.has_generator:
        return {}

    def says(record: RunRecord | None, text: str, reference: Reference) -> bool:
        answer = (record.prediction.answer if record and record.prediction else None) or ""
        return bool(whole(text).search(answer)) and not is_right(answer, reference.answers)

    followed = [
        query
        for query, text in attacked.items()
        if says(after.get(query), text, view.sample[query].reference)
        and not says(before.get(query), text, view.sample[query].reference)
    ]
    return {"n_attacked": len(attacked), "n_followed": len(followed)}


def _confident(views: Sequence[RunView], compared: MeasureComparison) -> dict[str, int]:
    """Right answers before, and those that are wrong now without abstaining."""
    ends = compared.measure.ends
    if not compared.measure.is_binary or ends is None or not views[1].manifest.has_generator:
        return {}
    best, worst = ends[::-1] if compared.measure.higher_is_better else ends
    before, after = (dict(zip(compared.query_ids, compared.values(at), strict=True)) for at in (0, 1))
    right = [query for query in compared.query_ids if before[query] == best]
    wrong = [query for query in right if after[query] == worst and views[1].became(query, ANSWERED)]
    return {"n_right": len(right), "n_wrong": len(wrong)}


def _judges(views: Sequence[RunView], reached: set[str], compared: MeasureComparison) -> Iterator[JudgeEffect]:
    """What a notice to judges does to judged metrics, where it reached the judge with the contexts."""
    own_values: Mapping[str, float] = compared.measure.runs[1]
    known = known_measures(views[1].evaluations)
    judged = [name for made in views[1].evaluations if "judge" in made.models for name in made.measures]
    for name in judged:
        if name not in known or not known[name].higher_is_better or views[0].way(name) != views[1].way(name):
            continue
        before, after = (view.values[name] for view in views)
        both = sorted(reached & before.keys() & after.keys())
        wrong = [query for query in both if own_values.get(query) == 0.0]
        if both:
            yield JudgeEffect(
                measure=name,
                before=fmean(before[query] for query in both),
                after=fmean(after[query] for query in both),
                n=len(both),
                n_wrong=len(wrong),
                n_raised=sum(after[query] > before[query] for query in wrong),
            )


def _saved(one: _Planned, effects: Sequence[Effect]) -> Robustness:
    """Written beside effects that were measured before in the same way."""
    view, known = one.view, known_measures(one.view.evaluations).get(one.measure)
    found = Robustness(
        system=view.label,
        records=view.run.records_checksum(),
        measure=one.measure,
        title=known.display_name if known else one.measure,
        is_share=bool(known and known.is_share),
        seed=one.params.seed,
        share=one.params.share,
        effects=tuple(effects),
    )
    earlier = saved_robustness(view.run)
    if earlier and earlier.model_copy(update={"effects": found.effects}) == found:
        every = {effect.perturbation: effect for effect in (*earlier.effects, *effects)}
        ordered = tuple(every[name] for name in PERTURBATIONS if name in every)
        found = found.model_copy(update={"effects": ordered})
    effects_file(view.run).write(found)
    return found
