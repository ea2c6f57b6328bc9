"""Recorded runs as a router would see them: who may be routed to, over which queries, at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.errors import ConfigError, nearest
from harness.display.text_format import counted, printable
from harness.extensions.routing.gains import RoutingGains, halves, routing_gains
from harness.extensions.routing.learning import Recorded, RoutingTable, learnt_table
from harness.llm_utils.query_classifier import type_by_rules
from harness.report.comparison.choosing import paired
from harness.report.comparison.notes import comparison_notes
from harness.report.comparison.runs import (
    ComparedRun,
    comparable_pairs,
    drawn_queries,
    finished_runs,
    load_compared,
    shared_queries,
)
from harness.report.measures import known_measures, ranking_choice
from harness.report.titles import dataset_title
from harness.statistics import Prices
from harness.statistics.cost import fails_too_often
from harness.statistics.paired_comparison import MeasureComparison, compare_measure
from harness.statistics.t_intervals import Array
from harness.store import RunDir

LABELS, RULES = "labels", "rules"
"""Who tells the type of a query: its data set, which no router is told; or rules that read its words."""
COST_UNITS = {"tokens": 1000.0, "usd": 0.01, "latency_s": 1.0}
"""What a query may cost, and how much of it `RouteChoice.cost_weight` is about: 1,000 tokens, a cent, a second."""
FEWEST = 8
"""Queries below which there is nothing to learn on one half and to test on the other."""


@dataclass(frozen=True)
class RouteChoice:
    """What is to be learnt."""

    measure: str | None = None
    """None: the one that ranks."""
    cost: str = "tokens"
    """A key of `COST_UNITS`."""
    cost_weight: float = 0.0
    """Points (hundredths of what the measure ranges over) that a unit of cost is worth."""
    splits: int = 100
    seed: int = 0


@dataclass(frozen=True)
class RouteStudy:
    """What came out; a column is a system, the cheapest first where all costs are known."""

    title: str
    choice: RouteChoice
    runs: tuple[ComparedRun, ...]
    compared: MeasureComparison
    """Over the queries that all have a value of."""
    values: Array
    """The measure itself: a row a query, a column a system."""
    costs: Array | None
    """Likewise, in the unit of `choice.cost`; None: not known of every query."""
    recorded: Recorded
    """What they are worth: in the measure's unit, higher is better, less what they cost."""
    told: Mapping[str, Sequence[str]]
    """The types of the queries, by who tells them."""
    tables: Mapping[str, RoutingTable]
    """Learnt from all queries, by who tells their types."""
    gains: RoutingGains
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """What the systems are called."""
        return [one.label for one in self.runs]


def study_routes(runs: Sequence[RunDir], prices: Prices, choice: RouteChoice) -> RouteStudy:
    """What routing among these runs would bring; calls nothing.

    Left out with a note: baselines, unfinished runs, and what was scored in another way than most. ConfigError,
    in a line: fewer than two systems left, no direction of the measure, no common query or too few, costs that
    count and are not known.
    """
    named, notes = _without_baselines(load_compared(runs, None, prices))
    finished = finished_runs(named, None)
    notes += [f"{one.label} is unfinished and takes no part." for one in named if one not in finished]
    entrants, compared, found = _compared(finished, choice)
    notes += found
    costs = _costs(entrants, compared, choice.cost)
    if choice.cost_weight:
        costs = _required(entrants, costs, choice.cost)
    order = _order([(one.label, one.run.run_id) for one in entrants], costs)
    ids = compared.query_ids
    values = np.stack([compared.values(at) for at in order], axis=1)
    costs = None if costs is None else costs[:, order]
    weights = np.ones(len(ids)) if compared.weights is None else compared.weights
    rows = entrants[0].rows.at(ids)
    told: dict[str, Sequence[str]] = {
        LABELS: [row.reference.query_type for row in rows],
        RULES: [type_by_rules(row.query.text) for row in rows],
    }
    recorded = Recorded(_worth(compared, values, costs, choice), weights, told[LABELS])
    clusters = compared.drawn.cluster_numbers(ids)
    clusters = np.arange(len(ids)) if clusters is None else clusters
    splits = list(halves(clusters, choice.splits, choice.seed))
    return RouteStudy(
        title=dataset_title(entrants[0].manifest),
        choice=choice,
        runs=tuple(entrants[at] for at in order),
        compared=compared,
        values=values,
        costs=costs,
        recorded=recorded,
        told=told,
        tables={name: learnt_table(Recorded(recorded.worth, weights, types)) for name, types in told.items()},
        gains=routing_gains(recorded, clusters, told, splits),
        notes=tuple(notes),
    )


