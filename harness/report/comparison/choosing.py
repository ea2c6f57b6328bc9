"""Which measures a comparison shows, in what order, and which way they count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.errors import ConfigError, nearest
from harness.display.text_format import printable
from harness.protocols import Measure
from harness.statistics.paired_comparison import PairedMeasure
from harness.statistics.query_values import COSTS, QueryValues

RunValues = Mapping[str, QueryValues]
"""Measure -> its values in one run."""


@dataclass(frozen=True)
class MeasureBook:
    """The known metrics."""

    known: Mapping[str, Measure]
    first: str
    """The one that ranks; empty: none does."""


def select_measures(
    runs: Sequence[tuple[str, RunValues]], wanted: Sequence[str], book: MeasureBook
) -> tuple[list[PairedMeasure], list[str]]:
    """The metrics to compare, and notes on those that repeat another one. `runs`: label and values of each run.

    `wanted`; if empty, every metric of which each run has a value: the one that ranks, known ones, unknown ones,
    then costs. Left out are metrics with the same values as an earlier one, and costs that are 0 throughout.
    Raises ConfigError if a run lacks a wanted metric, or if the runs share none.
    """
    common = [name for name in _ordered(runs, book) if all(_has(values, name) for _, values in runs)]
    if not common:
        raise ConfigError("the runs have no measure in common", "run: rag-harness evaluate, with all of them")
    for name in wanted:
        if name not in common:
            raise _missing(runs, name, common)
    if wanted:
        return [_paired(runs, name, book.known) for name in dict.fromkeys(wanted)], []
    shown: list[PairedMeasure] = []
    repeated: dict[str, list[str]] = {}
    for one in (_paired(runs, name, book.known) for name in common if not _is_nothing(runs, name)):
        twin = next((other for other in shown if _same(one, other)), None)
        if twin is None:
            shown.append(one)
        else:
            repeated.setdefault(printable(twin.name), []).append(printable(one.name))
    return shown, [
        f"Not repeated: {', '.join(names)} (the values of {of} in every run)." for of, names in repeated.items()
    ]


def _ordered(runs: Sequence[tuple[str, RunValues]], book: MeasureBook) -> list[str]:
    rank = {name: place for place, name in enumerate(dict.fromkeys((book.first, *book.known)))}
    last = {name: len(rank) + 1 + place for place, name in enumerate(COSTS)}
    names = {name for _, values in runs for name in values}
    return sorted(names, key=lambda name: (rank.get(name, last.get(name, len(rank))), name))


def _has(values: RunValues, name: str) -> bool:
    return name in values and bool(values[name].values)


def _missing(runs: Sequence[tuple[str, RunValues]], name: str, common: Sequence[str]) -> ConfigError:
    lacking = [label for label, values in runs if not _has(values, name)]
    what = f"'{printable(name)}' has no value in {lacking[0]}"
    return ConfigError(what, f"{nearest(name, map(printable, common))} (or run: rag-harness evaluate)")


def _is_nothing(runs: Sequence[tuple[str, RunValues]], name: str) -> bool:
    return name in COSTS and not any(any(values[name].values.values()) for _, values in runs)


def _same(one: PairedMeasure, other: PairedMeasure) -> bool:
    """Whether two metrics have the same values under different names; costs never count as the same."""
    alike = (one.higher_is_better, one.runs) == (other.higher_is_better, other.runs)
    return alike and not (one.is_cost or other.is_cost)


def paired(name: str, values: Sequence[QueryValues], known: Mapping[str, Measure]) -> PairedMeasure:
    """A metric with its values in each run."""
    if name in known:
        measure = known[name]
        return PairedMeasure(
            name,
            # What only describes, such as how long contexts are, makes no run better.
            None if measure.failure_value is None else measure.higher_is_better,
            tuple(values),
            title=measure.spoken,
            share=measure.is_share,
            range=measure.range,
        )
    is_cost = name in COSTS
    title = COSTS.get(name, name)
    return PairedMeasure(name, False if is_cost else None, tuple(values), title=title, is_cost=is_cost)


def _paired(runs: Sequence[tuple[str, RunValues]], name: str, known: Mapping[str, Measure]) -> PairedMeasure:
    return paired(name, [values[name] for _, values in runs], known)
