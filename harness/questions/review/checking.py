"""What a person changes passes the checks that cost nothing: quotes stay verbatim whoever types them."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, JsonValue

from harness.datasets.question_files.quotes import QuoteFinder
from harness.evaluators.normalise import abstains
from harness.questions.nouns import QuestionCheck
from harness.questions.wording import quoted, stands_alone, well_formed
from harness.records import Document, Evidence, Record

_LONGEST, _MOST = 4_000, 20
_OF_OTHER_WORDS = ("distinct", "follows", "closed_book", "needs_both", "not_found")
"""Verdicts on a question as it was: they say nothing of it in other words."""


class EditedQuote(Record):
    """A quote and the document it stands in."""

    document: str = Field(max_length=_LONGEST)
    quote: str = Field(max_length=_LONGEST)


class Edit(Record):
    """The words of a question from now on."""

    question: str = Field(max_length=_LONGEST)
    answers: tuple[str, ...] = Field(max_length=_MOST)
    evidence: tuple[EditedQuote, ...] = Field(max_length=_MOST)


def with_edit(row: Mapping[str, JsonValue], edit: Edit, documents: Mapping[str, Document]) -> dict[str, JsonValue]:
    """The row in these words; quotes as their documents spell them, verdicts on other words taken out."""
    answers = [" ".join(answer.split()) for answer in edit.answers]
    quotes = [one for one in edit.evidence if one.quote.strip() or one.document.strip()]
    changed: dict[str, JsonValue] = {
        "question": " ".join(edit.question.split()),
        "answers": [answer for answer in answers if answer],
        "evidence": [{"document": one.document, "quote": _spelled(one, documents)} for one in quotes],
    }
    if all(row.get(name) == value for name, value in changed.items()):
        return dict(row)
    checks = row.get("checks")
    kept = (
        {name: said for name, said in checks.items() if name not in _OF_OTHER_WORDS}
        if isinstance(checks, dict)
        else {}
    )
    return {**row, **changed, "checks": {**kept, "edited": "by a person"}}


def verdicts(row: Mapping[str, JsonValue], documents: Mapping[str, Document]) -> list[QuestionCheck]:
    """Of the checks that cost nothing; without any document at hand nothing is said of quotes."""
    question, answers = str(row.get("question", "")), _answers(row)
    is_null = not answers or all(map(abstains, answers))
    kind = "unanswerable" if is_null else str(row.get("type", ""))
    found = [well_formed(kind, question, answers[0] if answers else ""), stands_alone(question)]
    if (evidence := evidence_of(row)) and documents:
        texts = {doc_id: document.text for doc_id, document in documents.items()}
        found.append(quoted(str(row.get("type", "")), evidence, texts))
    return found


def refused(row: Mapping[str, JsonValue], documents: Mapping[str, Document]) -> str:
    """Why a row in these words cannot be kept; empty: it can. Whether it stands alone is for the person to say."""
    if not str(row.get("question", "")).strip():
        return "it has no question"
    failed = [check for check in verdicts(row, documents) if check.passed is False and check.name == "quotes"]
    return failed[0].note if failed else ""


def evidence_of(row: Mapping[str, JsonValue]) -> list[Evidence]:
    """Its quotes with their documents, as far as it names both."""
    listed: Any = row.get("evidence")
    items = listed if isinstance(listed, list) else []
    pairs = [(item.get("document"), item.get("quote")) for item in items if isinstance(item, dict)]
    return [
        Evidence(doc_id=doc, fact=quote) for doc, quote in pairs if isinstance(doc, str) and isinstance(quote, str)
    ]


def _answers(row: Mapping[str, JsonValue]) -> list[str]:
    answers = row.get("answers", row.get("answer"))
    listed = answers if isinstance(answers, list) else [answers]
    return [answer for answer in listed if isinstance(answer, str)]


def _spelled(one: EditedQuote, documents: Mapping[str, Document]) -> str:
    """As its document spells it, where it says it at all."""
    if one.document not in documents:
        return one.quote
    return QuoteFinder([documents[one.document]], {}).verbatim(one.document, one.quote.strip()) or one.quote
