"""The values of every measure, a block each: the distinct cells, and of each (run, query) which of them it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from harness.display.text_format import printable
from harness.protocols import Measure
from harness.report.page.explorer.packing import as_json, pack
from harness.report.page.explorer.reading import NO_CELL, ShownColumn, ShownScore
from harness.report.view import Group


class ValueTable:
    """One measure."""

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


@dataclass(frozen=True)
class MeasureFacts:
    """What the explorer shows of a metric."""

    name: str
    evaluator: str
    summary: str
    higher_is_better: bool | None
    """None: the metric is unknown."""
    binary: bool
    block: str
    """Its block; empty: it has no value in any run."""

    def as_json(self) -> dict[str, object]:
        """For the page."""
        return {
            "name": printable(self.name),
            "evaluator": printable(self.evaluator),
            "summary": self.summary,
            "up": self.higher_is_better,
            "binary": self.binary,
            "block": self.block,
        }


def ordered_measures(group: Group, names: Sequence[str]) -> list[tuple[str, Measure | None]]:
    """What ranks, then the measures of installed evaluators in their order, then the others by name."""
    rank = {name: place for place, name in enumerate(dict.fromkeys((group.ranking.name, *group.known)))}
    ordered = sorted(names, key=lambda name: (rank.get(name, len(rank)), name))
    return [(name, group.known.get(name)) for name in ordered]


def measure_facts(group: Group, tables: Mapping[str, ValueTable], name: str) -> list[MeasureFacts]:
    """Every measure that was scored, the first of the ranking first."""
    owners = {
        measure: one.evaluator for view in group.views for one in view.evaluations for measure in one.measures
    }
    binary = {measure for view in group.views for one in view.evaluations for measure in one.binary}
    return [
        MeasureFacts(
            name=measure,
            evaluator=owners.get(measure, "other"),
            summary=known.summary if known else "",
            higher_is_better=known.higher_is_better if known else None,
            binary=(known.binary if known else measure in binary)
            or measure in binary
            or tables[measure].is_binary,
            block=f"{name}-m{number}" if tables[measure].has_values else "",
        )
        for number, (measure, known) in enumerate(ordered_measures(group, list(tables)))
    ]
