"""How good the answers are: the leaderboard, and one measure by query type."""

from __future__ import annotations

from harness.display import Entry, Table, file_name, printable
from harness.display.text_format import type_name
from harness.report.aggregates import count, population, share
from harness.report.view import Group
from harness.report.words.findings import Findings
from harness.report.words.standings import SCORED_OTHERWISE
from harness.statistics import NATURAL, OVERALL


def leaderboard(group: Group, findings: Findings) -> Table:
    """Every run, the best first, with what it costs."""
    measure = findings.measure
    named = printable(measure) if measure else "score"
    header: tuple[str, ...] = ("system", "rank", f"{named} [95 % CI]", "n", "tokens a query", "latency p50, s")
    header += ("USD a query", "index tokens", "index USD")
    costs = ("tokens", "latency_s_p50", "usd", "index_tokens", "index_usd")
    rows: list[tuple[Entry, ...]] = []
    for line in findings.lines(group):
        spent = map(line.spent, costs)
        rows.append((printable(line.named, 100), line.rank, line.mean, population(line.row), *spent))
    note = (
        f"Means over the queries that all ranked runs have, {findings.weighed}. Runs that share ranks are "
        "statistically tied in a paired test; baselines have no rank. Tokens and dollars of a query are "
        "means in the same mix, lower bounds (≥) where not all were counted; latency is the median of the sampled "
        "queries; the index is counted once, whoever paid for it."
    )
    return Table("leaderboard", "Leaderboard", header, tuple(rows), note=note)


def by_type_table(group: Group, measure: str) -> Table:
    """A measure overall, in the natural mix and by type, each with its interval."""
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
    spoken = group.spoken(measure)
    return Table(file_name(measure), f"{spoken[:1].upper()}{spoken[1:]} by type", header, tuple(rows))
