"""Which measures a comparison shows, in what order, and which way they count."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from harness.analysis.paired import PairedMeasure
from harness.analysis.paired_values import COSTS, QueryValues
from harness.errors import ConfigError, HarnessError, nearest
from harness.protocols import EvaluatorSpec, Measure
from harness.records import EvaluationRecord
from harness.registry import evaluator_names, load_evaluator
from harness.report.text import printable

FIRST = "accuracy"

RunValues = Mapping[str, QueryValues]
"""Measure -> its values in one run."""


def known_measures(evaluations: Iterable[EvaluationRecord]) -> dict[str, Measure]:
    """The measures of every evaluator that is installed, with the parameters of these evaluations and with its
    defaults, in the order in which it names them; accuracy's evaluator first. A score of another name is one that
    nobody here knows.
    """
    found: dict[str, Measure] = {}
    given = list(evaluations)
    for name in evaluator_names():
        try:
            spec = load_evaluator(name)
        except HarnessError:
            continue
        for params in [*(one.params for one in given if one.evaluator == name), {}]:
            for measure in _measures(spec, params):
                found.setdefault(measure.name, measure)
    return found


def select_measures(
    runs: Sequence[tuple[str, RunValues]], wanted: Sequence[str], known: Mapping[str, Measure]
) -> tuple[list[PairedMeasure], list[str]]:
    """The measures to compare, and notes on those that say nothing new. `runs`: label and values of each.

    `wanted`, or, if it is empty, every measure of which each run has a value: accuracy, then what is known, then
    what is not, then costs. Left out of those: a measure whose values are all those of an earlier one, and a cost
    that is 0 throughout. ConfigError where a run lacks one that is wanted, or where they share none.
    """
    common = [name for name in _ordered(runs, known) if all(_has(values, name) for _, values in runs)]
    if not common:
        raise ConfigError("the runs have no measure in common", "run: rag-harness evaluate, with all of them")
    for name in wanted:
        if name not in common:
            raise _missing(runs, name, common)
    if wanted:
        return [_paired(runs, name, known) for name in dict.fromkeys(wanted)], []
    shown: list[PairedMeasure] = []
    repeated: dict[str, list[str]] = {}
    for one in (_paired(runs, name, known) for name in common if not _is_nothing(runs, name)):
        twin = next((other for other in shown if _same(one, other)), None)
        if twin is None:
            shown.append(one)
        else:
            repeated.setdefault(printable(twin.name), []).append(printable(one.name))
    return shown, [
        f"Not repeated: {', '.join(names)} (the values of {of} in every run)." for of, names in repeated.items()
    ]


def _measures(spec: EvaluatorSpec, params: Mapping[str, object]) -> Sequence[Measure]:
    try:
        return spec.measures(spec.params.model_validate(dict(params)))
    except ValidationError:  # An evaluation of another version may have had other parameters.
        return ()


def _ordered(runs: Sequence[tuple[str, RunValues]], known: Mapping[str, Measure]) -> list[str]:
    rank = {name: place for place, name in enumerate([FIRST, *(name for name in known if name != FIRST)])}
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
    return replace(one, name=other.name) == other and not one.is_cost


def _paired(runs: Sequence[tuple[str, RunValues]], name: str, known: Mapping[str, Measure]) -> PairedMeasure:
    is_cost = name in COSTS and name not in known
    higher: bool | None = known[name].higher_is_better if name in known else None
    values = tuple(values[name] for _, values in runs)
    return PairedMeasure(name, False if is_cost else higher, values, is_cost=is_cost)
