"""Edits must pass the free checks: quotes stay verbatim whoever types them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, JsonValue

from harness.core.hashing import short_digest
from harness.core.records import Document, Evidence, Record
from harness.datasets.question_files.quotes import QuoteFinder
from harness.datasets.question_files.row_validation import AskedQuote, answers_of, evidence_of, means
from harness.datasets.table_reading import FieldRow, json_row
from harness.evaluators.answer_normalisation import abstains
from harness.extensions.testset.question_records import PAIRED, QuestionCheck
from harness.extensions.testset.text_checks import check_quotes, stands_alone, well_formed

_LONGEST, _MOST = 4_000, 20
_OF_OTHER_WORDS = ("distinct", "follows", "closed_book", "needs_both", "not_found")
"""Verdicts on the earlier wording, which are invalid after an edit."""


class EditedQuote(Record):
    """A quote and its document; either may be empty."""

    document: str = Field(max_length=_LONGEST)
    quote: str = Field(max_length=_LONGEST)


class Edit(Record):
    question: str = Field(max_length=_LONGEST)
    answers: tuple[str, ...] = Field(max_length=_MOST)
    evidence: tuple[EditedQuote, ...] = Field(max_length=_MOST)


@dataclass(frozen=True)
class RowWords:
    question: str
    answers: tuple[str, ...]
    evidence: tuple[AskedQuote, ...]

    @classmethod
    def of(cls, row: Mapping[str, JsonValue], where: str = "") -> "RowWords":
        """DataError, prefixed with `where`: a value has the wrong type."""
        read: FieldRow = json_row(row, where or f"question '{row.get('id')}'")
        return cls(str(read.fields.get("question", "")), answers_of(read), evidence_of(read))

    def cells(self) -> dict[str, str]:
        """The same as cells of a sheet."""
        joined = "|".join(self.answers)
        if any("|" in answer for answer in self.answers):
            joined = json.dumps(self.answers, ensure_ascii=False)
        cells = {"question": self.question, "answers": joined}
        for number, item in enumerate(self.evidence, start=1):
            cells |= dict(zip(evidence_columns(number), (item.quote, item.document), strict=True))
        return cells


def evidence_columns(number: int) -> tuple[str, str]:
    """The sheet columns of the piece of evidence with that number."""
    return ("quote", "document") if number == 1 else (f"quote_{number}", f"document_{number}")


def evidence_cells(items: Iterable[AskedQuote]) -> list[JsonValue]:
    """As in a row of JSON Lines, without empty fields."""
    named = [(("document", one.document), ("quote", one.quote)) for one in items]
    return [{name: value for name, value in fields if value} for fields in named]


def words_version(cells: Mapping[str, str]) -> str:
    """A digest of the words, ignoring white space: shows whether a row was changed since it was read."""
    words = {name: " ".join(cell.split()) for name, cell in cells.items()}
    columns = ("question", "answers", "quote", "document")
    own = {name: said for name, said in words.items() if name in columns or name.startswith(columns[2:])}
    return short_digest({name: said for name, said in own.items() if said})


class KnownDocuments:
    """The documents that quotes must match; may be empty."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self.by_id = documents
        self._finder = QuoteFinder(list(documents.values()), {})

    def __bool__(self) -> bool:
        return bool(self.by_id)

    def placed(self, item: AskedQuote) -> Evidence:
        """The quote with its document's id and in its document's spelling, if there is such a document."""
        holders = [] if item.document else self._finder.holders(item.quote)
        doc_id = self._finder.document(item.document) if item.document else holders[0] if len(holders) == 1 else ""
        if not doc_id:
            return Evidence(doc_id=item.document, fact=item.quote)
        return Evidence(doc_id=doc_id, fact=self._finder.verbatim(doc_id, item.quote) or item.quote)


def with_edit(row: Mapping[str, JsonValue], edit: Edit, documents: KnownDocuments) -> dict[str, JsonValue]:
    """The row with these texts, quotes as their documents spell them, without verdicts on the old texts. A changed
    field is kept under one name only: an `answer` beside `answers` would count as right too.
    """
    was = RowWords.of(row)
    edited = [AskedQuote(one.quote.strip(), one.document.strip()) for one in edit.evidence]
    quotes = [AskedQuote(documents.placed(one).fact, one.document) for one in edited if one.quote or one.document]
    answers = [" ".join(answer.split()) for answer in edit.answers]
    changed: dict[str, JsonValue] = {}
    if (question := " ".join(edit.question.split())) != was.question:
        changed["question"] = question
    if (filled := tuple(filter(None, answers))) != was.answers:
        changed["answers"] = list(filled)
    if tuple(quotes) != was.evidence:
        changed["evidence"] = evidence_cells(quotes)
    if not changed:
        return dict(row)
    kept = {name: value for name, value in row.items() if name in changed or means(name) not in changed}
    checks = row.get("checks")
    said = checks.items() if isinstance(checks, dict) else ()
    still_said = {name: what for name, what in said if name not in _OF_OTHER_WORDS}
    return {**kept, **changed, "checks": {**still_said, "edited": "by a person"}}


def with_kind_of_quotes(row: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The row, as a question for a single fact if its type needs two documents and it quotes one."""
    documents = {item.document for item in RowWords.of(row).evidence}
    return {**row, "type": "single_fact"} if row.get("type") in PAIRED and len(documents) == 1 else dict(row)


def verdicts(row: Mapping[str, JsonValue], documents: KnownDocuments) -> list[QuestionCheck]:
    """The verdicts of the free checks; quotes are not checked without documents."""
    words, kind = RowWords.of(row), str(row.get("type", ""))
    asked_kind = "unanswerable" if all(map(abstains, words.answers)) else kind
    answer = next(iter(words.answers), "")
    found = [well_formed(asked_kind, words.question, answer), stands_alone(words.question)]
    if words.evidence and documents:
        found.append(_held(kind, words.evidence, documents))
    return found


def refused(row: Mapping[str, JsonValue], documents: KnownDocuments) -> str:
    """Why the row cannot be kept; empty if it can. Whether it stands alone is for the person to decide."""
    if not RowWords.of(row).question.strip():
        return "it has no question"
    failed = [check for check in verdicts(row, documents) if check.passed is False and check.name == "quotes"]
    return failed[0].note if failed else ""


def _held(kind: str, evidence: Sequence[AskedQuote], documents: KnownDocuments) -> QuestionCheck:
    placed = [documents.placed(item) for item in evidence]
    for item in placed:
        if not item.doc_id:
            note = f"'{item.fact[:60]}' is in no document, or in several without naming one"
            return QuestionCheck(name="quotes", passed=False, note=note)
        if not item.fact and item.doc_id not in documents.by_id:
            return QuestionCheck(name="quotes", passed=False, note=f"no document '{item.doc_id}'")
    quoting = [item for item in placed if item.fact]
    if not quoting:
        return QuestionCheck(name="quotes", passed=True)
    texts = {doc_id: document.text for doc_id, document in documents.by_id.items()}
    return check_quotes(kind if len(quoting) == len(placed) else "", quoting, texts)
