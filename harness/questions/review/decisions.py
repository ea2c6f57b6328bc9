"""What a person said of each question: kept in a log beside the file, and applied to the file at once.

`questions.review.jsonl` has a line for each decision, in order, with the row before and after. It is written
before the file, so that a kill between the two is mended when the file is opened again. A question that was
rejected stands in the log alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from harness.datasets.files import iter_jsonl
from harness.errors import ConfigError, DataError
from harness.questions.files import WorkFolder, rows_text
from harness.questions.review.checking import Edit, refused, with_edit
from harness.records import Document, Record
from harness.store import files

PersonsVerdict = Literal["accept", "reject", "undo"]
QuestionRow = dict[str, JsonValue]
_RESTORE = "restore it, or delete it: the question file itself says who has seen what"


class Decision(Record):
    """One line of the log."""

    id: str
    verdict: PersonsVerdict
    by: str
    at: str
    """UTC, ISO 8601."""
    place: int
    """Of the row in the file."""
    before: QuestionRow
    """As it was when nobody had seen it."""
    row: QuestionRow
    """As it is now."""


@dataclass
class ReviewedRow:
    """One question, and what was last said of it."""

    row: QuestionRow
    before: QuestionRow
    verdict: PersonsVerdict | None = None

    @property
    def row_id(self) -> str:
        """Its id."""
        return str(self.row["id"])

    @property
    def is_rejected(self) -> bool:
        """Whether it is out of the file."""
        return self.verdict == "reject"

    @property
    def is_seen(self) -> bool:
        """Whether somebody has decided, here or before."""
        return self.is_rejected or bool(self.row.get("seen_by"))

    @property
    def is_edited(self) -> bool:
        """Whether its words are other than they were."""
        return any(self.row.get(name) != self.before.get(name) for name in ("question", "answers", "evidence"))


class Review:
    """The questions of a file, with decisions of one person added one by one."""

    def __init__(self, path: Path, by: str, documents: Mapping[str, Document] | None = None) -> None:
        """`documents`: those that quotes are held against; None: those that the work folder of the file keeps.

        ConfigError: no such file, no JSON Lines. StoreError: a damaged log.
        """
        if not path.is_file():
            raise ConfigError(f"no question file {path}", "write one: rag-harness questions FOLDER")
        if path.suffix != ".jsonl":
            raise ConfigError(
                f"{path} is no .jsonl file", "review what `rag-harness questions` wrote; a CSV is a sheet"
            )
        self.path, self.by = path, by
        self.log = path.with_name(f"{path.stem}.review.jsonl")
        self.documents = WorkFolder(path).documents() if documents is None else documents
        try:
            self.rows = self._opened()
        except DataError as error:
            raise ConfigError(error.what, "correct it: docs/question-files.md has the format") from error

    def find(self, row_id: str) -> ReviewedRow:
        """ConfigError: there is none."""
        for one in self.rows:
            if one.row_id == row_id:
                return one
        raise ConfigError(f"{self.path} has no question '{row_id}'", "reload the page, or export the file anew")

    def decide(self, row_id: str, verdict: PersonsVerdict, edit: Edit | None = None) -> ReviewedRow:
        """Keep one decision, in the log and in the file. `edit`: its words from now on, which have to pass the
        checks that are free (ConfigError with what does not hold); nothing is kept of one that does not.
        """
        (kept,) = self.decide_all([(row_id, verdict, edit)])
        return kept

    def decide_all(self, decisions: Sequence[tuple[str, PersonsVerdict, Edit | None]]) -> list[ReviewedRow]:
        """Likewise several, all or none."""
        prepared = [
            (self.find(row_id), verdict, self._after(row_id, verdict, edit)) for row_id, verdict, edit in decisions
        ]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        lines = [
            Decision(
                id=one.row_id,
                verdict=verdict,
                by=self.by,
                at=now,
                place=self.rows.index(one),
                before=one.before,
                row=row,
            )
            for one, verdict, row in prepared
        ]
        if lines:
            files.append_bytes(self.log, "".join(line.model_dump_json() + "\n" for line in lines).encode())
        for one, verdict, row in prepared:
            one.verdict, one.row = (None if verdict == "undo" else verdict), row
        self._write()
        return [one for one, _, _ in prepared]

    def _after(self, row_id: str, verdict: PersonsVerdict, edit: Edit | None) -> QuestionRow:
        one = self.find(row_id)
        if verdict == "undo":
            return one.before
        if verdict == "reject":
            return one.row
        row = with_edit(one.row, edit, self.documents) if edit else one.row
        if edit and (trouble := refused(row, self.documents)):
            raise ConfigError(f"'{row_id}' is not kept: {trouble}", "correct it")
        return {**row, "seen_by": self.by}

    def _opened(self) -> list[ReviewedRow]:
        found = [ReviewedRow(row, dict(row)) for row in _rows(self.path)]
        files.repair_tail(self.log)
        last = {one.id: one for one in files.iter_jsonl(self.log, Decision, _RESTORE)}
        by_id = {one.row_id: one for one in found}
        for decision in sorted(last.values(), key=lambda one: one.place):
            one = by_id.get(decision.id)
            if one is None and decision.verdict == "reject":
                found.insert(decision.place, one := ReviewedRow(decision.row, decision.before))
            if one is not None:
                one.before, one.row = decision.before, decision.row
                one.verdict = None if decision.verdict == "undo" else decision.verdict
        return found

    def _write(self) -> None:
        files.write_atomic(self.path, rows_text(one.row for one in self.rows if not one.is_rejected))


def _rows(path: Path) -> Iterator[QuestionRow]:
    """Each with an id: its own, or its place."""
    seen = set()
    for number, entry in enumerate(iter_jsonl(path), start=1):
        row: dict[str, Any] = dict(entry.fields)
        entry.text("question", blank=True)
        row["id"] = entry.optional_text("id") or f"q-{number:04d}"
        if row["id"] in seen:
            raise ConfigError(f"{entry.where}: the id '{row['id']}' occurs twice", "give each question its own")
        seen.add(row["id"])
        yield row
