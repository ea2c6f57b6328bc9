"""What routing among recorded runs would gain: eligible systems, common queries, values and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.errors import ConfigError
from harness.display.text_format import counted, printable
from harness.extensions.routing.gains import (
    RecordedResults,
    RoutingGains,
    RoutingTable,
    learnt_table,
    routing_gains,
)
from harness.llm_utils.query_classifier import type_by_rules
from harness.report.comparison.compare import paired
from harness.report.comparison.runs import (
    comparable_pairs,
    comparison_notes,
    drawn_queries,
    finished_runs,
    load_compared,
    shared_queries,
)
from harness.report.labels import dataset_title
from harness.report.measures import instead_of, known_measures, ranking_choice
from harness.report.view import RunView
from harness.statistics.confidence_intervals import Array
from harness.statistics.cost import fails_too_often
from harness.statistics.paired_comparison import MeasureComparison, compare_measure
from harness.statistics.prices import Prices
from harness.store import RunDir

LABELS, RULES = "labels", "rules"
"""The source of query types: labels of the data set, which a router does not know, or rules on the text."""
COST_UNITS = {"tokens": 1000.0, "usd": 0.01, "latency_s": 1.0}
"""Cost of a query -> the unit that `RouteChoice.cost_weight` refers to: 1,000 tokens, a cent, a second."""
FEWEST = 8


@dataclass(frozen=True)
class RouteChoice:
    measure: str | None = None
    """None: the primary metric."""
    cost: str = "tokens"
    """A key of `COST_UNITS`."""
    cost_weight: float = 0.0
    """Points (hundredths of the range of the metric) to subtract for a unit of cost."""
    splits: int = 100
    seed: int = 0


@dataclass(frozen=True)
class RouteStudy:
    """The result. Columns are systems, the cheapest first if all costs are known."""

    title: str
    choice: RouteChoice
    runs: tuple[RunView, ...]
    compared: MeasureComparison
    """Over the queries for which all systems have a value."""
    values: Array
    """The metric, queries x systems."""
    costs: Array | None
    """Costs in the unit of `choice.cost`, queries x systems; None if not known for every query."""
    recorded: RecordedResults
    """The worth of answers: the metric, higher is better, minus weighted costs."""
    told: Mapping[str, Sequence[str]]
    """Source of types -> the type of each query."""
    tables: Mapping[str, RoutingTable]
    """Source of types -> the table learnt from all queries."""
    gains: RoutingGains
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [one.label for one in self.runs]


def study_routes(runs: Sequence[RunDir], prices: Prices, choice: RouteChoice) -> RouteStudy:
    """Estimate what routing among these runs would gain. Calls no model.

    Baselines, unfinished runs, and runs that were scored differently from most are left out, with a note.
    ConfigError if fewer than two systems are left, the metric has no direction, there are too few common queries,
    or costs have a weight and are unknown.
    """
    loaded = load_compared(runs, None, prices)
    named = [one for one in loaded if not one.manifest.baseline]
    if len(named) < 2:
        raise ConfigError("routing needs runs of at least two systems besides baselines", "name another RUN")
    notes = [f"{one.label} is a baseline: nothing is routed to it." for one in loaded if one not in named]
    finished = finished_runs(named, None)
    notes += [f"{one.label} is unfinished and is left out." for one in named if one not in finished]
    entrants, compared, found = _compared(finished, choice)
    notes += found
    costs = _costs(entrants, compared, choice)
    # The cheapest first: the first of equally good systems is chosen, however runs are ordered.
    means = [0.0] * len(entrants) if costs is None else costs.mean(axis=0).tolist()
    order = sorted(range(len(entrants)), key=lambda at: (means[at], entrants[at].label, entrants[at].run.run_id))
    ids = compared.query_ids
    values = np.stack([compared.values(at) for at in order], axis=1)
    costs = None if costs is None else costs[:, order]
    weights = np.ones(len(ids)) if compared.weights is None else compared.weights
    rows = entrants[0].sample.at(ids)
    told: dict[str, Sequence[str]] = {
        LABELS: [row.reference.query_type for row in rows],
        RULES: [type_by_rules(row.query.text) for row in rows],
    }
    recorded = RecordedResults(_worth(compared, values, costs, choice), weights, told[LABELS])
    clusters = compared.drawn.cluster_numbers(ids)
    clusters = np.arange(len(ids)) if clusters is None else clusters
    return RouteStudy(
        title=dataset_title(entrants[0].manifest),
        choice=choice,
        runs=tuple(entrants[at] for at in order),
        compared=compared,
        values=values,
        costs=costs,
        recorded=recorded,
        told=told,
        tables={
            name: learnt_table(RecordedResults(recorded.worth, weights, types)) for name, types in told.items()
        },
        gains=routing_gains(recorded, clusters, told, choice.splits, choice.seed),
        notes=tuple(notes),
    )


def _compared(runs: Sequence[RunView], choice: RouteChoice) -> tuple[list[RunView], MeasureComparison, list[str]]:
    known = known_measures(evaluation for run in runs for evaluation in run.evaluations)
    name = choice.measure or ranking_choice([run.manifest for run in runs]).name
    shared = shared_queries(runs, None)
    pairs = comparable_pairs(runs, name, shared) if name else {}
    places = sorted({place for pair in pairs for place in pair})
    if len(places) < 2:
        scored = sorted(set.intersection(*(set(run.values) for run in runs)))
        what = f"'{printable(name)}' has no value in two of these runs" if name else "no primary metric is known"
        raise ConfigError(what, instead_of(name, [*map(printable, scored)], [run.manifest for run in runs], known))
    entrants = [runs[place] for place in places]
    again = shared_queries(entrants, None)
    measure = paired(name, [one.values[name] for one in entrants], known)
    if measure.higher_is_better is None:
        raise ConfigError(f"'{printable(name)}' has no direction", "name another metric: --measure NAME")
    compared = compare_measure(measure, again, drawn_queries(entrants))
    if compared.n_common < FEWEST:
        what = f"the runs have {counted(compared.n_common, 'query', 'queries')} of '{printable(name)}' in common"
        raise ConfigError(what, f"half are for learning, half for testing: name runs over {FEWEST} or more")
    notes = [
        f"{one.label} was scored differently or on too few queries, and is left out."
        for one in runs
        if one not in entrants
    ]
    return entrants, compared, [*notes, *comparison_notes(entrants, again, [compared], [], [name])]


def _costs(runs: Sequence[RunView], compared: MeasureComparison, choice: RouteChoice) -> Array | None:
    """Costs, queries x runs; None if any of them is unknown. ConfigError if they have a weight and any is unknown,
    or a run failed too often to know its costs.
    """
    known: list[Mapping[str, float]] = [run.values.get(choice.cost, {}) for run in runs]
    found = np.array([[own.get(one, np.nan) for own in known] for one in compared.query_ids])
    is_known = bool(np.isfinite(found).all() and found.any())
    if not choice.cost_weight:
        return found if is_known else None
    for run in runs:
        endings = run.run.latest_attempts().values()
        if fails_too_often(sum(one.status != "ok" for one in endings), len(endings)):
            what = f"{run.label} failed too many queries to know what it costs"
            raise ConfigError(what, "leave it out, or set --cost-weight 0")
    if not is_known:
        without = [one.label for one, own in zip(runs, known, strict=True) if len(own) < len(one.sample)]
        what = f"'{choice.cost}' is unknown for some queries in {', '.join(without) or 'any of these runs'}"
        raise ConfigError(what, f"use another --cost ({', '.join(COST_UNITS)})")
    return found


def _worth(compared: MeasureComparison, values: Array, costs: Array | None, choice: RouteChoice) -> Array:
    worth = values if compared.measure.higher_is_better else -values
    if not choice.cost_weight or costs is None:
        return worth
    if compared.measure.span is None:
        raise ConfigError("the metric has no known range, so points are undefined", "use --cost-weight 0")
    point = compared.measure.span / 100
    return worth - choice.cost_weight * point * costs / COST_UNITS[choice.cost]
