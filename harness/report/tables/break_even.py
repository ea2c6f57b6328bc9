"""Cost of a query with its share of the index, and from how many queries on one system is cheaper than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.display import NOTHING, Quantity, Table, printable
from harness.report.quantities import cost_quantity, not_compared, share, why_no_price
from harness.report.verdict.findings import Findings
from harness.report.view import Group, RunView
from harness.statistics import Aggregate
from harness.statistics.aggregate import NATURAL
from harness.statistics.break_even import CostLine, cheaper, crossing, crossing_interval
from harness.statistics.confidence_intervals import Interval
from harness.statistics.cost import is_lower_bound

_AT = (100, 1_000, 10_000)
_REMARKS = {True: "", False: " (no significant difference)", None: " (not tested)"}
"""Remark on two lines that do not cross."""
Lines = Sequence[tuple[RunView, CostLine]]


@dataclass(frozen=True)
class CostUnit:
    """A unit of cost; `index_<measure>` is the cost of the index."""

    measure: str
    name: str
    less: str


UNITS = (CostUnit("tokens", "tokens", "fewer tokens"), CostUnit("usd", "USD", "less USD"))


def break_even_tables(group: Group, findings: Findings) -> list[Table]:
    """For tokens and for dollars: the cost of a query with its share of the index, and when each system is
    cheaper.

    The score is shown beside it. No tables for a unit in which everything was free or nothing was metered.
    """
    tables = []
    for unit in UNITS:
        lines = lines_of(group, unit)
        if lines:
            tables.append(_amortised_table(group, unit))
        if len(competing(lines, unit)) > 1:
            tables.append(_crossings_table(group, lines, unit, findings))
    return tables


def lines_of(group: Group, unit: CostUnit) -> Lines:
    """The runs with a line; none if everything was free in this unit."""
    found = [(view, line) for view in group.views if (line := _line_of(view, unit))]
    return found if any(line.index or line.per_query for _, line in found) else []


def competing(lines: Lines, unit: CostUnit) -> Lines:
    """The runs that may be called cheaper: systems that answer and were metered in full."""
    return [(view, line) for view, line in lines if not _why_outside(view, unit)]


def _line_of(view: RunView, unit: CostUnit) -> CostLine | None:
    """None if the run is not finished, if the index or its queries were not metered, or if they have no price."""
    query, index = _rows_of(view, unit)
    if not view.is_complete or index is None or index.mean is None or query is None or query.mean is None:
        return None
    return CostLine(index.mean, query.mean, Interval(query.ci_low, query.ci_high))


def _why_outside(view: RunView, unit: CostUnit) -> str:
    return why_no_price(view, unit.measure, *_rows_of(view, unit))


def _rows_of(view: RunView, unit: CostUnit) -> tuple[Aggregate | None, Aggregate | None]:
    """The cost of a query, in the natural mix of query types if known, and of the index."""
    natural = view.row(unit.measure, NATURAL)
    known = natural if natural is not None and natural.mean is not None else view.row(unit.measure)
    return known, view.row(f"index_{unit.measure}")


def _amortised_table(group: Group, unit: CostUnit) -> Table:
    at = sorted({len(group.widest.frame.query_types), *_AT})
    rows = []
    for view in group.views:
        line = _line_of(view, unit)
        bounded = any(row is not None and is_lower_bound(row) for row in _rows_of(view, unit))
        cells = [Quantity(line.amortised(n), *line.band(n), at_least=bounded) if line else None for n in at]
        rows.append((view.label, cost_quantity(view.row(f"index_{unit.measure}")), *cells))
    return Table(
        f"break_even_{unit.measure}",
        f"{unit.name} a query with its share of the index",
        ("system", f"index, {unit.name}", *(f"over {n:,} queries" for n in at)),
        tuple(rows),
        note="Mean of a query with its 95 % interval, plus its share of the index. "
        f"{NOTHING}: the index or queries were not metered, a model has no price, or the run is not finished.",
    )


def _crossings_table(group: Group, everyone: Lines, unit: CostUnit, findings: Findings) -> Table:
    lines = competing(everyone, unit)
    rows = tuple(
        (
            view.label,
            *(
                NOTHING
                if other is view
                else _cheaper(line, than, is_significant=findings.differ(view, other, unit.measure))
                for other, than in lines
            ),
        )
        for view, line in lines
    )
    left = [view for view, _ in everyone if _why_outside(view, unit)]
    table = Table(
        f"cheaper_than_{unit.measure}",
        f"At how many queries a system takes {unit.less} than another",
        ("system", *(f"than {view.label}" for view, _ in lines)),
        rows,
        note="In brackets: 95 % limits of the number of queries at which the costs are equal, from the "
        f"intervals of both means; {NOTHING} as the upper limit: it may never happen. Always and never "
        "compare means; a remark says if no paired test distinguishes the costs of a "
        f"query.{not_compared({view.label: _why_outside(view, unit) for view in left})}",
    )
    if not findings.measure:
        return table
    scores = {view.run.run_id: row for view, row in zip(group.views, findings.rows, strict=False)}
    scored = tuple((*row, share(scores.get(view.run.run_id))) for row, (view, _) in zip(rows, lines, strict=True))
    return replace(table, header=(*table.header, printable(findings.measure)), rows=scored)


def _cheaper(one: CostLine, other: CostLine, *, is_significant: bool | None) -> str:
    span, remark = cheaper(one, other), _REMARKS[is_significant]
    if span is None:
        return f"never{remark}"
    if span.is_always:
        return f"always{remark}"
    limits = crossing_interval(one, other) if crossing(one, other) else Interval(None, None)
    text = f"from {span.first:,} on" if span.last is None else f"up to {span.last:,}"
    if limits.low is None or limits.low == limits.high:
        return text
    return f"{text} [{limits.low:,.0f}, {NOTHING if limits.high is None else f'{limits.high:,.0f}'}]"