def _order(named: Sequence[tuple[str, str]], costs: Array | None) -> list[int]:
    """The cheapest first: of equal systems the first is taken, whatever order the runs were named in."""
    means = [0.0] * len(named) if costs is None else costs.mean(axis=0).tolist()
    return sorted(range(len(named)), key=lambda at: (means[at], named[at]))


def _without_baselines(runs: Sequence[ComparedRun]) -> tuple[list[ComparedRun], list[str]]:
    kept = [one for one in runs if not one.manifest.baseline]
    if len(kept) < 2:
        raise ConfigError("routing takes runs of at least two systems, baselines aside", "name another RUN")
    return kept, [f"{one.label} is a baseline: nothing is routed to it." for one in runs if one not in kept]


def _compared(
    runs: Sequence[ComparedRun], choice: RouteChoice
) -> tuple[list[ComparedRun], MeasureComparison, list[str]]:
    """The runs that take part, their values over common queries, and notes."""
    known = known_measures(evaluation for run in runs for evaluation in run.evaluations)
    name = choice.measure or ranking_choice([run.manifest for run in runs]).name
    shared = shared_queries(runs, None)
    pairs = comparable_pairs(runs, name, shared) if name else {}
    places = sorted({place for pair in pairs for place in pair})
    if len(places) < 2:
        scored = sorted(set.intersection(*(set(run.values) for run in runs)))
        what = f"'{printable(name)}' has no value in two of these runs" if name else "nothing says what ranks here"
        raise ConfigError(
            what, f"{nearest(name, map(printable, scored))} (--measure NAME, or: rag-harness evaluate)"
        )
    entrants = [runs[place] for place in places]
    again = shared_queries(entrants, None)
    measure = paired(name, [one.values[name] for one in entrants], known)
    if measure.higher_is_better is None:
        raise ConfigError(f"'{printable(name)}' makes no system better", "name another measure: --measure NAME")
    compared = compare_measure(measure, again, drawn_queries(entrants))
    if compared.n_common < FEWEST:
        what = f"the runs have {counted(compared.n_common, 'query', 'queries')} of '{printable(name)}' in common"
        raise ConfigError(what, f"half of them teaches and half tests: name runs over {FEWEST} or more")
    notes = [
        f"{one.label} was scored in another way, or hardly, and takes no part."
        for one in runs
        if one not in entrants
    ]
    return entrants, compared, [*notes, *comparison_notes(entrants, again, [compared], [name])]


def _costs(runs: Sequence[ComparedRun], compared: MeasureComparison, cost: str) -> Array | None:
    """A row a query, a column a run; None where that of any query is not known."""
    columns = []
    for run in runs:
        known = run.values[cost].values if cost in run.values else {}
        if any(one not in known for one in compared.query_ids):
            return None
        columns.append([known[one] for one in compared.query_ids])
    found = np.array(columns, dtype=np.float64).T
    return found if found.any() else None


def _required(runs: Sequence[ComparedRun], costs: Array | None, cost: str) -> Array:
    """Those costs; ConfigError where they say nothing of what routing would cost."""
    for run in runs:
        endings = run.run.endings().values()
        if fails_too_often(sum(one.status != "ok" for one in endings), len(endings)):
            raise ConfigError(
                f"{run.label} failed too many queries to say what it costs", "leave it out, or --cost-weight 0"
            )
    if costs is None:
        unknown = ", ".join(_without_cost(runs, cost)) or "any of these runs"
        raise ConfigError(
            f"'{cost}' is not known of every query in {unknown}", f"another --cost ({', '.join(COST_UNITS)})"
        )
    return costs


def _without_cost(runs: Sequence[ComparedRun], cost: str) -> Iterator[str]:
    for run in runs:
        if cost not in run.values or len(run.values[cost].values) < len(run.rows):
            yield run.label


def _worth(compared: MeasureComparison, values: Array, costs: Array | None, choice: RouteChoice) -> Array:
    sign = 1.0 if compared.measure.higher_is_better else -1.0
    if not choice.cost_weight or costs is None:
        return sign * values
    if compared.measure.span is None:
        raise ConfigError("the measure has no ends, so that there are no points of it", "use --cost-weight 0")
    point = compared.measure.span / 100
    return sign * values - choice.cost_weight * point * costs / COST_UNITS[choice.cost]
