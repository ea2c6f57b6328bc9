"""Which differences between runs are more than chance: a matrix by the measure that ranks, and all pairs by
each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.display import Quantity, Table, printable
from harness.display.types import NumberForm
from harness.report.comparison import tables
from harness.report.comparison.compare import Comparison
from harness.report.verdict.findings import Findings
from harness.report.view import Group
from harness.statistics.paired_comparison import MeasureComparison

_HOLDS = {
    (True, True): "yes",
    (False, True): "on these documents only",
    (False, False): "no",
}


def leads_table(findings: Findings) -> Table | None:
    """The best run against each other one, each tested alone; None if nothing was compared."""
    ranking = findings.ranking
    if ranking is None or ranking.ranked is None or not ranking.leads:
        return None
    unit: NumberForm = "points" if ranking.is_share else "two"
    best = printable(ranking.view(ranking.order[0]).label)
    rows = tuple(
        (
            printable(ranking.view(lead.place).label),
            Quantity(lead.difference, *lead.interval, unit=unit, signed=True),
            _HOLDS[lead.is_shown, lead.is_shown_here],
            Quantity(lead.n_missing, unit="count"),
        )
        for lead in ranking.leads
    )
    note = (
        "Positive: the best run is better. Each comparison is made at 5 % alone, because a winner must beat every "
        "other run (intersection-union test). The interval spans what missing values may be."
    )
    header = ("against", "lead [95 %]", "better at 5 %, alone", "missing values")
    return Table("leads", f"{best} against the others: {printable(ranking.spoken)}", header, rows, note=note)


def matrix_table(group: Group, findings: Findings) -> Table | None:
    """Differences between all runs by the metric that ranks, the best first; None if nothing was compared."""
    comparison, compared = findings.comparison, findings.ranked
    if comparison is None or compared is None:
        return None
    return tables.matrix_table(_names(group, comparison), findings.compared_order, compared)


def pair_tables(group: Group, findings: Findings) -> list[Table]:
    """Every pair by each measure that was compared."""
    comparison = findings.comparison
    if comparison is None:
        return []
    names = _names(group, comparison)
    return [_pairs(names, compared, findings) for compared in comparison.measures if compared.pairs]


def _pairs(names: Sequence[str], compared: MeasureComparison, findings: Findings) -> Table:
    """One measure ranks; by the others nothing was decided, and each is a family of its own."""
    table = tables.pair_table(names, compared)
    if compared.measure.name == findings.measure:
        return replace(table, title=f"{table.title} (the metric that ranks)")
    return replace(table, title=f"{table.title}{tables.BESIDES}")


def _names(group: Group, comparison: Comparison) -> list[str]:
    """The label of each run compared, as in the rest of the report."""
    labels = {view.run.run_id: view.label for view in group.views}
    return [printable(labels.get(one.run.run_id, one.label)) for one in comparison.runs]
