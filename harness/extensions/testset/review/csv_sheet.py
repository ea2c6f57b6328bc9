"""A review in a spreadsheet: a CSV file is written, and read back with a filled column `decision`.

The columns are those of a question file (docs/question-files.md), so the sheet can be used as one. A cell that a
spreadsheet would read as a formula is prefixed with an apostrophe, which is removed again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import ConfigError, DataError
from harness.datasets.table_reading import FieldRow, read_table
from harness.display.csv_sheets import read_cell, sheet_text
from harness.extensions.testset.review.decisions import AskedDecision, Review, ReviewedRow
from harness.extensions.testset.review.edit_checks import (
    Edit,
    EditedQuote,
    RowWords,
    evidence_columns,
    words_version,
)
from harness.store.atomic_files import write_atomic

_ACCEPT = frozenset({"accept", "accepted", "a", "yes", "y", "ok", "x"})
_REJECT = frozenset({"reject", "rejected", "r", "no", "n"})
_VERSION = "version"
"""The column that shows whether a row was changed since the sheet was written."""


@dataclass(frozen=True)
class SheetTaken:
    """The counts after reading a sheet."""

    accepted: int
    rejected: int
    edited: int
    """Of the accepted ones."""
    left: int
    """Rows without a decision, or not in the sheet."""


def write_sheet(review: Review, path: Path) -> int:
    """Write every question that is not rejected; returns how many. ConfigError: the file already exists."""
    if path.exists():
        raise ConfigError(f"{path} is there already", "name another file, or take its decisions first: --from-csv")
    shown = [one for one in review.rows if not one.is_rejected]
    most = max([1, *(len(RowWords.of(one.row).evidence) for one in shown)])
    places = [name for number in range(1, most + 1) for name in evidence_columns(number)]
    names = ["id", "decision", "question", "answers", *places, "type", "made_by", "seen_by", _VERSION]
    write_atomic(path, sheet_text(names, map(_cells, shown)))
    return len(shown)


def take_sheet(review: Review, path: Path) -> SheetTaken:
    """Apply its decisions, all or none, except for rows that were changed since the sheet was written, which
    `review` names. Raises ConfigError or DataError if a decision is invalid.
    """
    decided: list[AskedDecision] = []
    table = read_table(path)
    for row in table.rows:
        found = _decision(review, row, table.names)
        if found is not None:
            decided.append(found)
    if len({one.id for one in decided}) < len(decided):
        raise DataError(f"{path} has the same question twice", "leave one row for each id")
    applied = review.decide_all(decided)
    rejected = sum(one.verdict == "reject" for one in applied)
    edited = sum(one.edit is not None for one in applied)
    return SheetTaken(len(applied) - rejected, rejected, edited, len(review.rows) - len(applied))


def _decision(review: Review, row: FieldRow, names: Sequence[str]) -> AskedDecision | None:
    cells = {name: read_cell(str(value)) for name, value in row.fields.items() if value is not None}
    one, word = review.find(cells.get("id", "")), cells.get("decision", "").strip().casefold()
    version = cells.get(_VERSION, "").strip()
    if word in _REJECT:
        return AskedDecision(id=one.row_id, verdict="reject", version=version)
    if word and word not in _ACCEPT:
        raise DataError(f"{row.where}: the decision '{word}' is none", "write accept, reject or nothing")
    # A removed column means no change; an emptied cell does.
    cells = {name: value for name, value in _cells(one).items() if name not in names} | cells
    is_edited = words_version(cells) not in {one.version, version}
    if not word and not is_edited:
        return None
    edit = _edit(cells) if is_edited else None
    return AskedDecision(id=one.row_id, verdict="accept", edit=edit, version=version)


def _edit(cells: Mapping[str, str]) -> Edit:
    quotes = []
    for number in range(1, 100):
        quote, document = (cells.get(name, "").strip() for name in evidence_columns(number))
        if quote or document:
            quotes.append(EditedQuote(document=document, quote=quote))
    return Edit(
        question=cells.get("question", ""),
        answers=tuple(_answers(cells.get("answers", ""))),
        evidence=tuple(quotes),
    )


def _cells(one: ReviewedRow) -> dict[str, str]:
    about = {name: str(one.row.get(name) or "") for name in ("type", "made_by", "seen_by")}
    return {"id": one.row_id, **RowWords.of(one.row).cells(), **about, _VERSION: one.version}


def _answers(cell: str) -> Iterator[str]:
    cell = cell.strip()
    if cell.startswith("["):
        try:
            yield from map(str, json.loads(cell))
        except ValueError as error:
            raise DataError(f"the answers {cell[:60]!r} are not a JSON list", "put | between them") from error
        return
    yield from filter(None, (answer.strip() for answer in cell.split("|")))
