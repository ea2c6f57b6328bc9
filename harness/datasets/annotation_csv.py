"""Human labels as CSV with the columns query_id, run, annotator, dimension, label and note.

A row is the label of one annotator for one answer and dimension: a whole number from 1 to 5, `cannot tell`, or
empty for no label. `harness.extensions.meta_evaluation.correlation_columns` reads this and other tables.
"""

from collections.abc import Iterable

from harness.core.errors import DataError
from harness.core.records import Annotation
from harness.datasets.table_reading import FieldRow
from harness.display.csv_sheets import sheet_text

LABEL_COLUMNS = ("query_id", "run", "annotator", "dimension", "label", "note")
CANNOT_TELL = "cannot tell"
_CANNOT_TELL = frozenset({CANNOT_TELL, "cannot_tell", "?", "0", "n/a"})
_LABELS = {str(number): number for number in range(1, 6)} | {f"{number}.0": number for number in range(1, 6)}
"""Spreadsheets may write whole numbers as decimals."""


def labels_text(annotations: Iterable[Annotation]) -> str:
    """The CSV text. A note about the whole answer is a row without a dimension."""
    rows = (
        {
            "query_id": one.query_id,
            "run": one.run,
            "annotator": one.annotator,
            "dimension": one.dimension or "",
            "label": CANNOT_TELL if one.cannot_tell else "" if one.label is None else str(one.label),
            "note": one.note,
        }
        for one in annotations
    )
    return sheet_text(LABEL_COLUMNS, rows)


def label_in(cell: str, where: str) -> int | None:
    """The label in a cell; None for `cannot tell`. DataError for anything else."""
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
    return {name: str(value).strip() for name, value in row.fields.items()}
