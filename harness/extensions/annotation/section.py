"""The report section on human labels: judges' scores, corrected by people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from harness.core.errors import StoreError
from harness.core.records import Annotation
from harness.display import Content, Entry, Quantity, Table, counted, printable
from harness.extensions.annotation.label_scales import HIGHEST, LOWEST, LabelScale, labelled_scales
from harness.protocols import Measure
from harness.report.sections import Reported, SectionSpec
from harness.report.view import Group, RunView
from harness.statistics.confidence_intervals import Interval
from harness.statistics.prediction_powered import FEWEST_LABELS, PoweredMean, powered_mean
from harness.store.annotations import read_annotations

_HEADER = ("system", "measure", "its mean alone", "labels", "labels alone", "both (95 % CI)", "weight")
_NOTE = (
    "All on one scale: label 1 is 0 and label 5 is 1, and so are the lowest and the highest value of a measure. "
    "Both: the measure over all answers, corrected by how it differs from the labels (PPI++); weight: how much "
    "it counts, from 0 to 1. Queries as sampled; failed ones count as 0. Labels are assumed to be a random sample."
)


@dataclass(frozen=True)
class CorrectedMean:
    """A measure of a run, and its mean corrected by human labels; all from 0 to 1."""

    view: RunView
    measure: str
    scored: float | None
    """The measure's mean over the queries that it scored and those that failed."""
    alone: PoweredMean
    both: PoweredMean
    n_unscored: int
    """Labelled answers to which the metric does not apply, such as abstentions; they are left out of both."""


def content(reported: Reported) -> Content:
    """A table for each dimension; nothing without labels."""
    try:
        said = {view.run.run_id: read_annotations(view.run) for view in reported.group.views}
    except StoreError as error:
        return Content(items=[str(error)])
    labels = [one for own in said.values() for one in own if one.label is not None]
    if not labels:
        return Content()
    people = ", ".join(sorted({one.annotator for one in labels}))
    answers = counted(len({(one.run, one.query_id) for one in labels}), "answer")
    found = {
        scale: list(_corrected(reported.group, scale, said))
        for scale in labelled_scales([one.dimension for one in labels])
    }
    few = [one for own in found.values() for one in own if one.both.why]
    items = list(dict.fromkeys(_why(one) for one in few))
    for one in (one for own in found.values() for one in own if one.n_unscored):
        unscored = f"{counted(one.n_unscored, 'labelled answer')} without a score, such as abstentions"
        named = f"{printable(one.view.shown)}, {printable(one.measure)}"
        items.append(f"{named}: {unscored}, left out, also from the labels alone.")
    tables = []
    for scale, own in found.items():
        if own:
            rows = tuple(_row(reported.group, one) for one in own)
            tables.append(Table(f"labels-{scale.dimension.replace('_', '-')}", scale.title, _HEADER, rows, _NOTE))
    return Content(paragraphs=[f"{answers} labelled by {people}."], items=items, tables=tables)


def _corrected(
    group: Group, scale: LabelScale, said: Mapping[str, Sequence[Annotation]]
) -> Iterator[CorrectedMean]:
    known = [one for name in group.measures if (one := group.known.get(name))]
    measures = [
        one for one in known if one.stands_for == scale.dimension and (one.is_share or one.range is not None)
    ]
    for view in group.views:
        labels = _labels(said[view.run.run_id], scale)
        for measure in measures if labels else ():
            values: Mapping[str, float] = view.values.get(measure.name, {})
            scores = {
                query: _on_scale(measure, value) for query, value in values.items() if view.has_answer(query)
            }
            own = {query: label for query, label in labels.items() if query in scores}
            if own:
                mean = fmean([*scores.values(), *[0.0] * (len(values) - len(scores))])
                share = len(scores) / len(values)
                alone = _with_failures(powered_mean(own, dict.fromkeys(own, 0.0)), share)
                both = _with_failures(powered_mean(own, scores), share)
                yield CorrectedMean(view, measure.name, mean, alone, both, len(labels) - len(own))


def _with_failures(found: PoweredMean, share: float) -> PoweredMean:
    """The mean over all queries if missing answers have the worst value. `share`: of queries with an answer."""
    low, high = found.interval
    interval = Interval(None if low is None else share * low, None if high is None else share * high)
    return replace(found, value=None if found.value is None else share * found.value, interval=interval)


def _on_scale(measure: Measure, value: float) -> float:
    """The worst value as 0, the best as 1."""
    low, high = measure.range or (0.0, 1.0)
    share = (value - low) / (high - low)
    return share if measure.higher_is_better else 1 - share


def _labels(said: Sequence[Annotation], scale: LabelScale) -> dict[str, float]:
    """Query -> mean label of its annotators, from 0 to 1."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in said:
        if one.dimension == scale.dimension and one.label is not None:
            found[one.query_id].append((one.label - LOWEST) / (HIGHEST - LOWEST))
    return {query: fmean(labels) for query, labels in found.items()}


def _row(group: Group, one: CorrectedMean) -> tuple[Entry, ...]:
    labels = Quantity(one.both.n_labels, of=one.both.n_labels + one.both.n_others, unit="count")
    scored = Quantity(one.scored, unit="share")
    alone, both = (Quantity(mean.value, *mean.interval, unit="share") for mean in (one.alone, one.both))
    weight = Quantity(one.both.power, unit="coefficient")
    corrected = (None, None) if one.both.why else (both, weight)
    return printable(one.view.shown), group.display_name(one.measure), scored, labels, alone, *corrected


def _why(one: CorrectedMean) -> str:
    if one.both.n_labels < FEWEST_LABELS:
        return (
            f"Fewer than {FEWEST_LABELS} labels of a run cannot correct a judge: they say too little about its "
            "accuracy. The mean of the labels alone is shown."
        )
    return f"{printable(one.view.shown)}, {printable(one.measure)}: {one.both.why}."


SPEC = SectionSpec("graded", "What people say", content)
