"""One metric by query type."""

from __future__ import annotations

from harness.display import Entry, Table, file_name, printable
from harness.display.text_format import type_name
from harness.report.aggregates import count, population, share
from harness.report.verdict.standings import SCORED_OTHERWISE
from harness.report.view import Group
from harness.statistics import NATURAL, OVERALL


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
