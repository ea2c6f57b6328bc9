"""A review in a spreadsheet: a CSV out, and the same one back with a column `decision`.

The columns are those of a question file (docs/question-files.md), so that the sheet is one too. A cell that a
spreadsheet would take for a formula has an apostrophe in front, which is taken off again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.datasets.question_files.table import FieldRow, read_table
from harness.display.sheets import read_cell, sheet_text
from harness.errors import ConfigError, DataError
from harness.questions.review.checking import Edit, EditedQuote, RowWords
from harness.questions.review.decisions import PersonsVerdict, Review, ReviewedRow
from harness.store.files import write_atomic

_ACCEPT = frozenset({"accept", "accepted", "a", "yes", "y", "ok", "x"})
_REJECT = frozenset({"reject", "rejected", "r", "no", "n"})


@dataclass(frozen=True)
class SheetTaken:
    """What came of a sheet."""

    accepted: int
    rejected: int
    edited: int
    """Of the accepted."""
    left: int
    """Rows without a decision, or not in the sheet."""


def write_sheet(review: Review, path: Path) -> int:
    """Every question that is not rejected; how many. ConfigError: there is such a file already."""
    if path.exists():
        raise ConfigError(f"{path} is there already", "name another file, or take its decisions first: --from-csv")
    shown = [one for one in review.rows if not one.is_rejected]
    most = max([1, *(len(RowWords.of(one.row).evidence) for one in shown)])
    places = [name for number in range(1, most + 1) for name in _columns(number)]
    names = ["id", "decision", "question", "answers", *places, "type", "made_by", "seen_by"]
    write_atomic(path, sheet_text(names, map(_cells, shown)))
    return len(shown)


def take_sheet(review: Review, path: Path) -> SheetTaken:
    """Apply its decisions, all or none. ConfigError, DataError: what stands there cannot be taken."""
    decided: list[tuple[str, PersonsVerdict, Edit | None]] = []
    edited = 0
    table = read_table(path)
    for row in table.rows:
        found = _decision(review, row, table.names)
        if found is not None:
            edited += found[2] is not None
            decided.append(found)
    if len({row_id for row_id, _, _ in decided}) < len(decided):
        raise DataError(f"{path} decides the same question twice", "leave one row for each id")
    review.decide_all(decided)
    rejected = sum(verdict == "reject" for _, verdict, _ in decided)
    return SheetTaken(len(decided) - rejected, rejected, edited, len(review.rows) - len(decided))


def _decision(
    review: Review, row: FieldRow, names: Sequence[str]
) -> tuple[str, PersonsVerdict, Edit | None] | None:
    cells = {name: read_cell(str(value)) for name, value in row.fields.items() if value is not None}
    one, word = review.find(cells.get("id", "")), cells.get("decision", "").strip().casefold()
    if word in _REJECT:
        return one.row_id, "reject", None
    if word and word not in _ACCEPT:
        raise DataError(f"{row.where}: the decision '{word}' is none", "write accept, reject or nothing")
    before = _cells(one)
    # A column that somebody took out says nothing; a cell that somebody emptied does.
    cells = {name: value for name, value in before.items() if name not in names} | cells
    read = ("question", "answers", *(name for name in (*before, *cells) if name.startswith(("quote", "document"))))
    if all(_same(cells.get(name, ""), before.get(name, "")) for name in read):
        return (one.row_id, "accept", None) if word else None
    return one.row_id, "accept", _edit(cells)


def _edit(cells: Mapping[str, str]) -> Edit:
    quotes = []
    for number in range(1, 100):
        quote, document = (cells.get(name, "").strip() for name in _columns(number))
        if quote or document:
            quotes.append(EditedQuote(document=document, quote=quote))
    return Edit(
        question=cells.get("question", ""),
        answers=tuple(_answers(cells.get("answers", ""))),
        evidence=tuple(quotes),
    )


def _cells(one: ReviewedRow) -> dict[str, str]:
    words = RowWords.of(one.row)
    listed = list(words.answers)
    joined = (
        json.dumps(listed, ensure_ascii=False) if any("|" in answer for answer in listed) else "|".join(listed)
    )
    cells = {"id": one.row_id, "question": words.question, "answers": joined}
    for number, item in enumerate(words.evidence, start=1):
        cells |= dict(zip(_columns(number), (item.quote, item.document), strict=True))
    return cells | {name: str(one.row.get(name) or "") for name in ("type", "made_by", "seen_by")}


def _answers(cell: str) -> Iterator[str]:
    cell = cell.strip()
    if cell.startswith("["):
        try:
            yield from map(str, json.loads(cell))
        except ValueError as error:
            raise DataError(f"the answers {cell[:60]!r} are no JSON list", "put | between them") from error
        return
    yield from filter(None, (answer.strip() for answer in cell.split("|")))


def _columns(number: int) -> tuple[str, str]:
    return ("quote", "document") if number == 1 else (f"quote_{number}", f"document_{number}")


def _same(one: str, other: str) -> bool:
    return one.split() == other.split()
