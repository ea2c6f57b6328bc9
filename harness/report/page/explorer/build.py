"""The data of the explorer for a group of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.display.text_format import printable
from harness.report.page.explorer.details import Details
from harness.report.page.explorer.packing import Block, pack_json
from harness.report.page.explorer.reading import (
    NO_CELL,
    TEXT_CHARS,
    UNIT,
    AnswerKinds,
    RunCells,
    RunReader,
)
from harness.report.page.explorer.values import MeasureFacts, ValueTable, measure_facts
from harness.report.samples import Sample
from harness.report.tables.scores import found_labels
from harness.report.view import Group, collector_paused
from harness.store import rows_by_id

BUDGET_BYTES = 12_000_000
_QUERY_CHARS = 2_000
_GOLD_CHARS = 400
_GOLD_ANSWERS = 20


@dataclass(frozen=True)
class Explorer:
    """The explorer of one group."""

    name: str
    """The beginning of every id: letters and digits."""
    context: Mapping[str, Any]
    """For templates/explorer.html: name, n_queries, n_runs, n_detailed."""
    blocks: Sequence[Block]
    """(element id, base64 of zlib data): a <script type="application/octet-stream"> for each."""


def build_explorer(group: Group, name: str, budget_bytes: int = BUDGET_BYTES) -> Explorer:
    """Every query of a group with the answers and scores of each run.

    `budget_bytes` limits the size as base64: beyond it, contexts, traces, times and explanations of the last
    queries are left out, and the explorer says so. Queries, answers and values are always kept. Details are read a
    unit of queries at a time. The same runs and the same zlib give the same blocks.
    """
    sample = group.widest.sample if group.views else rows_by_id(())
    kinds = _kinds(group)
    with collector_paused():
        readers = [RunReader(view, sample) for view in group.views]
        cells = [reader.cells(kinds) for reader in readers]
        tables = _tables(group, readers, len(sample))
        facts = measure_facts(group, tables, name)
        values = [(fact.block, tables[fact.name].packed()) for fact in facts if fact.block]
        core = _core(sample, cells, facts, _mix(group)) | {"kinds": [one.as_json() for one in kinds]}
        room = budget_bytes - len(pack_json(core)) - sum(len(text) for _, text in values)
        details, detailed = _details((name, room), sample, [fact.name for fact in facts], readers)
    core |= {"detailed": detailed, "texts": details.first_texts}
    blocks = [(f"{name}-core", pack_json(core)), *values, *details.blocks]
    blocks.append((f"{name}-docs", pack_json(details.documents)))
    context = {"name": name, "n_queries": len(sample), "n_runs": len(cells), "n_detailed": detailed}
    return Explorer(name, context, blocks)


def _tables(group: Group, readers: Sequence[RunReader], n_rows: int) -> dict[str, ValueTable]:
    """The values of every measure that any of these queries has a score of."""
    tables: dict[str, ValueTable] = {}
    for number, (view, reader) in enumerate(zip(group.views, readers, strict=True)):
        for measure in view.scores.by_measure:
            column = reader.column(measure)
            if column.letters.strip(NO_CELL[0]):
                if measure not in tables:
                    tables[measure] = ValueTable(len(readers) * n_rows)
                tables[measure].put(number * n_rows, column)
    return tables


def _kinds(group: Group) -> list[AnswerKinds]:
    """Metrics that label answers, if any run has a label."""
    sorting = [measure for name in group.measures if (measure := group.known.get(name)) and measure.labels]
    kinds = [AnswerKinds(measure, tuple(found_labels(group, measure))) for measure in sorting]
    return [one for one in kinds if one.labels]


def _mix(group: Group) -> Mapping[str, int]:
    """Number of queries of each type in the whole data set; empty if unknown."""
    return group.widest.frame.drawn.type_mix if group.views else {}


def _details(
    where: tuple[str, int], sample: Sample, measures: Sequence[str], readers: Sequence[RunReader]
) -> tuple[Details, int]:
    """The details of as many queries as there is room for, and how many those are."""
    name, room = where
    details = Details(name, measures)
    ids = list(sample)
    for start in range(0, len(ids), UNIT):
        gold = [row.reference.evidence for row in sample.at(ids[start : start + UNIT])]
        if not details.add(gold, [reader.details(start) for reader in readers], room):
            return details, start
    return details, len(ids)


def _core(
    sample: Sample, runs: Sequence[RunCells], measures: Sequence[MeasureFacts], mix: Mapping[str, int]
) -> dict[str, Any]:
    """The data of the list and its filters."""
    types = sorted({row.reference.query_type for row in sample.values()})
    numbers = {query_type: number for number, query_type in enumerate(types)}
    return {
        "unit": UNIT,
        "cut": TEXT_CHARS,
        "types": [printable(query_type) for query_type in types],
        "mix": [mix.get(query_type, 0) for query_type in types],
        "queries": {
            "id": list(sample),
            "type": [numbers[row.reference.query_type] for row in sample.values()],
            "text": [row.query.text[:_QUERY_CHARS] for row in sample.values()],
            "gold": [
                [one[:_GOLD_CHARS] for one in row.reference.answers[:_GOLD_ANSWERS]] for row in sample.values()
            ],
        },
        "runs": [
            {
                "label": run.label,
                "id": run.run_id,
                "status": run.status,
                "answers": run.answers,
                "kinds": run.kinds,
            }
            for run in runs
        ],
        "measures": [fact.as_json() for fact in measures],
    }
