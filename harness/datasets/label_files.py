"""Labels by people as a table of their own: CSV with the columns query_id, run, annotator, dimension and label.

One row is what one annotator said of one answer in one respect. `label` is a whole number from 1 to 5,
`cannot tell`, or empty for a gap, which is passed over. A column `note` may stand there; others are passed over.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from harness.datasets.question_files.table import FieldRow, read_table
from harness.display.sheets import read_cell, sheet_text
from harness.errors import DataError, nearest
from harness.records import Annotation, Dimension

LABEL_COLUMNS = ("query_id", "run", "annotator", "dimension", "label", "note")
CANNOT_TELL = "cannot tell"
_CANNOT_TELL = frozenset({CANNOT_TELL, "cannot_tell", "?", "0", "n/a"})
_LABELS = {str(number): number for number in range(1, 6)} | {f"{number}.0": number for number in range(1, 6)}
"""A spreadsheet may write whole numbers as fractions."""


def load_labels(path: Path) -> tuple[Annotation, ...]:
    """Every label of the file, in its order. DataError, one line with the row: a label outside its scale, a
    column or a name that is missing, the same said twice.
    """
    table = read_table(path)
    if missing := [name for name in LABEL_COLUMNS[:-1] if name not in table.names]:
        raise DataError(f"{path} has no column '{missing[0]}'", f"its columns are {', '.join(LABEL_COLUMNS[:-1])}")
    found: dict[tuple[str, ...], Annotation] = {}
    for row in table.rows:
        for one in _annotations(row):
            said_of = (one.run, one.query_id, one.annotator, one.dimension or "")
            if said_of in found:
                raise DataError(f"{row.where} says the same again", "leave one row for each")
            found[said_of] = one
    return tuple(found.values())


def labels_text(annotations: Iterable[Annotation]) -> str:
    """Such a file; a note on an answer as a whole is a row without a dimension."""
    return sheet_text(LABEL_COLUMNS, map(_cells, annotations))


def label_in(cell: str, where: str) -> int | None:
    """The label that a cell holds; None: it says that nobody can tell. DataError: it is neither."""
    said = cell.strip().casefold()
    if said in _CANNOT_TELL:
        return None
    if said not in _LABELS:
        raise DataError(
            f"{where}: the label {cell.strip()[:40]!r} is outside its scale",
            f"write 1, 2, 3, 4, 5, '{CANNOT_TELL}' or nothing",
        )
    return _LABELS[said]


def cells_of(row: FieldRow) -> dict[str, str]:
    """What a row says, by column."""
    return {name: read_cell(str(value)).strip() for name, value in row.fields.items()}


def _annotations(row: FieldRow) -> Iterator[Annotation]:
    cells = cells_of(row)
    dimension, note = cells.get("dimension", ""), cells.get("note", "")
    if dimension and dimension not in get_args(Dimension):
        raise DataError(
            f"{row.where}: there is no dimension '{dimension[:40]}'", nearest(dimension, get_args(Dimension))
        )
    if not cells.get("label") and not note:
        return
    label = label_in(cells["label"], row.where) if cells.get("label") else None
    said = {
        "query_id": cells.get("query_id"),
        "run": cells.get("run"),
        "annotator": cells.get("annotator"),
        "dimension": dimension or None,
        "label": label,
        "cannot_tell": bool(cells.get("label")) and label is None,
        "note": note,
    }
    try:
        yield Annotation.model_validate(said)
    except ValidationError as error:
        detail = error.errors()[0]
        name = ".".join(map(str, detail["loc"])) or "row"
        raise DataError(f"{row.where}: {name}: {detail['msg']}", "docs/annotate.md has the format") from error


def _cells(one: Annotation) -> dict[str, str]:
    label = CANNOT_TELL if one.cannot_tell else "" if one.label is None else str(one.label)
    return {
        "query_id": one.query_id,
        "run": one.run,
        "annotator": one.annotator,
        "dimension": one.dimension or "",
        "label": label,
        "note": one.note,
    }
