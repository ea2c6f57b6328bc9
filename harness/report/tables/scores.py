"""Tables of scores: by query type, by metric, by kind of answer; abstentions, coverage, stand-ins, judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.display import Entry, Quantity, Table, counted, file_name, number, printable
from harness.display.text_format import type_name
from harness.evaluators.score_preconditions import is_null, why_not
from harness.protocols import Measure, RunFacts, ScoreLabel
from harness.registry import EVALUATORS
from harness.report.quantities import count, part, population, quantity_of, share, values_in
from harness.report.records import ABSTAINED
from harness.report.verdict.baselines import means_over
from harness.report.verdict.types import SCORED_OTHERWISE
from harness.report.view import Group, RunView
from harness.statistics.cost import PREFIX
from harness.statistics.run_frame import NATURAL, OVERALL

_MOST_NAMED = 4
_OTHERWISE = (
    "Scored in another way: by another judge or version, with other parameters or weights than most; such a value "
    "is compared with no other."
)
_REFUSED = (
    "A measure that says nothing of an abstention has a mean over other queries in every run: compare the rows "
    "over the queries of all, and those in which an abstention on an answerable query counts as the worst, "
    "which are shown and not tested: tests are over the queries of all."
)


def by_type_table(group: Group, measure: str) -> Table:
    types = group.query_types
    header = ("system", "n", "of them failed", "overall", "natural mix", *map(type_name, types))
    rows: list[tuple[Entry, ...]] = []
    others = group.scored_otherwise(measure)
    for view in group.views:
        overall = view.row(measure)
        failed = count(overall.n_imputed) if overall else None
        intervals = [share(view.row(measure, name)) for name in (OVERALL, NATURAL, *types)]
        apart = f" ({SCORED_OTHERWISE})" if view.run.run_id in others else ""
        rows.append((f"{printable(view.shown)}{apart}", population(overall), failed, *intervals))
    spoken = group.display_name(measure)
    return Table(file_name(measure), f"{spoken[:1].upper()}{spoken[1:]} by type", header, tuple(rows))


def measure_table(group: Group, name: str, title: str, measures: Sequence[str]) -> Table:
    """Overall means of metrics, a column for each run.

    A metric that does not apply to some answers has three rows: over the values of each run; over the queries that
    all finished runs have; and with the worst value for each refused answerable query.
    """
    header = ("measure", *[printable(view.shown) for view in group.views])
    others = {measure: group.scored_otherwise(measure) for measure in measures}
    refusals = {measure: found for measure in measures if (found := _refusals_of(group, measure))}
    rows: list[tuple[Entry, ...]] = []
    for measure in measures:
        found = refusals.get(measure)
        own = [_own(view, measure, found) for view in group.views]
        apart = [view.run.run_id in others[measure] for view in group.views]
        alike = [None if other else entry for entry, other in zip(own, apart, strict=True)]
        rows.append((printable(measure), *alike))
        rows += _on_alike_queries(group, found) if found else []
        if any(apart):
            left = [entry if other else None for entry, other in zip(own, apart, strict=True)]
            rows.append((f"{printable(measure)}, scored in another way", *left))
    notes = [_REFUSED] if refusals else []
    notes += [_OTHERWISE] if any(others.values()) else []
    return Table(f"measures-{_stem(name)}", title, header, tuple(rows), note=" ".join(notes), is_long=True)


class _Refusals(NamedTuple):
    """Answers to which a metric does not apply: without them a system gains by refusing what is hard."""

    measure: Measure
    views: Sequence[RunView]
    """The complete runs that have it, scored in the same way."""
    applies: frozenset[str]
    """The queries to which the metric applies, whatever the answer."""
    refused: Mapping[str, frozenset[str]]
    """By run id: the answerable ones among them that were refused, and so have no value."""


def _refusals_of(group: Group, name: str) -> _Refusals | None:
    """Of a metric that reads answers, and has no value for some answer of a run; else None."""
    measure, others = group.known.get(name), group.scored_otherwise(name)
    if measure is None or "answer" not in measure.reads:
        return None
    views = [view for view in group.views if view.is_complete and view.values.get(name)]
    views = [view for view in views if view.run.run_id not in others]
    if all(len(view.values[name].expected) == len(view.frame.query_types) for view in views):
        return None
    references = (row.reference for row in group.widest.sample.values())
    # Query id -> whether it has an answer.
    about = {one.query_id: not is_null(one) for one in references if not why_not(measure, one, RunFacts())}
    applies, refused = frozenset[str]().union(*(view.values[name].expected for view in views)), {}
    for view in views:
        unmeasured = about.keys() - view.values[name].expected
        abstained = {query_id for query_id in unmeasured if view.became(query_id, ABSTAINED)}
        applies |= abstained
        refused[view.run.run_id] = frozenset(query_id for query_id in abstained if about[query_id])
    is_partial = any(applies - view.values[name].expected for view in views)
    return _Refusals(measure, views, applies, refused) if is_partial else None


def _own(view: RunView, measure: str, found: _Refusals | None) -> Quantity | None:
    """The mean over the values of a run, and how many of the applicable queries those are."""
    shown = share(view.row(measure), with_n=True)
    if shown is None or found is None:
        return shown
    return replace(shown, of=max(len(found.applies) * view.frame.repeats, shown.n or 0))


def _on_alike_queries(group: Group, found: _Refusals) -> Iterator[tuple[Entry, ...]]:
    """The rows that may be compared: over the queries of all, and with the worst for each refused one."""
    name, measure = printable(found.measure.name), found.measure
    values = {view.run.run_id: view.values[measure.name] for view in found.views}
    common = frozenset.intersection(*map(frozenset, values.values()))
    on_common = {run: {query_id: own[query_id] for query_id in common} for run, own in values.items()}
    yield f"{name}, on the {counted(len(common), 'query', 'queries')} of all", *_means(group, measure, on_common)
    if any(found.refused.values()):
        worst = measure.failure_value or 0.0
        refused = {run: dict.fromkeys(sorted(own), worst) for run, own in found.refused.items()}
        counting = {run: {**own, **refused[run]} for run, own in values.items()}
        shown = f"{name}, abstained counts {number(measure.failure_value)}"
        yield shown, *_means(group, measure, counting)


def _means(group: Group, measure: Measure, values: Mapping[str, Mapping[str, float]]) -> Iterator[Quantity | None]:
    for view in group.views:
        own = values.get(view.run.run_id)
        rows = () if own is None else means_over(view.frame, measure.name, measure.ends, own, frozenset(own))
        yield share(next((row for row in rows if row.query_type == OVERALL), None), with_n=True)


def coverage_table(group: Group, evaluator: str) -> Table | None:
    """How many answers have a value, and why the others have none; metrics with the same counts share a row."""
    header = ("system", "measures", "scored", "imputed", "failed", "not applicable", "with a value")
    rows = tuple(row for view in group.views for row in _covered(view, evaluator))
    if not rows:
        return None
    note = (
        "Imputed: the system failed, so that the worst value counts. Failed: the score could not be computed; it "
        "is in no mean. Not applicable: the measure says nothing about such a query or answer."
    )
    title = f"{printable(evaluator)}: coverage"
    return Table(f"coverage-{_stem(evaluator)}", title, header, rows, note=note, is_detail=True)


def _covered(view: RunView, evaluator: str) -> Iterator[tuple[Entry, ...]]:
    alike: dict[tuple[int, int, int, int], list[str]] = {}
    for name in (name for one in view.evaluations if one.evaluator == evaluator for name in one.measures):
        row = view.row(name)
        own = (row.n_scored, row.n_imputed, row.n_failed) if row else (0, 0, 0)
        not_applicable = view.n_expected - (row.n_expected if row else 0)
        alike.setdefault((*own, not_applicable), []).append(printable(name))
    for (scored, imputed, failed, not_applicable), names in alike.items():
        counts = map(count, (scored, imputed, failed, not_applicable))
        shown = ", ".join(names)
        if len(names) > _MOST_NAMED:
            shown = f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1:,} more"
        with_value = part(scored + imputed, scored + imputed + failed)
        yield (printable(view.label), shown, *counts, with_value)


def twin_table(group: Group) -> Table | None:
    """Correlation of a metric with the cheaper one that stands in for it; None if no run has both."""
    header = ("system", "measure", "stands in for", "queries", "Spearman", "Kendall", "Pearson")
    rows: list[tuple[Entry, ...]] = [
        (
            printable(view.label),
            printable(one.twin),
            printable(one.measure),
            count(one.correlation.n),
            *(
                Quantity(found.value, *found.interval, unit="coefficient")
                for found in (one.correlation.spearman, one.correlation.kendall, one.correlation.pearson)
            ),
        )
        for view in group.views
        for one in view.twins
    ]
    return Table("twins", "Metrics and their stand-ins", header, tuple(rows)) if rows else None


def _stem(name: str) -> str:
    return file_name(printable(name, 40))


def kinds_table(group: Group, measure: Measure) -> Table:
    """A row for all of them, and one for each kind that any run has, in the measure's order."""
    every = [share(view.row(measure.name), with_n=True) for view in group.views]
    rows: list[tuple[Entry, ...]] = [(f"{printable(measure.display_name)}, all", *every)]
    for label in found_labels(group, measure):
        counts = [
            part(view.n_labelled(measure, label), values_in(row))
            if (row := view.row(measure.name)) and row.mean is not None
            else None
            for view in group.views
        ]
        rows.append((printable(label.title), *counts))
    title = printable(f"{measure.display_name[:1].upper()}{measure.display_name[1:]}, by kind")
    note = "Each has exactly one kind. In how many of the answers that were judged."
    header = ("kind", *[printable(view.shown) for view in group.views])
    return Table(f"kinds-{measure.name}", title, header, tuple(rows), note=note)


