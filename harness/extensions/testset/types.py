"""Questions, their sources, and the results of each check."""

from dataclasses import dataclass
from typing import Literal, get_args

from harness.core.records import Document, Evidence, Record

QuestionKind = Literal["single_fact", "bridge", "comparison", "temporal", "unanswerable"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
PAIRED: frozenset[QuestionKind] = frozenset({"bridge", "comparison", "temporal"})
"""Kinds of questions over two documents."""
CheckName = Literal[
    "written",
    "form",
    "self_contained",
    "about",
    "quotes",
    "left_out",
    "distinct",
    "follows",
    "closed_book",
    "needs_both",
    "not_found",
]
"""In the order of execution: after a failed check, the later ones are skipped."""


@dataclass(frozen=True)
class Excerpt:
    """A part of a document, split into the sentences that a model reads."""

    document: Document
    sentences: tuple[str, ...]
    """Each verbatim, in the order of the document."""
    date: str = ""
    """ISO 8601 date of the document; empty: unknown."""

    @property
    def heading(self) -> str:
        """Title and date, as far as known."""
        return ", ".join(filter(None, (" ".join(self.document.title.split()), self.date)))


@dataclass(frozen=True)
class QuestionSlot:
    """The place of a question: one excerpt, or two of different documents."""

    kind: QuestionKind
    excerpts: tuple[Excerpt, ...]
    link: str = ""
    """The name that both excerpts share."""
    focus: str = ""
    """For one excerpt: the sentence that the question is about."""

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """In the order of the excerpts."""
        return tuple(excerpt.document.doc_id for excerpt in self.excerpts)


class QuestionCheck(Record):
    """The result of one check of one candidate."""

    name: str
    passed: bool | None
    """None: undecided; the candidate is kept."""
    note: str = ""
    """What was compared, or why it was not."""


class Candidate(Record):
    """One question as written, with the verdict of every check that it reached."""

    id: str
    """Derived from its words, so that the same question has the same id in every file."""
    kind: str
    documents: tuple[str, ...]
    """The documents from which it was written."""
    link: str = ""
    question: str = ""
    answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    """Verbatim quotes; for an unanswerable question, the sentence nearest to an answer."""
    checks: tuple[QuestionCheck, ...] = ()

    @property
    def survives(self) -> bool:
        """Whether no check has failed so far."""
        return all(check.passed is not False for check in self.checks)

    def checked(self, *checks: QuestionCheck) -> "Candidate":
        """A copy with these verdicts appended."""
        return self.model_copy(update={"checks": (*self.checks, *checks)})
