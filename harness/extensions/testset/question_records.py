"""Questions with their checks, and where they are kept: the question file, and its work folder beside it.

```
questions.jsonl            one question a line
questions.work/            calls.sqlite     every model call, so that none is paid twice
                           candidates.jsonl every question that was written, with every check
                           documents.jsonl  the documents that they cite
                           state.json       the request, and the digest of the file as it was written
                           written.jsonl    only if the question file was changed while questions were written
```
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import JsonValue

from harness.core.errors import ConfigError
from harness.core.hashing import short_digest
from harness.core.records import Document, Evidence, Record
from harness.llm_utils.answer_contract import ABSTENTION
from harness.store import atomic_files
from harness.store.lock import exclusive

QuestionKind = Literal["single_fact", "bridge", "comparison", "temporal", "unanswerable"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
PAIRED: frozenset[QuestionKind] = frozenset({"bridge", "comparison", "temporal"})
CHECKED: Mapping[str, str] = {
    "written": "the model wrote a readable question",
    "form": "it is a question with a short answer",
    "self_contained": "it can be understood alone (no 'this report')",
    "about": "its documents mention what it names",
    "all_rows": "it does not need all rows of a table",
    "quotes": "its quotes are in the documents",
    "left_out": "the missing detail is not in its documents",
    "distinct": "it is not a duplicate",
    "follows": "its answer follows from the quotes",
    "closed_book": "its answer cannot be guessed without the quotes",
    "needs_both": "its answer does not follow from one document alone",
    "not_found": "no retrieved passage answers it",
}
"""What each check asks of a candidate, in order: after a failed one, the later ones are skipped."""

_RESTORE = "name another --out, or delete it and its work folder to start over"


@dataclass(frozen=True)
class Excerpt:
    document: Document
    sentences: tuple[str, ...]
    date: str = ""

    @property
    def heading(self) -> str:
        return ", ".join(filter(None, (" ".join(self.document.title.split()), self.date)))


@dataclass(frozen=True)
class QuestionSlot:
    """The place of a question: one excerpt, or two of different documents."""

    kind: QuestionKind
    excerpts: tuple[Excerpt, ...]
    link: str = ""
    focus: str = ""
    """For one excerpt: the sentence that the question is about."""

    @property
    def doc_ids(self) -> tuple[str, ...]:
        return tuple(excerpt.document.doc_id for excerpt in self.excerpts)


class QuestionCheck(Record):
    name: str
    passed: bool | None
    """None: undecided; the candidate is kept."""
    note: str = ""
    document: str = ""
    """The document whose quotes alone give the answer of a bridge question."""


class Candidate(Record):
    id: str
    """Derived from its words, so that the same question has the same id in every file."""
    kind: str
    documents: tuple[str, ...]
    link: str = ""
    question: str = ""
    answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    """Verbatim quotes; for an unanswerable question, the sentence nearest to an answer."""
    checks: tuple[QuestionCheck, ...] = ()
    written_as: str = ""
    """The kind that it was written as and failed to be."""

    @property
    def survives(self) -> bool:
        return all(check.passed is not False for check in self.checks)

    def checked(self, *checks: QuestionCheck) -> "Candidate":
        return self.model_copy(update={"checks": (*self.checks, *checks)})


def candidate_id(kind: str, question: str, answer: str, doc_ids: Sequence[str]) -> str:
    return f"{kind}-{short_digest([question, answer, doc_ids])}"


class Control(Record):
    """How often a check passed cases that are known to be wrong."""

    name: str
    wrong: int
    of: int


class WorkState(Record):
    asked: dict[str, JsonValue]
    source: str
    file_digest: str
    """SHA-256 of the question file as it was written; another digest means that somebody edited it."""
    is_complete: bool
    controls: tuple[Control, ...] = ()


def question_file_lock(path: Path) -> AbstractContextManager[int]:
    """Held by `questions` and `review` while they may write that file. StoreError: another process holds it."""
    real = Path(os.path.realpath(path))
    return exclusive(real.with_name(f".{real.name}.lock"), wait_s=0.2, of=path)


class WorkFolder:
    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = out.with_name(f"{out.stem}.work")
        self._state = self.path / "state.json"
        self._candidates, self._documents = self.path / "candidates.jsonl", self.path / "documents.jsonl"
        self._known: str | None = None
        """Digest of the question file at the last check."""

    def check_out(self) -> WorkState | None:
        """The earlier question file. Raises ConfigError if it was changed."""
        state = atomic_files.read_json(self._state, WorkState, _RESTORE) if self._state.exists() else None
        self._known = atomic_files.digest_if_there(self.out)
        if self._known is None:
            return state
        if state is None:
            raise ConfigError(f"{self.out} is there already", "name another --out; nothing is overwritten")
        if self._known != state.file_digest:
            what = f"{self.out} was changed since it was written, for example by a review; it is not overwritten"
            raise ConfigError(what, "name another --out")
        return state

    def write(
        self, state: WorkState, candidates: Sequence[Candidate], texts: Iterable[Document], rows: str
    ) -> None:
        """Write everything; the same command repairs what a kill leaves. ConfigError: the question file was
        changed since `check_out`; it is left unchanged, and the rows are kept beside it.
        """
        if atomic_files.digest_if_there(self.out) != self._known:
            raise self._kept_beside(rows)
        atomic_files.write_jsonl(self._candidates, candidates)
        atomic_files.write_jsonl(self._documents, texts)
        # The state announces the new file first: after a kill in between there is none, and the same command makes
        # it.
        self.out.unlink(missing_ok=True)
        atomic_files.write_json(self._state, state)
        if not atomic_files.write_unless_changed(self.out, rows, None):
            raise self._kept_beside(rows)

    def _kept_beside(self, rows: str) -> ConfigError:
        beside = self.path / "written.jsonl"
        atomic_files.write_atomic(beside, rows)
        what = f"{self.out} was changed while questions were written; it is left as it is"
        return ConfigError(what, f"the new questions are in {beside}; copy what you need")

    def candidates(self) -> list[Candidate]:
        """Of the last run; none without such a folder."""
        return list(atomic_files.iter_jsonl(self._candidates, Candidate, _RESTORE))

    def written_by(self) -> str:
        """The model that wrote the questions; empty: none."""
        if not self._state.exists():
            return ""
        models = atomic_files.read_json(self._state, WorkState, _RESTORE).asked.get("models")
        writer = models.get("generator") if isinstance(models, dict) else None
        return f"{writer.get('provider')}/{writer.get('model')}" if isinstance(writer, dict) else ""

    def documents(self) -> dict[str, Document]:
        return {one.doc_id: one for one in atomic_files.iter_jsonl(self._documents, Document, _RESTORE)}


def rows_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def question_row(one: Candidate, made_by: str) -> dict[str, Any]:
    answerable = one.kind != "unanswerable"
    written_as = {"written_as": one.written_as} if one.written_as else {}
    return {
        "id": one.id,
        "question": one.question,
        "answers": [one.answer if answerable else ABSTENTION],
        "evidence": [{"document": item.doc_id, "quote": item.fact} for item in one.evidence if answerable],
        "type": one.kind,
        "made_by": f"model:{made_by}",
        "checks": {check.name: check.note or check.passed for check in one.checks} | written_as,
        "seen_by": None,
    }
