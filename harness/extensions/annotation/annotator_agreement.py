"""Agreement of the annotators of some runs, and what is still missing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.core.records import Annotation, Dimension
from harness.display import Content, Quantity, Table, counted
from harness.extensions.annotation.label_scales import LabelScale, labelled_scales
from harness.statistics.agreement import AgreementFigure, RatedItem, ordinal_alpha, weighted_kappa


@dataclass(frozen=True)
class DimensionAgreement:
    dimension: Dimension
    title: str
    annotators: tuple[str, ...]
    statistic: str
    """alpha, of all annotators, or kappa, of two."""
    figure: AgreementFigure
    n_labelled: int
    """Answers that at least one of them labelled."""
    n_cannot_tell: int


def agreements(annotations: Sequence[Annotation]) -> list[DimensionAgreement]:
    """By dimension: of all annotators together, then of each two. Empty: fewer than two people labelled."""
    names = _names(annotations)
    if len(names) < 2:
        return []
    scales = labelled_scales([one.dimension for one in annotations])
    everyone_and_pairs = [tuple(names), *combinations(names, 2)]
    return [
        _agreement(annotations, scale, people, is_alpha=place == 0)
        for scale in scales
        for place, people in enumerate(everyone_and_pairs)
    ]


def agreement_content(annotations: Sequence[Annotation]) -> Content:
    """The same as text and a table; also what cannot be computed, and why."""
    found, people = agreements(annotations), _names(annotations)
    if not found:
        alone = (
            f"Only {people[0]} has labelled: agreement needs two annotators." if people else "Nobody has labelled."
        )
        return Content(paragraphs=[alone])
    said = []
    for name in people:
        own = [one for one in annotations if one.dimension and one.annotator == name]
        answers = counted(len({(one.run, one.query_id) for one in own}), "answer")
        unknown = sum(one.cannot_tell for one in own)
        more = f", {unknown:,} times 'cannot tell'" if unknown else ""
        said.append(f"{name}: {counted(len(own) - unknown, 'label')} of {answers}{more}")
    for one in found:
        both = " and ".join(one.annotators)
        if not one.figure.n_items:
            same = "the same --fraction and --seed show both the same"
            said.append(f"{both} have labelled no answer in common: {same}.")
        elif one.figure.why:
            said.append(f"{one.title}, {one.statistic} of {both}: {one.figure.why}.")
    rows = tuple(
        (
            one.title,
            " + ".join(one.annotators),
            Quantity(figure.n_items, of=one.n_labelled, unit="count"),
            Quantity(figure.same, *figure.same_interval, unit="%"),
            one.statistic,
            Quantity(figure.value, *figure.interval, unit="coefficient"),
        )
        for one in found
        for figure in (one.figure,)
    )
    header = ("dimension", "annotators", "items", "same label (%)", "of", "agreement (95 % CI)")
    note = (
        "Cohen's kappa, of each two, with quadratic weights; Krippendorff's alpha, of all, ordinal: 1 is perfect, "
        "0 is chance. Items: answers that two or more labelled. Intervals leave out one query at a time."
    )
    table = Table("agreement", "Agreement between annotators", header, rows, note)
    return Content(items=list(dict.fromkeys(said)), tables=[table])


def agreement_json(annotations: Sequence[Annotation]) -> list[dict[str, object]]:
    return [
        {
            "dimension": one.dimension,
            "annotators": list(one.annotators),
            "statistic": one.statistic,
            "items": one.figure.n_items,
            "labelled": one.n_labelled,
            "cannot_tell": one.n_cannot_tell,
            "value": one.figure.value,
            "ci_low": one.figure.interval.low,
            "ci_high": one.figure.interval.high,
            "same": one.figure.same,
            "same_ci_low": one.figure.same_interval.low,
            "same_ci_high": one.figure.same_interval.high,
            "why": one.figure.why,
        }
        for one in agreements(annotations)
    ]


def _agreement(
    annotations: Sequence[Annotation], scale: LabelScale, people: tuple[str, ...], *, is_alpha: bool
) -> DimensionAgreement:
    own = [one for one in annotations if one.dimension == scale.dimension and one.annotator in people]
    labels: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    """(run, query) -> annotator -> label."""
    for one in own:
        if one.label is not None:
            labels[one.run, one.query_id][one.annotator] = one.label
    items = [
        RatedItem(query, tuple(given[name] for name in people if name in given))
        for (_, query), given in labels.items()
        if is_alpha or len(given) == 2
    ]
    statistic, figure = ("alpha", ordinal_alpha(items)) if is_alpha else ("kappa", weighted_kappa(items))
    unknown = sum(one.cannot_tell for one in own)
    return DimensionAgreement(scale.dimension, scale.title, people, statistic, figure, len(labels), unknown)


def _names(annotations: Sequence[Annotation]) -> list[str]:
    """Who gave labels; a note is none."""
    return sorted({one.annotator for one in annotations if one.dimension})
