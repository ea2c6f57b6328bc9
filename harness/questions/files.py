"""What the command keeps: the question file, and beside it a work folder with all that it rests on.

```
questions.jsonl            one question a line
questions.work/            calls.sqlite     every model call: what was paid is paid once
                           candidates.jsonl every question that was written, with every check
                           documents.jsonl  the documents that they cite
                           state.json       what was asked for, and the digest of the file as it was written
```
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.asking.answers import ABSTENTION
from harness.errors import ConfigError
from harness.identity import file_digest
from harness.questions.nouns import Candidate
from harness.records import Document, Record
from harness.store import files

_RESTORE = "name another --out, or delete it and its work folder to begin anew"


class Control(Record):
    """How often a check said so of what it was known to be wrong about."""

    name: str
    wrong: int
    of: int


class WorkState(Record):
    """state.json."""

    asked: dict[str, JsonValue]
    """What determines the questions: documents, kinds, seed, models, prompts."""
    source: str
    """The folder or data set, as it was named."""
    file_digest: str
    """SHA-256 of the question file as the command wrote it: another one is somebody's work."""
    is_complete: bool
    controls: tuple[Control, ...] = ()


class WorkFolder:
    """The work folder of a question file."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = out.with_name(f"{out.stem}.work")
        self._state = self.path / "state.json"
        self._candidates, self._documents = self.path / "candidates.jsonl", self.path / "documents.jsonl"

    def check_out(self) -> WorkState | None:
        """What was written before. ConfigError where the file is there and not as it was written."""
        state = files.read_json(self._state, WorkState, _RESTORE) if self._state.exists() else None
        if not self.out.exists():
            return state
        if state is None:
            raise ConfigError(f"{self.out} is there already", "name another --out; nothing is overwritten")
        if file_digest(self.out) != state.file_digest:
            what = f"{self.out} was changed since it was written, such as by a review, and is not overwritten"
            raise ConfigError(what, "name another --out")
        return state

    def write(
        self, state: WorkState, candidates: Sequence[Candidate], texts: Iterable[Document], rows: str
    ) -> None:
        """All of it; a kill leaves what the same command mends."""
        files.write_jsonl(self._candidates, candidates)
        files.write_jsonl(self._documents, texts)
        # The state says first how the file will be: a kill in between leaves none, and the same command makes it.
        self.out.unlink(missing_ok=True)
        files.write_json(self._state, state)
        files.write_atomic(self.out, rows)

    def candidates(self) -> list[Candidate]:
        """Of the last time; none where there is no such folder."""
        return list(files.iter_jsonl(self._candidates, Candidate, _RESTORE))

    def documents(self) -> dict[str, Document]:
        """Those that candidates cite, by id."""
        return {one.doc_id: one for one in files.iter_jsonl(self._documents, Document, _RESTORE)}


def question_rows(candidates: Iterable[Candidate], made_by: str) -> list[dict[str, Any]]:
    """The rows of a question file: those that survive, as nobody has seen them yet."""
    return [_row(one, made_by) for one in candidates if one.survives]


def text_digest(text: str) -> str:
    """The `file_digest` of a file with this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def rows_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _row(one: Candidate, made_by: str) -> dict[str, Any]:
    answerable = one.kind != "unanswerable"
    return {
        "id": one.id,
        "question": one.question,
        "answers": [one.answer if answerable else ABSTENTION],
        "evidence": [{"document": item.doc_id, "quote": item.fact} for item in one.evidence if answerable],
        "type": one.kind,
        "made_by": f"model:{made_by}",
        "checks": {check.name: check.note or check.passed for check in one.checks},
        "seen_by": None,
    }
