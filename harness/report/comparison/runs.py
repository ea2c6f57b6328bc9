"""Which runs may be compared, over which queries, and the notes on the result."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from harness.core.errors import ConfigError, nearest
from harness.display import counted, printable
from harness.display.text_format import type_name
from harness.report.group_notes import group_notes, judge_notes, notes_on
from harness.report.labels import dataset_name
from harness.report.notes import most_harmful_first
from harness.report.view import RunView, load_views
from harness.statistics.paired_comparison import MeasureComparison, PairPlaces, SharedQueries
from harness.statistics.prices import Prices
from harness.statistics.query_values import COSTS
from harness.statistics.sampling_design import SamplingDesign
from harness.store import RunDir, rows_by_id

_FINISH = "finish it: `rag-harness run` with the same config"


def load_compared(runs: Iterable[RunDir], query_type: str | None, prices: Prices) -> list[RunView]:
    """ConfigError for fewer than two runs, different data sets, and a query type that no query has."""
    unique = list({run.path.resolve(): run for run in runs}.values())
    if len(unique) < 2:
        raise ConfigError("a comparison takes at least two different runs", "name another RUN")
    names = [dataset_name(run.manifest()) for run in unique]
    for run, name in zip(unique, names, strict=True):
        if name != names[0]:
            first, other = (printable(one.run_id, 200) for one in (unique[0], run))
            what = f"{first} is over {names[0]}, {other} over {name}: they cannot be compared"
            raise ConfigError(what, "name runs over one data set")
    views = load_views(unique, prices)
    if query_type is None:
        return list(views)
    samples = {id(view.sample): view.sample for view in views}
    known = {row.reference.query_type for sample in samples.values() for row in sample.values()}
    types = known & {query_type} or {name for name in known if type_name(name) == query_type}
    if not types:
        what = f"no query has the type '{printable(query_type)}'"
        raise ConfigError(what, nearest(query_type, [printable(name) for name in known]))
    chosen = {
        key: rows_by_id(row for row in sample.values() if row.reference.query_type in types)
        for key, sample in samples.items()
    }
    return [view.over(chosen[id(view.sample)]) for view in views]


def finished_runs(runs: Sequence[RunView], against: RunDir | None) -> list[RunView]:
    """Those that have answered every query. ConfigError: fewer than two have, or `against` has not."""
    finished = [one for one in runs if one.is_finished]
    for one in runs:
        is_against = against is not None and one.run.path.resolve() == against.path.resolve()
        if not one.is_finished and (is_against or len(finished) < 2):
            which = ", the run to compare with," if is_against else ""
            what = f"{one.label}{which} is unfinished, and a comparison takes two finished runs"
            raise ConfigError(what, _FINISH)
    return finished


def refuse_unusable(view: RunView) -> None:
    """ConfigError: the run is unfinished or was in a race, so that no hypothesis can be tested with it."""
    if not view.is_complete:
        raise ConfigError(f"{view.run.run_id} is unfinished", _FINISH)
    if view.race is not None:
        what = f"{view.run.run_id} was in a race, which stops by its results: no other test of it is valid"
        raise ConfigError(what, "run its config again without the race")


def shared_queries(runs: Sequence[RunView], against: int | None) -> SharedQueries:
    """Pair -> the queries that both were asked alike; with `against` only pairs with it. ConfigError: none."""
    pairs = list(itertools.combinations(range(len(runs)), 2))
    if against is not None:
        pairs = [(other, against) for other in range(len(runs)) if other != against]
    shared = {}
    for a, b in pairs:
        rows, others = runs[a].sample, runs[b].sample
        same = frozenset(rows if rows is others else (one for one, row in rows.items() if others.get(one) == row))
        if not same:
            what = f"{runs[a].label} and {runs[b].label} have no query in common"
            raise ConfigError(what, "compare runs over the same sample")
        shared[a, b] = same
    return shared


def beside_baselines(runs: Sequence[RunView], shared: SharedQueries) -> tuple[SharedQueries, SharedQueries]:
    """The pairs of systems, and those with a baseline. If every pair has one, all count as pairs of systems."""
    apart = {pair: ids for pair, ids in shared.items() if any(runs[place].is_baseline for place in pair)}
    if len(apart) == len(shared):
        return shared, {}
    return {pair: ids for pair, ids in shared.items() if pair not in apart}, apart


def drawn_queries(runs: Sequence[RunView]) -> SamplingDesign:
    """The sampling design of the queries of these runs. The mix of a part of the query types is of that part."""
    first = runs[0].frame
    samples = {id(run.sample): run.sample for run in runs}.values()
    kept = {row.reference.query_type for sample in samples for row in sample.values()}
    clusters = {query_id: name for run in reversed(runs) for query_id, name in run.frame.clusters.items()}
    types = {query_id: name for run in runs for query_id, name in run.frame.query_types.items()}
    sampled = set(types.values())
    mix = {name: count for name, count in first.type_mix.items() if name in kept or name not in sampled - kept}
    repeated = {query_id: first for run in runs for query_id, first in run.frame.repeated.items()}
    return SamplingDesign(types, mix, clusters, repeated)


def comparable_pairs(runs: Sequence[RunView], measure: str, shared: SharedQueries) -> SharedQueries:
    """The pairs that may be compared by the metric, scored in one way; of several ways the most common."""
    ways = [run.way(measure) for run in runs]
    able = [not run.why_not_compared(measure) for run in runs]
    found: dict[str, dict[PairPlaces, frozenset[str]]] = {}
    for (a, b), queries in shared.items():
        if ways[a] == ways[b] and able[a] and able[b]:
            found.setdefault(ways[a], {})[a, b] = queries
    return max(found.values(), key=len, default={})


def comparison_notes(
    runs: Sequence[RunView],
    shared: SharedQueries,
    measures: Sequence[MeasureComparison],
    apart: Sequence[MeasureComparison],
    chosen: Collection[str],
) -> Iterator[str]:
    """On baselines, then all runs, then metrics, then single runs. `apart`: pairs with a baseline; `chosen`: the
    metrics that were wanted.
    """
    competing, _ = beside_baselines(runs, shared)
    places = {place for compared in apart for pair in compared.pairs for place in (pair.a, pair.b)}
    if names := [runs[place].label for place in sorted(places) if runs[place].is_baseline]:
        what = "is a baseline" if len(names) == 1 else "are baselines"
        corrected = "Pairs with a baseline are corrected as a family of their own."
        yield f"{', '.join(names)} {what}, not ranked with the systems. {corrected}"
    yield from group_notes([run.manifest for run in runs])
    yield from judge_notes([[made for made in one.evaluations if {*chosen} & {*made.measures}] for one in runs])
    yield from _sample_notes(runs, shared)
    if COSTS.keys() & {*chosen}:
        yield from (f"{run.label} {run.why_unpriced}." for run in runs if run.why_unpriced)
    for compared in (*apart, *measures):
        if not compared.pairs:
            yield f"{printable(compared.measure.name)}: no query has a value in every run that is compared by it."
    yield from _left_out(runs, competing, measures)
    yield from most_harmful_first(notes_on(runs))


def _sample_notes(runs: Sequence[RunView], shared: SharedQueries) -> Iterator[str]:
    for (a, b), queries in shared.items():
        one, other = runs[a], runs[b]
        digest, other_digest = (run.manifest.identity.get("dataset", {}).get("digest") for run in (one, other))
        if digest == other_digest:
            continue
        changed = len(one.sample.keys() & other.sample.keys()) - len(queries)
        left = f" ({counted(changed, 'more has', 'more have')} another text or reference)" if changed else ""
        yield (
            f"{one.label} and {other.label} were made over other samples or documents: of {len(one.sample):,} and "
            f"{len(other.sample):,} queries they are compared over the {len(queries):,} of both{left}."
        )


def _left_out(
    runs: Sequence[RunView], competing: SharedQueries, measures: Sequence[MeasureComparison]
) -> Iterator[str]:
    """The runs that are not compared by a metric of which they have values."""
    competitors = {place for pair in competing for place in pair}
    for compared in measures:
        measure, ways = compared.measure.name, [run.way(compared.measure.name) for run in runs]
        chosen = {ways[place] for pair in compared.pairs for place in (pair.a, pair.b)}
        for place, run in enumerate(runs):
            values, why = run.values.get(measure), ""
            if values is not None and not values.is_covered:
                why = f"has a value on {len(values):,} of {counted(len(values.expected), 'query', 'queries')} only"
            elif values is not None and chosen and place in competitors and ways[place] not in chosen:
                why = "was scored in another way than those compared"
            if why:
                yield f"{printable(measure)}: {run.label} {why}, and is not compared."
