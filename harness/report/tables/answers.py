"""How good the answers are: the leaderboard, accuracy by type, refusals."""

from __future__ import annotations

from harness.analysis import NATURAL, OVERALL
from harness.report.contest import REFUSALS
from harness.report.findings import Findings
from harness.report.nouns import Table
from harness.report.text import NOTHING, number, population, printable, ratio, type_name
from harness.report.view import Group

ACCURACY = "accuracy"
ANSWER_MEASURES = (ACCURACY, *REFUSALS)


def leaderboard(group: Group, findings: Findings) -> Table:
    """Every run, the best first, with what it costs."""
    measure = findings.measure
    named = printable(measure) if measure else "score"
    header: tuple[str, ...] = (
        "system",
        "rank",
        f"{named} [95 % CI]",
        "n",
        "tokens a query",
        "latency p50, s",
        "USD a query",
    )
    header += ("index tokens", "index USD")
    rows = []
    for place in findings.order:
        view = group.views[place]
        row = view.row(measure) if measure else None
        costs = (
            view.value("tokens"),
            view.value("latency_s_p50"),
            view.value("usd"),
            view.value("index_tokens"),
            view.value("index_usd"),
        )
        rows.append(
            (printable(view.label), findings.ranks[place], ratio(row), population(row), *map(number, costs))
        )
    note = (
        "Runs that share ranks are no different by a paired test. Tokens and dollars of a query are means; "
        "the index is counted once, whoever paid for it."
    )
    return Table("leaderboard", "Leaderboard", header, tuple(rows), note=note)


def accuracy_table(group: Group) -> Table | None:
    """Accuracy overall, in the natural mix and by type, each with its interval; None where nothing was scored."""
    if not _any(group, (ACCURACY,)):
        return None
    types = group.query_types
    header = ("system", "n", "of them failed", "overall", "natural mix", *map(type_name, types))
    rows = []
    for view in group.views:
        overall = view.row(ACCURACY)
        failed = f"{overall.n_imputed:,}" if overall else NOTHING
        intervals = [ratio(view.row(ACCURACY, name)) for name in (OVERALL, NATURAL, *types)]
        rows.append((printable(view.label), population(overall), failed, *intervals))
    return Table("accuracy", "Accuracy by type", header, tuple(rows))


def refusals_table(group: Group) -> Table | None:
    """Answers to queries that have none, and refusals of those that have one; None where neither was measured."""
    if not _any(group, REFUSALS):
        return None
    header = ("system", "hallucination rate", "null queries", "false abstention rate", "answerable queries")
    rows = []
    for view in group.views:
        measured = [view.row(measure) for measure in REFUSALS]
        cells = [cell for row in measured for cell in (ratio(row), population(row))]
        rows.append((printable(view.label), *cells))
    return Table("refusals", "Unanswerable queries and refusals", header, tuple(rows))


def _any(group: Group, measures: tuple[str, ...]) -> bool:
    return any(view.row(measure) for view in group.views for measure in measures)