def advice(group: Group, measures: Sequence[Measure]) -> list[str]:
    found: dict[tuple[str, str], int] = {}
    for measure in measures:
        for label in found_labels(group, measure):
            answers = sum(view.n_labelled(measure, label) for view in group.views)
            key = (printable(label.title), printable(label.advice, 400))
            found[key] = max(found.get(key, 0), answers)
    ordered = sorted(found, key=lambda key: -found[key])
    return [f"{title[:1].upper()}{title[1:]}: {tried}" for title, tried in ordered if tried]


def found_labels(group: Group, measure: Measure) -> list[ScoreLabel]:
    """The labels that any run has, in the metric's order; then unknown ones, by name."""
    given = {name for view in group.views for name in view.labelled.get(measure.name, {})}
    unknown = sorted(given - {label.name for label in measure.labels})
    known = [label for label in measure.labels if label.name in given]
    return [*known, *(ScoreLabel(name, name, "") for name in unknown)]


def judge_table(group: Group) -> Table | None:
    header: tuple[str, ...] = ("system", "evaluator", "models", "scores", "model calls", "paid before")
    header += ("input tokens", "output tokens", "USD", "seconds")
    rows = tuple(row for view in group.views for row in _judged(view))
    return Table("judges", "Judges", header, rows) if rows else None


