"""What a reader must know of contexts: how far they reach beside a cutoff and beside those of other runs, and how
much of them a judge was shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean, median

from harness.core.errors import HarnessError
from harness.core.records import EvaluationRecord
from harness.display.text_format import counted, printable
from harness.evaluators.score_preconditions import is_null
from harness.protocols import Measure
from harness.registry import SYSTEMS
from harness.statistics.paired_values import QueryValues
from harness.statistics.prompt_sizes import equal_size
from harness.statistics.score_columns import ScoresOrColumns, in_columns
from harness.store import Manifest, SampleRow

_WHOLE = 0.9995
"""Said as 100 %."""
_FEWEST_SHOWN = 0.9
"""Share of the answerable queries with evidence, below which answers from evidence are no ceiling: for the others
the model is shown nothing.
"""
_Points = Mapping[float, Sequence[str]]
"""Place on a curve -> the measures there."""


def share_notes(evaluations: Iterable[EvaluationRecord], scores: ScoresOrColumns) -> Iterator[str]:
    """Of one run: whose judge was not shown all of the contexts."""
    owner = {name: one.evaluator for one in evaluations for name in one.measures}
    shares: dict[str, list[float]] = {}
    for measure, column in in_columns(scores).by_measure.items():
        if column.facts.shares_read:
            shares.setdefault(owner.get(measure, measure), []).extend(column.facts.shares_read)
    for evaluator, read in sorted(shares.items()):
        part = [share for share in read if share < _WHOLE]
        if part:
            yield (
                f"{printable(evaluator)}: its judge was shown a part of the contexts in {len(part):,} of "
                f"{counted(len(read), 'score')} ({100 * mean(read):.0f} % on average over all): they say nothing "
                "of the rest."
            )


def sees_gold(manifest: Manifest) -> bool | None:
    """Whether its system is given the reference evidence; None where that is not installed here."""
    try:
        return SYSTEMS.load(str(manifest.identity.get("system", {}).get("name"))).sees_gold
    except HarnessError:
        return None


def lacks_evidence(rows: Iterable[SampleRow]) -> str:
    """Why a baseline that is given the reference evidence is no ceiling for these queries; empty: it is one."""
    answerable = [row.reference for row in rows if not is_null(row.reference)]
    shown = sum(any(item.fact.strip() for item in one.evidence) for one in answerable)
    if shown >= _FEWEST_SHOWN * len(answerable):
        return ""
    return (
        f"Of {counted(len(answerable), 'answerable query', 'answerable queries')} {shown:,} have evidence in "
        "words: it was shown nothing for the others, so it is no ceiling here."
    )


def reach_notes(runs: Mapping[str, Mapping[str, QueryValues]], known: Mapping[str, Measure]) -> list[str]:
    """Of a group: where a curve goes on beyond what runs have at all, and the place up to which all have it.

    `runs`: label -> measure -> values, of those that compete.
    """
    reaches: dict[str, dict[float, list[str]]] = {}
    for name, measure in known.items():
        has_values = any(name in values and values[name].values for values in runs.values())
        if measure.panel and measure.panel.reach and has_values:
            points = reaches.setdefault(measure.panel.reach, {})
            points.setdefault(measure.panel.at, []).append(name)
    notes = (
        _reach_note(known[reach].spoken if reach in known else reach, medians, points)
        for reach, points in reaches.items()
        if (medians := _medians(runs, reach))
    )
    return [note for note in notes if note]


def _medians(runs: Mapping[str, Mapping[str, QueryValues]], reach: str) -> dict[str, float]:
    found = {label: values[reach].values.values() for label, values in runs.items() if reach in values}
    return {label: median(values) for label, values in found.items() if values}


def _reach_note(spoken: str, medians: Mapping[str, float], points: _Points) -> str:
    """Empty where every run reaches every point."""
    beyond = [at for at in sorted(points) if at > min(medians.values())]
    if not beyond:
        return ""
    shown = ", ".join(f"{printable(label)} {length:,.0f}" for label, length in medians.items())
    note = (
        f"{printable(spoken).capitalize()}, median: {shown}. A measure whose cutoff lies beyond "
        f"({_first_named(points, beyond)}) is taken of what there is"
    )
    if len(medians) == 1:
        return f"{note}."
    size = equal_size(medians.values(), points)
    if size is None:
        return f"{note}, and none has a cutoff that all of these runs reach: name a smaller one."
    return f"{note}: compare these runs by {_named(points, [size])}, the farthest that all of them reach."


def _first_named(points: _Points, places: Sequence[float]) -> str:
    """One measure at each place stands for all."""
    first = ", ".join(printable(points[at][0]) for at in places)
    return first if all(len(points[at]) == 1 for at in places) else f"{first} and others there"


def _named(points: _Points, places: Sequence[float]) -> str:
    return ", ".join(printable(name) for at in places for name in points[at])
