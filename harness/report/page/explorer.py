"""The data of the explorer: every query of a group, each system's answer, and the reasons for its scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from harness.display import printable
from harness.report.page.explorer_details import Block, Details, as_json, pack, pack_json
from harness.report.page.explorer_reading import (
    NO_CELL,
    TEXT_CHARS,
    UNIT,
    AnswerKinds,
    Detail,
    RunReader,
    ShownColumn,
    ShownScore,
)
from harness.report.records import Sample
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
    # Metrics that label answers, if any run has a label.
    sorting = [group.known[one] for one in group.measures if one in group.known and group.known[one].labels]
    labelled = [(one, tuple(found_labels(group, one))) for one in sorting]
    kinds = [AnswerKinds(one, labels) for one, labels in labelled if labels]
    with collector_paused():
        readers = [RunReader(view, sample) for view in group.views]
        runs = [reader.cells(kinds) for reader in readers]
        tables = _tables(group, readers, len(sample))
        names = _ordered(group, tables)
        facts = [_facts(group, measure, tables[measure]) for measure in names]
        values = []
        for number, (measure, own) in enumerate(zip(names, facts, strict=True)):
            own["block"] = f"{name}-m{number}" if tables[measure].has_values else ""
            if own["block"]:
                values.append((own["block"], tables[measure].packed()))
        core = _core(group, sample, runs, facts) | {"kinds": [one.as_json() for one in kinds]}
        room = budget_bytes - len(pack_json(core)) - sum(len(text) for _, text in values)
        details, detailed = _details(name, room, sample, names, readers)
    core |= {"detailed": detailed, "texts": details.first_texts}
    blocks = [(f"{name}-core", pack_json(core)), *values, *details.blocks]
    blocks.append((f"{name}-docs", pack_json(details.documents)))
    context = {"name": name, "n_queries": len(sample), "n_runs": len(runs), "n_detailed": detailed}
    return Explorer(name, context, blocks)


def _details(
    name: str, room: int, sample: Sample, measures: Sequence[str], readers: Sequence[RunReader]
) -> tuple[Details, int]:
    """The details of as many queries as there is room for, and how many those are."""
    details, ids = Details(name, measures), list(sample)
    for start in range(0, len(ids), UNIT):
        gold = [row.reference.evidence for row in sample.at(ids[start : start + UNIT])]
        if not details.add(gold, [reader.details(start) for reader in readers], room):
            return details, start
    return details, len(ids)


def _core(group: Group, sample: Sample, runs: Sequence[Detail], measures: Sequence[Detail]) -> Detail:
    """The data of the list and its filters."""
    types = sorted({row.reference.query_type for row in sample.values()})
    numbers = {query_type: number for number, query_type in enumerate(types)}
    # Number of queries of each type in the whole data set; empty if unknown.
    mix = group.widest.frame.drawn.type_mix if group.views else {}
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
        "runs": list(runs),
        "measures": list(measures),
    }


class ValueTable:
    """The values of one measure: the distinct cells, and of each (run, query) which of them it has."""

    def __init__(self, n_cells: int) -> None:
        self._numbers: dict[ShownScore, int] = {NO_CELL: 0}
        self._codes = np.zeros(n_cells, np.uint32)

    def put(self, first: int, cells: ShownColumn) -> None:
        """The cells of one run, the first of them at `first` (run * queries)."""
        codes = np.zeros(len(cells.letters), np.uint32)
        for letter in dict.fromkeys(cells.letters):
            own = np.frombuffer(cells.letters.encode(), np.uint8) == ord(letter)
            distinct, which = np.unique(cells.values[own], return_inverse=True, equal_nan=True)
            numbers = [self._number(letter, value) for value in distinct.tolist()]
            codes[own] = np.array(numbers, np.uint32)[which]
        self._codes[first : first + len(codes)] = codes

    def _number(self, letter: str, value: float) -> int:
        cell = letter, None if isnan(value) else float(f"{value:.6g}")
        return self._numbers.setdefault(cell, len(self._numbers))

    @property
    def has_values(self) -> bool:
        """Whether any cell has a value."""
        return any(value is not None for _, value in self._numbers)

    @property
    def is_binary(self) -> bool:
        """Whether every value, a mean over repeats, is 0 or 1."""
        return self.has_values and all(value in {None, 0, 1} for _, value in self._numbers)

    def packed(self) -> str:
        """A line of JSON with the distinct cells, then the number of each place's cell in as few bytes as
        possible: the low byte of all, then the next.
        """
        ordered = sorted(self._numbers, key=lambda cell: (cell[0], cell[1] or 0.0))
        new = np.zeros(len(ordered), np.uint32)
        new[[self._numbers[cell] for cell in ordered]] = np.arange(len(ordered))
        raw = new[self._codes].astype("<u4").tobytes()
        width = max(1, ((len(ordered) - 1).bit_length() + 7) // 8)
        planes = b"".join(raw[byte::4] for byte in range(width))
        return pack(as_json(ordered) + b"\n" + planes)


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


def _ordered(group: Group, names: Iterable[str]) -> list[str]:
    """What ranks, then the measures of installed evaluators in their order, then the others by name."""
    rank = {name: place for place, name in enumerate(dict.fromkeys((group.ranking.name, *group.known)))}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def _facts(group: Group, measure: str, table: ValueTable) -> Detail:
    """What the explorer shows of a metric; `up` is None if the metric is unknown."""
    known = group.known.get(measure)
    owners = [one.evaluator for one in group.evaluations if measure in one.measures]
    is_binary = (known is not None and known.binary) or any(measure in one.binary for one in group.evaluations)
    return {
        "name": printable(measure),
        "evaluator": printable(owners[-1] if owners else "other"),
        "summary": known.summary if known else "",
        "up": known.higher_is_better if known else None,
        "binary": is_binary or table.is_binary,
    }