def judges_left(group: Group) -> str:
    """Evaluators with a judge that scored none of these runs, and how to estimate their cost; empty: none."""
    scored = {one.evaluator for one in group.evaluations}
    left = [spec.name for spec in EVALUATORS.load_all()[0] if "judge" in spec.roles and spec.name not in scored]
    if not left:
        return ""
    answers = counted(sum(view.n_answered for view in group.views), "answer")
    first = printable(left[0])
    return (
        f"Not used, because they need a judge: {printable(', '.join(left))}. Each needs at least one model call "
        f"per answer, and these runs have {answers}. To estimate the cost: `rag-harness estimate --set "
        f"evaluators=[{first}]`. To use one: `rag-harness evaluate RUN -e {first}`."
    )


def _judged(view: RunView) -> Iterator[tuple[Entry, ...]]:
    for evaluation in view.evaluations:
        if not evaluation.models:
            continue
        names = [f"{model.get('provider', '')}/{model.get('model', '')}" for model in evaluation.models.values()]
        scores = [row for row in map(view.row, evaluation.measures) if row]
        expected = sum(row.n_expected for row in scores)
        with_value = part(expected - sum(row.n_failed for row in scores), expected) if expected else None
        quantities = ("model_calls", "replayed_calls", "input_tokens", "output_tokens", "usd", "spent_s")
        yield (
            printable(view.label),
            printable(evaluation.evaluator),
            printable(", ".join(names)),
            with_value,
            *[quantity_of(view.value(f"{PREFIX}{evaluation.evaluator}_{name}")) for name in quantities],
        )
