"""Which differences between runs are more than chance: a matrix by the main measure, and all pairs by each."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.paired import MeasureComparison, Pair, Place
from harness.report.comparison import text
from harness.report.comparison.compare import Comparison
from harness.report.findings import Findings
from harness.report.nouns import Table
from harness.report.text import NOTHING, file_name, printable
from harness.report.view import Group


def matrix_table(group: Group, findings: Findings) -> Table | None:
    """Row less column by the measure that ranks, the best run first; None where nothing was compared."""
    compared = _ranking(findings)
    if findings.comparison is None or compared is None:
        return None
    names = _names(group, findings.comparison)
    order = _order(group, findings)
    pairs = {(pair.a, pair.b): pair for one in compared.pairs for pair in (one, one.turned)}
    rows = tuple((names[a], *[_against(compared, (a, b), pairs) for b in order]) for a in order)
    measure = printable(compared.measure.name)
    note = (
        f"Row minus column, {measure}, with its 95 % interval over queries. {_described(compared)}. "
        "> the row is better, < the column is, ~ no more than chance (which is no proof of equality)."
    )
    title = f"Who differs from whom: {measure}"
    return Table("significance", title, ("system", *[names[place] for place in order]), rows, note=note)


def pair_tables(group: Group, findings: Findings) -> list[Table]:
    """Every pair by each measure that was compared."""
    if findings.comparison is None:
        return []
    names = _names(group, findings.comparison)
    return [_pair_table(names, compared) for compared in findings.comparison.measures if compared.pairs]


def _pair_table(names: Sequence[str], compared: MeasureComparison) -> Table:
    result = {"a": "A is better", "b": "B is better", "tie": "tie", "differ": "they differ"}
    rows = tuple(
        (f"{names[pair.a]}, {names[pair.b]}", *text.pair_cells(compared, pair), result[compared.verdict(pair)])
        for pair in compared.pairs
    )
    measure = printable(compared.measure.name)
    detectable = "Detectable: the true difference that so many queries would show four times out of five."
    note = f"{_described(compared)}. {detectable}"
    return Table(
        f"pairs-{file_name(measure)}", f"Pairs: {measure}", ("A, B", *text.PAIR_HEADER, "result"), rows, note=note
    )


def _described(compared: MeasureComparison) -> str:
    text_of = text.described(compared)
    return text_of[0].upper() + text_of[1:]


def _ranking(findings: Findings) -> MeasureComparison | None:
    measures = findings.comparison.measures if findings.comparison else ()
    return next((one for one in measures if one.measure.name == findings.measure and one.pairs), None)


def _names(group: Group, comparison: Comparison) -> list[str]:
    """The label of each run compared, as in the rest of the report."""
    labels = {view.run.run_id: view.label for view in group.views}
    return [printable(labels.get(one.run.run_id, one.label)) for one in comparison.runs]


def _order(group: Group, findings: Findings) -> list[int]:
    """Positions among the runs compared, the best first."""
    ids = [one.run.run_id for one in findings.comparison.runs] if findings.comparison else []
    ordered = [group.views[place].run.run_id for place in findings.order]
    return [ids.index(run_id) for run_id in ordered if run_id in ids]


def _against(compared: MeasureComparison, place: Place, pairs: dict[Place, Pair]) -> str:
    if place[0] == place[1]:
        return ""
    pair = pairs.get(place)
    return f"{text.difference(compared, pair)} {text.SIGNS[compared.verdict(pair)]}" if pair else NOTHING
