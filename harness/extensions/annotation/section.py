"""The report section on human labels: judges' scores, corrected by people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from harness.core.records import Annotation
from harness.display import Content, Entry, Quantity, Table, counted, printable
from harness.extensions.annotation.label_scales import HIGHEST, LOWEST, LabelScale, labelled_scales
from harness.protocols import Measure
from harness.report.sections import Reported, SectionSpec, saved_beside_runs
from harness.report.view import Group
from harness.statistics.prediction_powered import FEWEST_LABELS, PoweredMean, powered_mean
from harness.store.annotations import read_annotations

_HEADER = ("system", "measure", "its mean alone", "labels", "labels alone", "both (95 % CI)", "weight")
_NOTE = (
    "All on one scale: label 1 is 0 and label 5 is 1, and so are the lowest and the highest value of a measure. "
    "Both: the measure over all answers, corrected by how it differs from the labels (PPI++); weight: how much "
    "it counts, from 0 to 1. Queries as sampled; failed ones count as 0. Labels are assumed to be a random sample."
)
_FEW = (
    f"Fewer than {FEWEST_LABELS} labels of a run cannot correct a judge: they say too little about its accuracy. "
    "The mean of the labels alone is shown."
)
_UNSCORED = "without a score, such as abstentions, left out, also from the labels alone"


def content(reported: Reported) -> Content:
    """A table for each dimension; nothing without labels."""
    found, damage = saved_beside_runs(reported.group, read_annotations)
    said = {view.run.run_id: own for view, own in found}
    labels = [one for own in said.values() for one in own if one.label is not None]
    if not labels:
        return Content(items=tuple(damage))
    people = ", ".join(sorted({one.annotator for one in labels}))
    answers = counted(len({(one.run, one.query_id) for one in labels}), "answer")
    tables: list[Table] = []
    notes: dict[str, None] = {}
    for scale in labelled_scales([one.dimension for one in labels]):
        if rows := tuple(_rows(reported.group, scale, said, notes)):
            tables.append(Table(f"labels-{scale.dimension.replace('_', '-')}", scale.title, _HEADER, rows, _NOTE))
    return Content(paragraphs=[f"{answers} labelled by {people}."], items=[*damage, *notes], tables=tables)


def _rows(
    group: Group, scale: LabelScale, said: Mapping[str, Sequence[Annotation]], notes: dict[str, None]
) -> Iterator[tuple[Entry, ...]]:
    """A row for each run and measure; all values are from 0 to 1. `notes` gets why labels do not correct one, and
    labels without a score.
    """
    known = [one for name in group.measures if (one := group.known.get(name))]
    measures = [
        one for one in known if one.stands_for == scale.dimension and (one.is_share or one.range is not None)
    ]
    for view in group.views:
        labels = _labels(said.get(view.run.run_id, ()), scale)
        for measure in measures if labels else ():
            values: Mapping[str, float] = view.values.get(measure.name, {})
            scores = {
                query: _on_scale(measure, value) for query, value in values.items() if view.has_answer(query)
            }
            own = {query: label for query, label in labels.items() if query in scores}
            if not own:
                continue
            mean = fmean([*scores.values(), *[0.0] * (len(values) - len(scores))])
            share = len(scores) / len(values)
            n, alone, both = len(own), powered_mean(own, dict.fromkeys(own, 0.0)), powered_mean(own, scores)
            row: list[Entry] = [printable(view.shown), group.display_name(measure.name)]
            row += [Quantity(mean, unit="share"), Quantity(n, of=n + both.n_others, unit="count")]
            row.append(_with_failures(alone, share))
            named = f"{printable(view.shown)}, {printable(measure.name)}"
            if both.why:
                row += [None, None]
                notes[_FEW if n < FEWEST_LABELS else f"{named}: {both.why}."] = None
            else:
                row += [_with_failures(both, share), Quantity(both.power, unit="coefficient")]
            if len(labels) > n:
                notes[f"{named}: {counted(len(labels) - n, 'labelled answer')} {_UNSCORED}."] = None
            yield tuple(row)


def _with_failures(found: PoweredMean, share: float) -> Quantity:
    """The mean over all queries if missing answers have the worst value. `share`: of queries with an answer."""
    value, low, high = (one if one is None else share * one for one in (found.value, *found.interval))
    return Quantity(value, low, high, unit="share")


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


SPEC = SectionSpec("graded", "What people say", content)
