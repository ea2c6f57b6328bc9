"""From a question file and documents to queries with their gold side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.core.errors import DataError
from harness.core.records import Document, Evidence, Query, Reference
from harness.datasets.question_files.quotes import QuoteFinder
from harness.datasets.question_files.rows import AskedQuestion, listed, parse_rows, shortened
from harness.datasets.question_files.table import read_table
from harness.datasets.question_files.unsupported_answers import is_settled, say_that_there_is_none, unheard
from harness.protocols import DatasetRow

_MODEL = "model:"
"""What `made_by` begins with where no person wrote a question."""
_MOST_WORDS = 5
"""Of an answer that systems can be expected to give word for word."""


@dataclass(frozen=True)
class QuestionSet:
    """What a question file asks of these documents."""

    rows: tuple[DatasetRow, ...]
    notes: tuple[str, ...]
    """What a reader must know: what cannot be scored and why, who wrote the questions."""
    are_sentences: bool = False
    """Its answers are mostly too long to be given word for word: a share of equal answers would be 0 for all."""


@dataclass(frozen=True)
class _Held:
    """Evidence of one question, held against the documents."""

    evidence: tuple[Evidence, ...]
    doc_ids: tuple[str, ...]
    lost: str
    """A quote that its document does not state; empty: all are found."""


def read_questions(
    path: Path, documents: Sequence[Document], skipped: Mapping[str, str] = MappingProxyType({})
) -> QuestionSet:
    """The questions of the file in its order. `DataError` in one line for whatever cannot be asked or scored; see
    docs/question-files.md for what is refused and what is noted. `skipped`: what is no document, and why.
    """
    asked, strange = parse_rows(path, read_table(path))
    ids = _ids(asked)
    finder = QuoteFinder(documents, skipped)
    held = [_hold(question, finder) for question in asked]
    _refuse_foreign(path, asked, held)
    rows = tuple(_row(*one) for one in zip(asked, ids, held, strict=True))
    sentences = _are_sentences(asked)
    notes = [*_unscored(asked, held), *_doubtful(asked, documents), *_writers(asked)]
    if sentences:
        notes.append("most answers are longer than a phrase: sentences are asked for, and ranked by token F1")
    if strange:
        notes.append(f"fields of the question file that nobody reads: {listed(strange)}")
    return QuestionSet(rows, tuple(notes), sentences)


def _are_sentences(asked: Sequence[AskedQuestion]) -> bool:
    worded = [question.answers for question in asked if question.answers and not is_settled(question.answers)]
    long = sum(min(len(answer.split()) for answer in answers) > _MOST_WORDS for answers in worded)
    return 2 * long > len(worded)


def _ids(asked: Sequence[AskedQuestion]) -> list[str]:
    """The id of each: its own, else its place in the file."""
    given: dict[str, AskedQuestion] = {}
    for question in asked:
        first = given.setdefault(question.query_id, question)
        if question.query_id and first is not question:
            what = f"{first.where} and {_place(question)} both have the id '{question.query_id}'"
            raise DataError(what, "give each question an id of its own, or none")
    ids = [question.query_id or f"q-{number:04d}" for number, question in enumerate(asked, start=1)]
    for question, query_id in zip(asked, ids, strict=True):
        if not question.query_id and query_id in given:
            what = f"{given[query_id].where} has the id '{query_id}', which is the place of another question"
            raise DataError(what, "give every question an id, or none")
    return ids


def _hold(question: AskedQuestion, finder: QuoteFinder) -> _Held:
    evidence: list[Evidence] = []
    lost, nowhere = "", False
    for item in question.evidence:
        doc_id = finder.document(item.document) if item.document else None
        if item.document and doc_id is None:
            what = f"{question.where}: no document is called '{shortened(item.document, 120)}'"
            raise DataError(what, f"{finder.what_else(item.document)} (or leave out 'evidence' of this question)")
        if doc_id is None:
            holders = finder.holders(item.quote)
            doc_id = holders[0] if len(holders) == 1 else None
        fact = finder.verbatim(doc_id, item.quote) if doc_id and item.quote else ""
        if fact is None or doc_id is None:
            lost, nowhere = lost or item.quote, nowhere or doc_id is None
        if doc_id is not None:
            evidence.append(Evidence(doc_id=doc_id, fact=fact or ""))
    doc_ids = tuple(dict.fromkeys(item.doc_id for item in evidence))
    if nowhere:
        # A part of the evidence would be found more easily than all of it.
        evidence = []
    elif lost or not all(item.fact for item in evidence):
        evidence = [Evidence(doc_id=doc_id, fact="") for doc_id in doc_ids]
    return _Held(tuple(dict.fromkeys(evidence)), doc_ids, lost)


def _refuse_foreign(path: Path, asked: Sequence[AskedQuestion], held: Sequence[_Held]) -> None:
    """Refuse a file of whose quotes none is in the documents: it was written for others."""
    quoting = [
        one for question, one in zip(asked, held, strict=True) if any(item.quote for item in question.evidence)
    ]
    if quoting and all(one.lost for one in quoting):
        what = f"{path}: none of the {len(quoting):,} questions with quotes has them in its documents"
        first = next(one.lost for one in quoting)
        raise DataError(
            f"{what}, the first is '{shortened(first)}'",
            "name the documents that they were taken from, word for word",
        )


def _row(question: AskedQuestion, query_id: str, held: _Held) -> DatasetRow:
    reference = Reference(
        query_id=query_id, query_type=question.query_type, answers=question.answers, evidence=held.evidence
    )
    return DatasetRow(Query(query_id=query_id, text=question.text), reference, held.doc_ids)


def _unscored(asked: Sequence[AskedQuestion], held: Sequence[_Held]) -> Iterator[str]:
    """What cannot be scored, and why."""
    whole = len(asked)
    silent = sum(not question.answers for question in asked)
    if silent:
        yield f"{_of(silent, whole)} without answers: whether what is said is right cannot be scored for them"
    bare = sum(not question.evidence and not say_that_there_is_none(question.answers) for question in asked)
    if bare:
        yield f"{_of(bare, whole)} without evidence: what is retrieved cannot be scored for them"
    pairs = list(zip(asked, held, strict=True))
    by_document = [question for question, one in pairs if one.lost and one.evidence]
    if by_document:
        what = f"a quote is not in its document word for word (first: {_place(by_document[0])})"
        yield f"{_of(len(by_document), whole)} scored by document and not by fact: {what}"
    unfound = [question for question, one in pairs if one.lost and not one.evidence]
    if unfound:
        what = f"a quote is in no document, or in several and none is named (first: {_place(unfound[0])})"
        yield f"{_of(len(unfound), whole)} not scored by what is retrieved: {what}"
    named = sum(
        bool(one.evidence) and not one.lost and not any(item.fact for item in one.evidence) for one in held
    )
    if named:
        yield f"{_of(named, whole)} with documents named and no quote for each: scored by document, not by fact"


def _doubtful(asked: Sequence[AskedQuestion], documents: Sequence[Document]) -> Iterator[str]:
    """What may be a mistake."""
    lacking = unheard((answer for question in asked for answer in question.answers), documents)
    nowhere = [question for question in asked if question.answers and lacking.issuperset(question.answers)]
    if nowhere:
        first = f"(first: '{shortened(nowhere[0].answers[0], 30)}')"
        yield (
            f"{_of(len(nowhere), len(asked))} with no answer that a document states word for word {first}: put "
            "together, or of other documents"
        )
    asked_often = Counter(" ".join(question.text.split()).casefold() for question in asked)
    again = sum(times - 1 for times in asked_often.values())
    if again:
        yield f"{_of(again, len(asked))} asked more than once: each counts as often as it is asked"


def _writers(asked: Sequence[AskedQuestion]) -> Iterator[str]:
    """Who wrote them and who has read them, as far as the file says."""
    if not any(question.made_by or question.seen_by for question in asked):
        return
    whole = len(asked)
    models = Counter(question.made_by for question in asked if question.made_by.startswith(_MODEL))
    seen = sum(bool(question.seen_by) for question in asked)
    if models:
        by = listed([name.removeprefix(_MODEL) for name, _ in models.most_common()])
        unseen = sum(question.made_by.startswith(_MODEL) and not question.seen_by for question in asked)
        yield f"{_of(models.total(), whole)} machine-made (by {by}); of these no person has seen {unseen:,}"
    people = Counter(
        question.made_by for question in asked if question.made_by and not question.made_by.startswith(_MODEL)
    )
    if people:
        yield f"{_of(people.total(), whole)} written by {listed([name for name, _ in people.most_common()])}"
    yield f"{_of(seen, whole)} seen and accepted by a person"


def _place(question: AskedQuestion) -> str:
    return question.where.rpartition("/")[2]


def _of(count: int, whole: int) -> str:
    return f"{count:,} of {whole:,} questions"
