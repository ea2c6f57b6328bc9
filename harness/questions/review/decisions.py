"""What a person said of each question: kept in a log beside the file, and applied to the file at once.

`questions.review.jsonl` has a line for each decision, in order, with the row before and after. It is written
before the file, so that a kill between the two is mended when the file is opened again. A question that was
rejected stands in the log alone.

The log speaks for a row as long as the file has it as the log left it, or as it stood before its last decision.
What somebody changed, took out or put in its place since is theirs, and is left as it stands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from harness.datasets.files import iter_jsonl
from harness.errors import ConfigError, DataError
from harness.questions.files import WorkFolder, rows_text
from harness.questions.review.checking import Edit, KnownDocuments, RowWords, refused, with_edit
from harness.records import Document, Record
from harness.runner.progress import Reporter
from harness.store import files

PersonsVerdict = Literal["accept", "reject", "undo"]
QuestionRow = dict[str, JsonValue]
_NAMED, _LONGEST = 5, 60
"""Ids that a line names, and characters of each."""
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
        return RowWords.of(self.row) != RowWords.of(self.before)


@dataclass
class _Told:
    """What the log says of one question."""

    last: Decision
    was: QuestionRow | None
    """In the file before the last decision; None: it was rejected, and not there."""

    def is_of(self, row: QuestionRow | None) -> bool:
        """Whether the file's row, or that it has none, is as the log left it, or a kill before it was written."""
        return row in (self.was, self._left, self.last.before)

    @property
    def _left(self) -> QuestionRow | None:
        return None if self.last.verdict == "reject" else self.last.row

    def then(self, decision: Decision) -> "_Told":
        """With one more."""
        return _Told(decision, self._left)


class Review:
    """The questions of a file, with decisions of one person added one by one."""

    def __init__(self, path: Path, by: str, documents: Mapping[str, Document] | None = None) -> None:
        """`documents`: those that quotes are held against; None: those that the work folder of the file keeps.

        What was decided of a row that is another by now is not applied, and standard error says so.
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
        self.documents = KnownDocuments(WorkFolder(path).documents() if documents is None else documents)
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
        by_id = {one.row_id: one for one in found}
        others = []
        for told in sorted(self._told(), key=lambda one: one.last.place):
            last, one = told.last, by_id.get(told.last.id)
            if not told.is_of(one.row if one else None):
                others.append(last.id)
                continue
            if one is None:
                found.insert(last.place, one := ReviewedRow(last.row, last.before))
            one.before, one.row = last.before, last.row
            one.verdict = None if last.verdict == "undo" else last.verdict
        if others:
            Reporter().warn(_not_applied(self.path, others))
        return found

    def _told(self) -> Iterable[_Told]:
        files.repair_tail(self.log)
        told: dict[str, _Told] = {}
        for one in files.iter_jsonl(self.log, Decision, _RESTORE):
            known = told.get(one.id)
            told[one.id] = known.then(one) if known else _Told(one, one.before)
        return told.values()

    def _write(self) -> None:
        files.write_atomic(self.path, rows_text(one.row for one in self.rows if not one.is_rejected))


def _not_applied(path: Path, row_ids: Sequence[str]) -> str:
    more = f" and {len(row_ids) - _NAMED:,} more" if len(row_ids) > _NAMED else ""
    what = f"{', '.join(repr(row_id[:_LONGEST]) for row_id in row_ids[:_NAMED])}{more}"
    return f"{path} was changed since it was reviewed: what was decided of {what} is not applied, the file stands"


def _rows(path: Path) -> Iterator[QuestionRow]:
    """Each with an id: its own, or its place."""
    seen = set()
    for number, entry in enumerate(iter_jsonl(path), start=1):
        row: dict[str, Any] = dict(entry.fields)
        entry.text("question", blank=True)
        RowWords.of(row, entry.where)
        row["id"] = entry.optional_text("id") or f"q-{number:04d}"
        if row["id"] in seen:
            raise ConfigError(f"{entry.where}: the id '{row['id']}' occurs twice", "give each question its own")
        seen.add(row["id"])
        yield row
