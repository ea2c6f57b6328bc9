"""Which differences between runs are more than chance: a matrix by the measure that ranks, and all pairs by
each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.display import Table, printable
from harness.report.comparison import tables
from harness.report.comparison.compare import Comparison
from harness.report.comparison.sections import BESIDES
from harness.report.view import Group
from harness.report.words.findings import Findings
from harness.statistics.paired_comparison import MeasureComparison


def matrix_table(group: Group, findings: Findings) -> Table | None:
    """Row less column by the measure that ranks, the best run first; None where nothing was compared."""
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
    found = [_pairs(names, compared, findings) for compared in comparison.measures if compared.pairs]
    if findings.priced is not None:
        others = _names(group, findings.priced)
        found += [_pairs(others, compared, findings) for compared in findings.priced.measures if compared.pairs]
    return found


def _pairs(names: Sequence[str], compared: MeasureComparison, findings: Findings) -> Table:
    """One measure ranks; by the others nothing was decided, and each is a family of its own."""
    table = tables.pair_table(names, compared)
    if compared.measure.name == findings.measure:
        return replace(table, title=f"{table.title} (the measure that ranks)")
    return replace(table, title=f"{table.title}{BESIDES}")


def _names(group: Group, comparison: Comparison) -> list[str]:
    """The label of each run compared, as in the rest of the report."""
    labels = {view.run.run_id: view.label for view in group.views}
    return [printable(labels.get(one.run.run_id, one.label)) for one in comparison.runs]
