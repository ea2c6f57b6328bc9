"""The decisions on questions: kept in a log beside the file and applied to the file at once.

`questions.review.jsonl` has a line for each decision, in order, with the row before and after. It is written
before the file, so that a kill between the two is repaired when the file is opened again. Rejected questions are
only in the log.

The log applies to a row while the file has it as the log left it, or as it was before its last decision. Other
changes by the user are kept. The file may change during a review: its digest is compared before each decision and
at each write.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from harness.core.errors import ConfigError, DataError
from harness.core.records import Document, Record
from harness.datasets.local_files import iter_jsonl
from harness.extensions.testset.question_records import WorkFolder, rows_text, text_digest
from harness.extensions.testset.review_edits import (
    Edit,
    KnownDocuments,
    RowWords,
    refused,
    with_edit,
    words_version,
)
from harness.runner.progress import Reporter
from harness.store import atomic_files

PersonsVerdict = Literal["accept", "reject", "undo"]
QuestionRow = dict[str, JsonValue]
_NAMED, _LONGEST = 5, 60
"""Ids that a message names, and characters of each."""
_RESTORE = "restore it, or delete it: the question file itself records who reviewed what"


class AskedDecision(Record):
    """A decision on one question."""

    id: str
    verdict: PersonsVerdict
    edit: Edit | None = None
    version: str = ""
    """The `ReviewedRow.version` that the person saw; empty: the current one of the file."""


class Decision(Record):
    """One line of the log."""

    id: str
    verdict: PersonsVerdict
    by: str
    at: str
    """UTC, ISO 8601."""
    place: int
    """Position of the row in the file."""
    before: QuestionRow
    """As it was before any review."""
    row: QuestionRow
    """The row after this decision."""
    is_applied: bool = True
    """False: others changed the row after the person saw it; the file keeps their change, the log this
    decision.
    """


@dataclass
class ReviewedRow:
    """One question with its last decision."""

    row: QuestionRow
    before: QuestionRow
    verdict: PersonsVerdict | None = None

    @property
    def row_id(self) -> str:
        return str(self.row["id"])

    @property
    def version(self) -> str:
        """Changes whenever the words of the row change."""
        return words_version(RowWords.of(self.row).cells())

    @property
    def is_rejected(self) -> bool:
        return self.verdict == "reject"

    @property
    def is_seen(self) -> bool:
        """Whether somebody has decided on it, in this review or before."""
        return self.is_rejected or bool(self.row.get("seen_by"))

    @property
    def is_edited(self) -> bool:
        return RowWords.of(self.row) != RowWords.of(self.before)


@dataclass
class _Told:
    """The log's content for one question."""

    last: Decision
    was: QuestionRow | None
    """The row in the file before the last decision; None: it had been rejected."""

    def is_of(self, row: QuestionRow | None) -> bool:
        """Whether the file's row (None: absent) is as the log left it, or as it was if a kill prevented the
        write.
        """
        return row in (self.was, self.left, self.last.before)

    @property
    def left(self) -> QuestionRow | None:
        """The row that the last decision left in the file."""
        return None if self.last.verdict == "reject" else self.last.row

    def then(self, decision: Decision) -> "_Told":
        return _Told(decision, self.left)


