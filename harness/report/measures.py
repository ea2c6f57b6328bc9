"""The metrics of runs as installed evaluators define them, and which one ranks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pydantic import ValidationError

from harness.core.errors import nearest
from harness.core.records import EvaluationRecord
from harness.display import printable
from harness.protocols import EvaluatorSpec, Measure
from harness.registry import EVALUATORS
from harness.statistics.non_inferior import MARGIN
from harness.store import Manifest

DEFAULT_MARGIN = 100 * MARGIN
"""In points: hundredths of the range of a metric."""


def known_measures(evaluations: Iterable[EvaluationRecord]) -> dict[str, Measure]:
    """The metrics of all installed evaluators, with the parameters of these evaluations and with their defaults.
    Those that need no model and no weights come first, because the first one ranks if nothing else does. If two
    scored metrics have the same title, the evaluator is added to it.
    """
    found: dict[str, Measure] = {}
    owners: dict[str, str] = {}
    given = list(evaluations)
    for spec in sorted(EVALUATORS.load_all()[0], key=lambda one: bool(one.roles or one.weights)):
        for params in [*(one.params for one in given if one.evaluator == spec.name), {}]:
            for measure in _measures(spec, params):
                found.setdefault(measure.name, replace(measure, title=printable(measure.title)))
                owners.setdefault(measure.name, spec.name)
    scored = {name for one in given for name in one.measures if name in found}
    titles = Counter(found[name].title for name in scored)
    for name in scored:
        measure = found[name]
        if measure.title and titles[measure.title] > 1:
            found[name] = replace(measure, title=f"{measure.title} ({printable(owners[name])})")
    return found


def value_ranges(known: Mapping[str, Measure]) -> dict[str, tuple[float, float]]:
    """Metric -> its lowest and highest possible value, where they are known."""
    return {name: measure.ends for name, measure in known.items() if measure.ends is not None}


@dataclass(frozen=True)
class RankingChoice:
    name: str
    named: str
    """Who named it; follows the name in a sentence."""


def ranking_choice(manifests: Sequence[Manifest]) -> RankingChoice:
    """The measure that all configs of these runs name; else that of the data set, or none."""
    wanted, *others = {manifest.config.get("measure") for manifest in manifests}
    if wanted and not others:
        return RankingChoice(str(wanted), "which the configs name")
    said = (manifest.dataset.get("primary_measure") for manifest in manifests)
    return RankingChoice(next((str(name) for name in said if name), ""), "the measure of this data set")


def instead_of(
    wanted: str,
    held: Iterable[str],
    manifests: Iterable[Manifest],
    known: Mapping[str, Measure],
    evaluate: str = "rag-harness evaluate RUN",
) -> str:
    """A hint for a metric without values. `held`: what has some; `evaluate`: the command that scores."""
    measure = known.get(wanted)
    if measure is None:
        near, *_ = (*get_close_matches(wanted, [*held, *known], n=1), None)
        return nearest(wanted, held if near is None else [near])
    if "answer" in measure.reads and not any(manifest.has_generator for manifest in manifests):
        return "these runs have no answers, because they ran without a generator: choose a metric of evidence"
    return f"choose another metric, or score it: {evaluate}"


def candidates_to_rank(first: str, evidence: Iterable[str], known: Mapping[str, Measure]) -> tuple[str, ...]:
    """Known metrics in the order in which they are chosen to rank: the named one, evidence found, all others."""
    merits = (one.name for one in known.values() if is_merit(one))
    return tuple(name for name in dict.fromkeys((first, *evidence, *merits)) if name in known)


def is_merit(measure: Measure) -> bool:
    """Whether it can rank if none is named. Descriptive ones, labels, and those without failed queries cannot."""
    return measure.failure_value is not None and measure.counts_failures and not measure.labels


def margin_choice(manifests: Sequence[Manifest]) -> float:
    """In points: from the configs of these runs if they agree on a possible one, otherwise the default."""
    wanted, *others = {manifest.config.get("margin", DEFAULT_MARGIN) for manifest in manifests}
    return float(wanted) if not others and 0 < wanted <= 100 else DEFAULT_MARGIN


def _measures(spec: EvaluatorSpec, params: Mapping[str, object]) -> Sequence[Measure]:
    try:
        return spec.measures(spec.params.model_validate(dict(params)))
    except ValidationError:  # Another version of the evaluator scored this run, or the file is a stranger's.
        return ()
