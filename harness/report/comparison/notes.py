"""Warnings about a comparison of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from harness.display.text_format import counted, printable
from harness.report.comparison.runs import ComparedRun, comparable_pairs
from harness.report.notes import group_notes, judge_notes, way_of
from harness.statistics.paired_comparison import MeasureComparison, PairPlaces, SharedQueries
from harness.statistics.query_values import COSTS


def comparison_notes(
    runs: Sequence[ComparedRun],
    shared: SharedQueries,
    measures: Sequence[MeasureComparison],
    chosen: Collection[str],
    apart: Collection[PairPlaces] = (),
) -> Iterator[str]:
    """One sentence each: about all runs, then about pairs, then about single runs. `chosen`: the metrics that
    should be compared, some of which may be missing in `measures`; `apart`: pairs with a baseline.
    """
    competing = {place: queries for place, queries in shared.items() if place not in apart}
    yield from group_notes([run.manifest for run in runs])
    yield from judge_notes([[made for made in one.evaluations if {*chosen} & {*made.measures}] for one in runs])
    yield from _sample_notes(runs, shared)
    yield from _unpriced_notes(runs, chosen)
    yield from _unpaired_notes(runs, competing, measures)
    yield from unpaired_pairs(runs, competing, measures)
    yield from _run_notes(runs)


def baseline_notes(runs: Sequence[ComparedRun], apart: SharedQueries) -> Iterator[str]:
    """Names the baselines whose pairs are a separate family."""
    places = sorted({place for pair in apart for place in pair})
    names = [runs[place].label for place in places if runs[place].manifest.baseline]
    if names:
        what = "is a baseline" if len(names) == 1 else "are baselines"
        yield (
            f"{', '.join(names)} {what}, not ranked with the systems. Pairs with a baseline are corrected as a "
            "family of their own."
        )


def _unpriced_notes(runs: Sequence[ComparedRun], chosen: Collection[str]) -> Iterator[str]:
    """Names the runs that are not compared by cost."""
    if not COSTS.keys() & {*chosen}:
        return
    for run in runs:
        if run.why_unpriced:
            yield f"{run.label} {run.why_unpriced}."


def _sample_notes(runs: Sequence[ComparedRun], shared: SharedQueries) -> Iterator[str]:
    for (a, b), queries in shared.items():
        one, other = runs[a], runs[b]
        if _digest(one) == _digest(other):
            continue
        changed = len(one.rows.keys() & other.rows.keys()) - len(queries)
        left = f" ({counted(changed, 'more has', 'more have')} another text or reference)" if changed else ""
        yield (
            f"{one.label} and {other.label} were made over other samples or documents: of {len(one.rows):,} and "
            f"{len(other.rows):,} queries they are compared over the {len(queries):,} of both{left}."
        )


def _digest(run: ComparedRun) -> object:
    return run.manifest.identity.get("dataset", {}).get("digest")


def _unpaired_notes(
    runs: Sequence[ComparedRun], shared: SharedQueries, measures: Sequence[MeasureComparison]
) -> Iterator[str]:
    competitors = {place for pair in shared for place in pair}
    for compared in measures:
        named = printable(compared.measure.name)
        for run in runs:
            values = run.values.get(compared.measure.name)
            if values is not None and not values.is_covered:
                held = f"{len(values.values):,} of {counted(len(values.expected), 'query', 'queries')}"
                yield f"{named}: {run.label} has a value on {held} only, and is not compared."
        comparable = comparable_pairs(runs, compared.measure.name, shared)
        ways = [way_of(run.evaluations, compared.measure.name) for run in runs]
        chosen = {ways[place] for pair in comparable for place in pair}
        for place, (run, way) in enumerate(zip(runs, ways, strict=True)):
            is_other = chosen and way not in chosen and place in competitors
            if is_other and run.values.get(compared.measure.name):
                yield f"{named}: {run.label} was scored in another way than those compared, and is not compared."


def unpaired_pairs(
    runs: Sequence[ComparedRun], shared: SharedQueries, measures: Sequence[MeasureComparison]
) -> Iterator[str]:
    """Pairs that might be compared by a measure, and share no query with a value."""
    for compared in measures:
        name = printable(compared.measure.name)
        comparable = comparable_pairs(runs, compared.measure.name, shared)
        for a, b in sorted(comparable.keys() - {(pair.a, pair.b) for pair in compared.pairs}):
            yield f"{name}: {runs[a].label} and {runs[b].label} have no query with a value in both."


def _run_notes(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """The notes on each run; those that apply to all runs once."""
    shared = [note for note in runs[0].notes if all(note in one.notes for one in runs)]
    yield from shared
    for one in runs:
        yield from (f"{one.label}: {note}" for note in one.notes if note not in shared)
