"""Human labels of answers, as a CSV with one column per dimension.

Two forms are read. Wide: `query_id`, and a column of numbers for each dimension. Long: `query_id`, `dimension`,
`label`. Either may name `run` (a run id, a part of one, or a system) and `annotator`; `item` is another name of
`query_id`. An empty cell, `cannot tell` and `n/a` are no label. Labels of several annotators of one answer are
averaged.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from harness.core.errors import ConfigError, DataError
from harness.datasets.table_reading import FieldRow, FieldTable, read_table
from harness.display.csv_sheets import read_cell
from harness.display.text_format import printable

_QUERY, _RUN, _ANNOTATOR = ("query_id", "item"), ("run", "run_id", "system"), "annotator"
_DIMENSION, _LABEL = "dimension", "label"
_ABOUT = frozenset({*_QUERY, *_RUN, _ANNOTATOR, _DIMENSION, _LABEL, "repeat", "comment", "note", "notes", "at"})
"""Columns that are no dimension."""
_NO_LABEL = frozenset({"", "cannot tell", "n/a"})
LabelSpan = tuple[float, float]
"""The lowest and the highest possible label."""


class HumanLabel(NamedTuple):
    """One person's labels of one answer."""

    run: str
    """As the sheet names it; empty: no run given."""
    query_id: str
    annotator: str
    dimension: str
    value: float


@dataclass(frozen=True)
class LabelSheet:
    """All labels of a file."""

    path: Path
    labels: tuple[HumanLabel, ...]
    n_empty: int
    """Cells without a label."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions, in the order of the file."""
        return tuple(dict.fromkeys(one.dimension for one in self.labels))

    def means(self, dimension: str) -> Mapping[tuple[str, str], float]:
        """(run, query) -> mean label over all annotators."""
        given: dict[tuple[str, str], list[float]] = {}
        for one in self._of(dimension):
            given.setdefault((one.run, one.query_id), []).append(one.value)
        return {answer: fmean(values) for answer, values in given.items()}

    def said_of(self, dimension: str) -> str:
        """A note on how many answers and annotators the means rest on."""
        people: dict[tuple[str, str], set[str]] = {}
        for one in self._of(dimension):
            people.setdefault((one.run, one.query_id), set()).add(one.annotator)
        everyone = {name for names in people.values() for name in names}
        if len(everyone) < 2:
            return f"{printable(dimension)}: {len(people):,} answers labelled by one person"
        shared = sum(len(names) > 1 for names in people.values())
        said = f"{printable(dimension)}: {len(people):,} answers labelled by {len(everyone)} people, {shared:,} by"
        alone = " " if shared else ": strict people and bad answers cannot be distinguished "
        return f"{said} more than one{alone}".rstrip()

    def _of(self, dimension: str) -> Iterator[HumanLabel]:
        return (one for one in self.labels if one.dimension == dimension)


def read_labels(path: Path, scale: LabelSpan | None = None) -> LabelSheet:
    """The labels of a file. Raises DataError, one line, for a value that is no label or outside `scale`, for an
    answer labelled twice by one person, and for a file without labels.
    """
    if not path.exists():
        raise DataError(f"there is no {path}", "name a CSV of labels with --labels: docs/correlate.md")
    table = read_table(path)
    names = list(table.names)
    query = next((name for name in _QUERY if name in names), None)
    if query is None:
        raise DataError(f"{path} has no column {_QUERY[0]}", f"its columns are {', '.join(map(printable, names))}")
    dimensions = _dimensions(table)
    found, empty = [], 0
    for row in table.rows:
        for dimension, cell in _cells(row, dimensions):
            if cell.casefold() in _NO_LABEL:
                empty += 1
                continue
            value = _number(row.where, dimension, cell, scale)
            found.append(
                HumanLabel(_first(row, _RUN), _text(row, query), _text(row, _ANNOTATOR), dimension, value)
            )
    _refuse_twice(path, found)
    if not found:
        raise DataError(
            f"{path} has no labels", "columns: query_id and one for each dimension, or dimension and label"
        )
    return LabelSheet(path, tuple(found), empty)


def parse_scale(text: str) -> LabelSpan:
    """`1-5` or `-2..2`. ConfigError: anything else."""
    low, dots, high = text.partition("..") if ".." in text else text.partition("-")
    try:
        scale = float(low), float(high)
    except ValueError:
        dots = ""
    if not dots or not all(map(isfinite, scale)) or scale[0] >= scale[1]:
        raise ConfigError(f"--scale {text!r} is no scale", "write the lowest and highest label: 1-5, or -2..2")
    return scale


def _dimensions(table: FieldTable) -> tuple[str, ...]:
    """The columns with labels: those with a number, so that the file may also contain texts."""
    if _LABEL in table.names:
        return ()
    names = [name for name in table.names if name not in _ABOUT]
    return tuple(name for name in names if any(_is_number(_text(row, name)) for row in table.rows))


def _cells(row: FieldRow, dimensions: Sequence[str]) -> Iterable[tuple[str, str]]:
    if not dimensions:
        return [(_text(row, _DIMENSION) or _LABEL, _text(row, _LABEL))]
    return [(name, _text(row, name)) for name in dimensions]


def _is_number(cell: str) -> bool:
    try:
        return isfinite(float(cell))
    except ValueError:
        return False


def _number(where: str, dimension: str, cell: str, scale: LabelSpan | None) -> float:
    said = f"{where}: {printable(dimension)} {printable(cell, 40)!r}"
    if not _is_number(cell):
        raise DataError(f"{said} is no number", "labels are numbers; leave the cell empty where there is none")
    value = float(cell)
    if scale and not scale[0] <= value <= scale[1]:
        raise DataError(
            f"{said} is outside the scale {scale[0]:g} to {scale[1]:g}", "correct the row, or name another --scale"
        )
    return value


def _refuse_twice(path: Path, labels: Iterable[HumanLabel]) -> None:
    seen = set()
    for one in labels:
        if one[:-1] in seen:
            what = f"{path} labels {printable(one.dimension)} of {printable(one.query_id)} twice"
            raise DataError(
                what, "leave one row for each, or say in a column `annotator` or `run` how they differ"
            )
        seen.add(one[:-1])


def _first(row: FieldRow, names: Sequence[str]) -> str:
    return next(filter(None, (_text(row, name) for name in names)), "")


def _text(row: FieldRow, name: str) -> str:
    value = row.fields.get(name)
    return "" if value is None else read_cell(str(value)).strip()
