"""How good the answers are: the leaderboard, and one measure by query type."""

from __future__ import annotations

from harness.analysis import NATURAL, OVERALL
from harness.display import Entry, Quantity, Table, file_name, printable
from harness.display.text import type_name
from harness.report.aggregates import amount, count, lower_bound, plain, population, share
from harness.report.view import Group, RunView
from harness.report.words.findings import Findings

COUNTED = ("tokens", "usd")
"""Costs of which a server may not have counted all."""


def leaderboard(group: Group, findings: Findings) -> Table:
    """Every run, the best first, with what it costs."""
    measure = findings.measure
    named = printable(measure) if measure else "score"
    header: tuple[str, ...] = ("system", "rank", f"{named} [95 % CI]", "n", "tokens a query", "latency p50, s")
    header += ("USD a query", "index tokens", "index USD")
    costs = ("tokens", "latency_s_p50", "usd", "index_tokens", "index_usd")
    rows: list[tuple[Entry, ...]] = []
    for line in findings.lines(group):
        score = amount(line.row) if measure in group.costs else share(line.row)
        spent = [spent_by(line.view, cost) if line.view else None for cost in costs]
        rows.append((printable(line.named, 100), line.rank, score, population(line.row), *spent))
    mix = "types weighed as in the whole data set" if findings.is_natural else "each query counting the same"
    note = (
        f"Means over the queries that all ranked runs have, {mix}. Runs that share ranks are not told apart by a "
        "paired test; what stands behind a bracket has no rank. Tokens and dollars of a query are means, "
        "lower bounds (≥) where not all were counted; the index is counted once, whoever paid for it."
    )
    return Table("leaderboard", "Leaderboard", header, tuple(rows), note=note)


def spent_by(view: RunView, cost: str) -> Quantity | None:
    """What a query, or the index, takes; of what was not counted as a whole, a lower bound."""
    if cost in COUNTED and view.is_complete:
        return lower_bound(view.row(cost))
    if cost == "index_tokens" and view.value(cost) is None:
        index = view.run.index()
        known = sum(one.input_tokens + one.output_tokens for one in index.cost.usage.values()) if index else 0
        return Quantity(known, at_least=True) if known else None
    return plain(view.value(cost))


def by_type_table(group: Group, measure: str) -> Table:
    """A measure overall, in the natural mix and by type, each with its interval."""
    types = group.query_types
    header = ("system", "n", "of them failed", "overall", "natural mix", *map(type_name, types))
    rows: list[tuple[Entry, ...]] = []
    for view in group.views:
        overall = view.row(measure)
        failed = count(overall.n_imputed) if overall else None
        intervals = [share(view.row(measure, name)) for name in (OVERALL, NATURAL, *types)]
        rows.append((printable(view.shown), population(overall), failed, *intervals))
    spoken = group.spoken(measure)
    return Table(file_name(measure), f"{spoken[:1].upper()}{spoken[1:]} by type", header, tuple(rows))
