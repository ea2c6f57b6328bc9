"""What evaluators measured, a table for each, and what their judgements took."""

from collections.abc import Iterable

from harness.analysis import Aggregate
from harness.analysis.correlation import Coefficient
from harness.analysis.derived import DERIVED
from harness.analysis.judging import PREFIX
from harness.report.tables import ANSWER_MEASURES, Lines, is_cost, table
from harness.report.text import NOTHING, markdown, number, population, ratio
from harness.report.view import Group, RunView

_OTHERS = "other"


def measure_tables(group: Group) -> Lines:
    """Overall means of all but the accuracy table's measures, by evaluator; nothing where there are none."""
    lines: Lines = []
    for evaluator, measures in measures_by_evaluator(group).items():
        header = [f"{markdown(evaluator)}: measure", *[markdown(view.label) for view in group.views]]
        rows = [[markdown(name), *[_with_counts(view.row(name)) for view in group.views]] for name in measures]
        lines += [*([""] if lines else []), *table(header, rows)]
    return lines


def measures_by_evaluator(group: Group) -> dict[str, list[str]]:
    """Evaluator -> its measures that have a row in any run, in the evaluator's own order, the main ones first."""
    present = [name for name in group.measures if name not in ANSWER_MEASURES and not is_cost(name)]
    found: dict[str, list[str]] = {}
    for view in group.views:
        for evaluation in view.evaluations:
            own = found.setdefault(evaluation.evaluator, [])
            names = [name for measure in evaluation.measures for name in (measure, DERIVED.get(measure))]
            own += [name for name in names if name in present and name not in own]
    owned = {name for names in found.values() for name in names}
    found[_OTHERS] = [name for name in present if name not in owned]
    return {evaluator: names for evaluator, names in found.items() if names}


def judge_table(group: Group) -> Lines:
    """What was asked of judges: it is the evaluation's cost, not the system's; nothing where nobody was asked."""
    header = ["system", "evaluator", "models", "scores", "model calls", "paid before", "input tokens"]
    header += ["output tokens", "USD", "seconds"]
    rows = [row for view in group.views for row in _judged(view)]
    return table(header, rows) if rows else []


def twin_table(group: Group) -> Lines:
    """How a measure and the cheaper one that stands in for it go together; nothing where no run has both."""
    header = ["system", "measure", "stands in for", "queries", "Spearman", "Kendall", "Pearson"]
    rows = [
        [
            markdown(view.label),
            markdown(one.twin),
            markdown(one.measure),
            f"{one.correlation.n:,}",
            *map(_coefficient, (one.correlation.spearman, one.correlation.kendall, one.correlation.pearson)),
        ]
        for view in group.views
        for one in view.twins
    ]
    return table(header, rows) if rows else []


def _coefficient(found: Coefficient) -> str:
    if found.value is None:
        return NOTHING
    return f"{found.value:.2f} [{found.interval.low:.2f}, {found.interval.high:.2f}]"


def _judged(view: RunView) -> Iterable[list[str]]:
    for evaluation in view.evaluations:
        if not evaluation.models:
            continue
        names = [f"{model.get('provider', '')}/{model.get('model', '')}" for model in evaluation.models.values()]
        scores = [view.row(name) for name in evaluation.measures]
        quantities = ("model_calls", "replayed_calls", "input_tokens", "output_tokens", "usd", "spent_s")
        yield [
            markdown(view.label),
            markdown(evaluation.evaluator),
            markdown(", ".join(names)),
            _coverage([row for row in scores if row]),
            *[number(view.value(f"{PREFIX}{evaluation.evaluator}_{name}")) for name in quantities],
        ]


def _coverage(rows: list[Aggregate]) -> str:
    """How many of the scores have a value."""
    expected = sum(row.n_expected for row in rows)
    return f"{expected - sum(row.n_failed for row in rows):,} of {expected:,}" if expected else NOTHING


def _with_counts(row: Aggregate | None) -> str:
    return f"{ratio(row)} (n = {population(row)})" if row else NOTHING