class Review:
    """The questions of a file, and one person's decisions on them."""

    def __init__(self, path: Path, by: str, documents: Mapping[str, Document] | None = None) -> None:
        """`documents`: those in which quotes are checked; None: those kept in the work folder of the file.

        Decisions on rows that were changed since are not applied, with a line on standard error. Raises
        ConfigError if the file is missing or not JSON Lines, StoreError for a damaged log.
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
        self.rows: list[ReviewedRow] = []
        self.times_read = 0
        """How often the file was read; each read may change the rows."""
        self._told: list[str] = []
        self._reported: set[tuple[str, str]] = set()
        """Ids and times of decisions already reported."""
        self._read(atomic_files.digest_if_there(path))

    def find(self, row_id: str) -> ReviewedRow:
        """Raises ConfigError if there is none."""
        for one in self.rows:
            if one.row_id == row_id:
                return one
        raise ConfigError(f"{self.path} has no question '{row_id}'", "reload the page, or export the file again")

    def refresh(self) -> None:
        """Read the file again if another program has written it since. Its changes are kept; decisions are applied
        again to rows that are as the decision left or found them, with a line for the others.

        Raises ConfigError if the file cannot be read any more.
        """
        found = atomic_files.digest_if_there(self.path)
        if found != self._digest:
            self._read(found)

    def take_told(self) -> list[str]:
        """New messages about changes that others made to the file; the terminal has already shown them."""
        told, self._told = self._told, []
        return told

    def decide(
        self, row_id: str, verdict: PersonsVerdict, edit: Edit | None = None, version: str = ""
    ) -> ReviewedRow:
        """Keep one decision in the log and in the file. `edit`: new texts, which must pass the free checks
        (otherwise ConfigError with the reason, and nothing is kept).

        `version`: of the row that the person saw. If the row has changed, the file keeps the change, and the
        decision is kept in the log only.
        """
        self.decide_all([AskedDecision(id=row_id, verdict=verdict, edit=edit, version=version)])
        return self.find(row_id)

    def decide_all(self, asked: Sequence[AskedDecision]) -> list[AskedDecision]:
        """Several decisions, all or none; returns those that were applied to the file."""
        self.refresh()
        prepared = [(self.find(one.id), one) for one in asked]
        lines = [self._decision(row, one) for row, one in prepared]
        if lines:
            atomic_files.append_bytes(self.log, "".join(line.model_dump_json() + "\n" for line in lines).encode())
        for (row, one), line in zip(prepared, lines, strict=True):
            if line.is_applied:
                row.verdict, row.row = (None if one.verdict == "undo" else one.verdict), line.row
        self._write()
        if left := [line.id for line in lines if not line.is_applied]:
            self._tell(
                f"{_listed(left)} was changed in {self.path} since you read it: the file keeps that, what you "
                f"decided is only in {self.log}; decide again"
            )
        return [one for (_, one), line in zip(prepared, lines, strict=True) if line.is_applied]

    def _decision(self, one: ReviewedRow, asked: AskedDecision) -> Decision:
        row = self._after(one.row_id, asked.verdict, asked.edit)
        # Both edits have the same words: no conflict.
        agreed = asked.edit is not None and RowWords.of(row) == RowWords.of(one.row)
        return Decision(
            id=one.row_id,
            verdict=asked.verdict,
            by=self.by,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            place=self.rows.index(one),
            before=one.before,
            row=row,
            is_applied=not asked.version or asked.version == one.version or agreed,
        )

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

    def _read(self, digest: str | None) -> None:
        """The rows of the file with that digest or a later one, with their decisions."""
        try:
            found = [ReviewedRow(row, dict(row)) for row in _rows(self.path)]
        except DataError as error:
            raise ConfigError(error.what, "correct it: docs/question-files.md has the format") from error
        by_id = {one.row_id: one for one in found}
        others, again = [], []
        for told in sorted(self._logged(), key=lambda one: one.last.place):
            last, one = told.last, by_id.get(told.last.id)
            if not told.is_of(one.row if one else None):
                others.append(last)
                continue
            if told.left != (one.row if one else None):
                again.append(last)
            if one is None:
                found.insert(last.place, one := ReviewedRow(last.row, last.before))
            one.before, one.row = last.before, last.row
            one.verdict = None if last.verdict == "undo" else last.verdict
        self.rows, self._digest, self.times_read = found, digest, self.times_read + 1
        self._report(others, "{path} was changed since it was reviewed: {what} not applied")
        self._report(again, "{path} is older than {log}: {what} applied again")

    def _logged(self) -> Iterable[_Told]:
        atomic_files.repair_tail(self.log)
        told: dict[str, _Told] = {}
        for one in atomic_files.iter_jsonl(self.log, Decision, _RESTORE):
            if one.is_applied:
                known = told.get(one.id)
                told[one.id] = known.then(one) if known else _Told(one, one.before)
        return told.values()

    def _write(self) -> None:
        text = rows_text(one.row for one in self.rows if not one.is_rejected)
        while not atomic_files.write_unless_changed(self.path, text, self._digest):
            self.refresh()
            text = rows_text(one.row for one in self.rows if not one.is_rejected)
        self._digest = text_digest(text)

    def _report(self, decisions: Sequence[Decision], line: str) -> None:
        """Report each decision once."""
        new = [one for one in decisions if (one.id, one.at) not in self._reported]
        self._reported |= {(one.id, one.at) for one in new}
        if new:
            what = f"the decision on {_listed([one.id for one in new])} is"
            self._tell(line.format(path=self.path, log=self.log.name, what=what))

    def _tell(self, line: str) -> None:
        self._told.append(line)
        Reporter().warn(line)


def _listed(row_ids: Sequence[str]) -> str:
    more = f" and {len(row_ids) - _NAMED:,} more" if len(row_ids) > _NAMED else ""
    return f"{', '.join(repr(row_id[:_LONGEST]) for row_id in row_ids[:_NAMED])}{more}"


def _rows(path: Path) -> Iterator[QuestionRow]:
    """The rows, each with its own id or else its position."""
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
