"""The decisions on questions: kept in a log beside the file and applied to the file at once.

`questions.review.jsonl` has a line for each decision, with the row before and after, written before the file: a
kill between the two is repaired when the file is opened again. The log applies to a row that is as it left or
found it; other changes by the user are kept, also during a review.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from harness.core.errors import ConfigError, DataError
from harness.core.hashing import text_digest
from harness.core.records import Document, Record
from harness.extensions.testset.question_records import CHECKED, WorkFolder, question_row
from harness.extensions.testset.question_rows import (
    KnownDocuments,
    QuestionRow,
    RowWords,
    format_of,
    refused,
    with_edit,
    with_kind_of_quotes,
    words_version,
)
from harness.runner.progress import Reporter
from harness.store import atomic_files

PersonsVerdict = Literal["accept", "reject", "undo"]
_NAMED, _LONGEST = 5, 60
"""Ids that a message names, and characters of each."""
_RESTORE = "restore it, or delete it: the question file itself records who reviewed what"


class AskedDecision(Record):
    id: str
    verdict: PersonsVerdict
    edit: RowWords | None = None
    version: str = ""
    """The `ReviewedRow.version` that the person saw; empty: the current one of the file."""


class Decision(Record):
    id: str
    verdict: PersonsVerdict
    by: str
    at: str
    """UTC, ISO 8601."""
    place: int
    before: QuestionRow
    """As it was before any review."""
    row: QuestionRow
    was_rejected: bool = False
    """Checks had rejected it, so it was not in the file."""
    is_applied: bool = True
    """False: others changed the row after the person saw it, so the decision is only in the log."""

    @property
    def left(self) -> QuestionRow | None:
        """The row that it left in the file; None: it was rejected."""
        return None if self.verdict == "reject" else self.row


@dataclass
class ReviewedRow:
    row: QuestionRow
    before: QuestionRow
    verdict: PersonsVerdict | None = None
    failed: str = ""
    """The check that it failed, and why; a person can still accept it."""

    @property
    def row_id(self) -> str:
        return str(self.row["id"])

    @property
    def version(self) -> str:
        """Changes whenever the words of the row change."""
        return words_version(RowWords.of(self.row).cells())

    @property
    def is_rejected(self) -> bool:
        """By a person, or by a check that no person has overruled: it is not in the file."""
        return self.verdict == "reject" or (bool(self.failed) and self.verdict is None)

    @property
    def is_seen(self) -> bool:
        """Whether somebody has decided on it, in this review or before."""
        return self.verdict == "reject" or bool(self.row.get("seen_by"))

    @property
    def is_edited(self) -> bool:
        return RowWords.of(self.row) != RowWords.of(self.before)


class Review:
    def __init__(self, path: Path, by: str, documents: Mapping[str, Document] | None = None) -> None:
        """`documents`: those in which quotes are checked; None: those kept in the work folder of the file.

        Decisions on rows that were changed since are not applied, with a line on standard error. ConfigError: no
        question file. StoreError: a damaged log.
        """
        self.path, self.by, self._format = path, by, format_of(path)
        self.log = path.with_name(f"{path.stem if path.suffix == '.jsonl' else path.name}.review.jsonl")
        work = WorkFolder(path) if path.suffix == ".jsonl" else None
        kept = work.documents() if work and documents is None else documents
        self.documents = KnownDocuments(kept or {})
        candidates = work.candidates() if work else []
        kept_ids = {one.id for one in candidates if one.survives}
        # The same question written twice has the same id: the duplicate fails, and the first one is kept.
        self._failed = {one.id: one for one in candidates if not one.survives and one.id not in kept_ids}
        self._written_by = work.written_by() if work else ""
        self.rows: list[ReviewedRow] = []
        self.times_read = 0
        self._told: list[str] = []
        self._reported: set[tuple[str, str]] = set()
        """Ids and times of decisions already reported."""
        self._read(atomic_files.digest_if_there(path))

    def find(self, row_id: str) -> ReviewedRow:
        if found := next((one for one in self.rows if one.row_id == row_id), None):
            return found
        raise ConfigError(f"{self.path} has no question '{row_id}'", "reload the page, or export the file again")

    def refresh(self) -> None:
        """Read the file again if another program has written it. ConfigError: it cannot be read any more."""
        found = atomic_files.digest_if_there(self.path)
        if found != self._digest:
            self._read(found)

    def take_told(self) -> list[str]:
        """New messages about changes that others made to the file; the terminal has already shown them."""
        told, self._told = self._told, []
        return told

    def decide(
        self, row_id: str, verdict: PersonsVerdict, edit: RowWords | None = None, version: str = ""
    ) -> ReviewedRow:
        """Keep one decision in the log and in the file. ConfigError: the `edit` fails a free check; nothing is
        kept.

        `version`: of the row that the person saw. If it has changed, the file keeps the change, the log the
        decision.
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
        # Undone, the question is back at what the checks said.
        verdict: PersonsVerdict = "reject" if asked.verdict == "undo" and one.failed else asked.verdict
        row = self._after(one, verdict, asked.edit)
        # Both edits have the same words: no conflict.
        agreed = asked.edit is not None and RowWords.of(row) == RowWords.of(one.row)
        return Decision(
            id=one.row_id,
            verdict=verdict,
            by=self.by,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            place=self.rows.index(one),
            before=one.before,
            row=row,
            was_rejected=bool(one.failed),
            is_applied=not asked.version or asked.version == one.version or agreed,
        )

    def _after(self, one: ReviewedRow, verdict: PersonsVerdict, edit: RowWords | None) -> QuestionRow:
        if verdict == "undo" or (verdict == "reject" and one.failed):
            return one.before
        if verdict == "reject":
            return one.row
        row = with_edit(one.row, edit, self.documents) if edit else one.row
        if one.failed:
            said = row.get("checks")
            overruled: JsonValue = {**(said if isinstance(said, dict) else {}), "accepted": "by a person"}
            row = {**with_kind_of_quotes(row), "checks": overruled}
        is_checked = edit is not None or bool(one.failed) or not row.get("question")
        if is_checked and (trouble := refused(row, self.documents)):
            raise ConfigError(f"'{one.row_id}' is not kept: {trouble}", "correct it")
        return self._format.storable({**row, "seen_by": self.by})

    def _read(self, digest: str | None) -> None:
        """The rows of the file with that digest or a later one, with their decisions."""
        try:
            found = [ReviewedRow(row, dict(row)) for row in self._format.read()]
        except DataError as error:
            raise ConfigError(error.what, "correct it: docs/question-files.md has the format") from error
        by_id = {one.row_id: one for one in found}
        others, again = [], []
        for last, was in sorted(self._logged(), key=lambda told: told[0].place):
            one = by_id.get(last.id)
            row = one.row if one else None
            # As the log left it, or as it was if a kill prevented the write.
            if row not in (was, last.left, last.before):
                others.append(last)
                continue
            if last.left != row:
                again.append(last)
            if one is None:
                found.insert(last.place, one := ReviewedRow(last.row, last.before))
            one.before, one.row = last.before, last.row
            one.verdict = None if last.verdict == "undo" else last.verdict
        self._add_failed(found)
        self.rows, self._digest, self.times_read = found, digest, self.times_read + 1
        self._report(others, "{path} was changed since it was reviewed: {what} not applied")
        self._report(again, "{path} is older than {log}: {what} applied again")

    def _logged(self) -> Iterable[tuple[Decision, QuestionRow | None]]:
        """For each question the last decision, and its row in the file before that; None: it was rejected."""
        atomic_files.repair_tail(self.log)
        told: dict[str, tuple[Decision, QuestionRow | None]] = {}
        for one in atomic_files.iter_jsonl(self.log, Decision, _RESTORE):
            if one.is_applied:
                first = None if one.was_rejected else one.before
                told[one.id] = (one, told[one.id][0].left if one.id in told else first)
        return told.values()

    def _add_failed(self, rows: list[ReviewedRow]) -> None:
        known = {one.row_id: one for one in rows}
        for candidate in self._failed.values():
            if candidate.question and candidate.id not in known:
                row = question_row(candidate, self._written_by)
                rows.append(known.setdefault(candidate.id, ReviewedRow(row, dict(row))))
            if candidate.id in known:
                check = candidate.checks[-1]
                reason = f"{check.name} ({CHECKED.get(check.name, '')}): {check.note or 'no'}"
                known[candidate.id].failed = reason

    def _write(self) -> None:
        while True:
            text = self._format.text(one.row for one in self.rows if not one.is_rejected)
            if atomic_files.write_unless_changed(self.path, text, self._digest):
                self._digest = text_digest(text)
                return
            self.refresh()

    def _report(self, decisions: Sequence[Decision], line: str) -> None:
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
