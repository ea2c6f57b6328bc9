"""Builds queries with references from a question file and documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from harness.core.errors import DataError
from harness.core.records import Document, Evidence
from harness.core.scripts import word_count
from harness.datasets.column_names import listed_names
from harness.datasets.folder.text_cleanup import plain
from harness.datasets.question_files.quotes import (
    QuoteFinder,
    contains_words,
    is_settled,
    say_that_there_is_none,
    unsupported_answers,
)
from harness.datasets.question_files.row_validation import AskedQuestion, parse_rows, shortened
from harness.datasets.row_fields import dataset_row
from harness.datasets.table_reading import read_table
from harness.protocols import DatasetRow

_MODEL = "model:"
"""Prefix of `made_by` for questions written by a model."""
_LIST_BEGINS = re.compile(r"""(?:\w+\()?[\[({]\W*\w*['"(]|\[[^\]]+,""")


@dataclass(frozen=True)
class QuestionSet:
    rows: tuple[DatasetRow, ...]
    notes: tuple[str, ...]
    """Notes for the report: what cannot be scored and why, and who wrote the questions."""
    are_sentences: bool = False
    """Most answers are too long to be given literally, so accuracy would be 0 for all systems."""


def read_questions(
    path: Path,
    documents: Sequence[Document],
    skipped: Mapping[str, str] = MappingProxyType({}),
    fields: Mapping[str, str] = MappingProxyType({}),
) -> QuestionSet:
    """Read the questions in file order. `skipped`: files that are not documents, and why. `fields`: field ->
    column of the file. DataError: something cannot be asked or scored (docs/question-files.md).
    """
    table = read_table(path).asked_once().with_whole_numbers()
    asked, about_columns = parse_rows(path, table, fields)
    finder = QuoteFinder(documents, skipped)
    named = {item.document: item for question in asked for item in question.evidence if item.document}
    if len(named) > 1 and not any(finder.knows(name) for name in named):
        first, item = next(iter(named.items()))
        what = f"{path}: none of the {len(named):,} documents named in '{item.column}' is there, the first is "
        what += f"'{shortened(first, 120)}', so the questions seem to be about other documents"
        raise DataError(what, finder.what_else(first))
    asked = [_held(question, finder) for question in _identified(asked)]
    quoting = [one for one in asked if any(item.quote for item in one.evidence)]
    if quoting and all(one.lost for one in quoting):
        what = f"{path}: no quote of the {len(quoting):,} questions with quotes was found, the first is "
        fix = "use the documents that the quotes were copied from"
        raise DataError(f"{what}'{shortened(quoting[0].lost)}'", fix)
    rows = tuple(
        dataset_row(one.query_id, plain(one.text), one.query_type, one.answers, one.found, one.doc_ids)
        for one in asked
    )
    sentences = _are_sentences(asked)
    notes = [*_unscored(asked), *_doubtful(asked, documents), *_echoing(asked), *_writers(asked)]
    if sentences:
        notes.append("most answers are longer than a phrase: systems answer in sentences, ranked by token F1")
    return QuestionSet(rows, (*notes, *about_columns), sentences)


def _are_sentences(asked: Sequence[AskedQuestion]) -> bool:
    worded = [question.answers for question in asked if question.answers and not is_settled(question.answers)]
    long = sum(min(map(word_count, answers)) > 5 for answers in worded)
    return 2 * long > len(worded)


def _identified(asked: Sequence[AskedQuestion]) -> Iterator[AskedQuestion]:
    """Each question with its own id, or one made of its position in the file."""
    given: dict[str, AskedQuestion] = {}
    for question in asked:
        first = given.setdefault(question.query_id, question)
        if question.query_id and first is not question:
            what = f"{first.where} and {_place(question)} both have the id '{question.query_id}'"
            raise DataError(what, "give each question a different id, or none")
    for number, question in enumerate(asked, start=1):
        query_id = question.query_id or f"q-{number:04d}"
        if not question.query_id and query_id in given:
            what = f"has the id '{query_id}', which is the generated id of another question"
            raise DataError(f"{given[query_id].where} {what}", "give every question an id, or none")
        yield replace(question, query_id=query_id)


def _held(question: AskedQuestion, finder: QuoteFinder) -> AskedQuestion:
    """The question with its evidence as the documents have it."""
    evidence: list[Evidence] = []
    lost, nowhere = "", False
    for item in question.evidence:
        doc_id = finder.document(item.document, item.quote) if item.document else None
        if item.document and doc_id is None:
            what = f"{question.where}: no document has the name '{shortened(item.document, 120)}'"
            raise DataError(what, f"{finder.what_else(item.document)} (column '{item.column}')")
        doc_id = doc_id or next(filter(None, map(finder.document, item.maybe)), None)
        if doc_id is None and item.quote:
            holders = finder.holders(item.quote)
            doc_id = holders[0] if len(holders) == 1 else None
        fact = finder.verbatim(doc_id, item.quote) if doc_id and item.quote else ""
        if fact is None or doc_id is None:
            lost, nowhere = lost or item.quote or item.maybe[0], nowhere or doc_id is None
        if doc_id is not None:
            evidence.append(Evidence(doc_id=doc_id, fact=fact or ""))
    doc_ids = tuple(dict.fromkeys(item.doc_id for item in evidence))
    if nowhere:
        # Drop all: part of the evidence would be easier to retrieve than all of it.
        evidence = []
    elif lost or not all(item.fact for item in evidence):
        evidence = [Evidence(doc_id=doc_id, fact="") for doc_id in doc_ids]
    return replace(question, found=tuple(dict.fromkeys(evidence)), doc_ids=doc_ids, lost=lost)


def _unscored(asked: Sequence[AskedQuestion]) -> Iterator[str]:
    whole = len(asked)
    if silent := sum(not question.answers for question in asked):
        yield f"{_of(silent, whole)} without answers: correctness cannot be scored"
    if unsure := [question for question in asked if question.has_alternatives]:
        what = f"any of several documents is enough, which evidence cannot express (first: {_place(unsure[0])})"
        yield f"{_of(len(unsure), whole)} without retrieval scores: {what}"
    if words := Counter(question.missing_as for question in asked if question.missing_as):
        shown = ", ".join(f"{word!r} ({count:,})" for word, count in words.most_common())
        fix = f'write ["{next(iter(words))}"] where it is the answer'
        yield f"{_of(words.total(), whole)} with a word for a missing answer, read as none: {shown}; {fix}"
    if barred := [question for question in asked if question.is_unanswerable]:
        ignored = sum(bool(question.ignored_answers) for question in barred)
        more = f"; the answers of {ignored:,} of them are ignored" if ignored else ""
        yield f"{_of(len(barred), whole)} are marked as unanswerable, so abstaining is correct{more}"
    unquoted = [question for question in asked if not question.evidence and not question.has_alternatives]
    if bare := sum(not say_that_there_is_none(question.answers) for question in unquoted):
        yield (
            f"{_of(bare, whole)} without evidence: retrieval is scored by whether the context contains the "
            "expected answer; to score it exactly, add a column `quote` with the sentence that contains the answer"
        )
    if by_document := [one for one in asked if one.lost and one.found]:
        what = f"a quote is not literally in its document (first: {_place(by_document[0])})"
        yield f"{_of(len(by_document), whole)} with retrieval scored by document, not by fact: {what}"
    if unfound := [one for one in asked if one.lost and not one.found]:
        what = f"a quote is in no document, or in several without a document name (first: {_place(unfound[0])})"
        yield f"{_of(len(unfound), whole)} without retrieval scores: {what}"
    in_part = [one for one in asked if one.found and not one.lost]
    if named := sum(not any(item.fact for item in one.found) for one in in_part):
        yield f"{_of(named, whole)} with documents but not all quotes: retrieval scored by document, not by fact"


def _doubtful(asked: Sequence[AskedQuestion], documents: Sequence[Document]) -> Iterator[str]:
    # Without documents there are none that they could be in.
    answers = (answer for question in asked for answer in question.answers)
    lacking = unsupported_answers(answers, documents) if documents else set()
    nowhere = [question for question in asked if question.answers and lacking.issuperset(question.answers)]
    if nowhere:
        first = f"(first: '{shortened(nowhere[0].answers[0], 30)}')"
        worded = sum(bool(question.answers) and not is_settled(question.answers) for question in asked)
        # A sentence is never literally in a document.
        if len(nowhere) == worded and not _are_sentences(asked):
            what = f"warning: none of the {worded:,} expected answers is in a document"
            yield f"{what} {first}: the questions seem to be about other documents"
        else:
            what = f"{_of(len(nowhere), len(asked))} with no answer literally in a document"
            yield f"{what} {first}: the answer is derived, or from other documents"

    def is_like_a_list(answer: str) -> bool:
        return answer[-1:] in {"]", ")", "}"} and _LIST_BEGINS.match(answer[:200]) is not None

    if listed := [question for question in asked if any(map(is_like_a_list, question.answers))]:
        what = f"with an answer that looks like a list and is read as a text (first: {_place(listed[0])})"
        yield f"{_of(len(listed), len(asked))} {what}; if it is a list, write it as JSON"
    asked_often = Counter(" ".join(question.text.split()).casefold() for question in asked)
    if again := len(asked) - len(asked_often):
        yield f"{_of(again, len(asked))} are repeated: each repetition counts"


def _echoing(asked: Sequence[AskedQuestion]) -> Iterator[str]:
    """A note on questions that state the facts, or without evidence the answers, by which retrieval is scored."""
    echoing = []
    for question in asked:
        searched = [item.fact for item in question.found if item.fact]
        if not question.evidence and not is_settled(question.answers):
            searched = [answer for answer in question.answers if len(answer) >= 4]
        if any(contains_words(question.text, text) for text in searched):
            echoing.append(question)
    if echoing:
        where = f"(first: {_place(echoing[0])}), so a context that repeats the question counts as evidence found"
        level = "warning: " if 2 * len(echoing) > len(asked) else ""
        yield f"{level}{_of(len(echoing), len(asked))} contain their own evidence {where}"


def _writers(asked: Sequence[AskedQuestion]) -> Iterator[str]:
    """Notes on who wrote and reviewed the questions, if the file says so."""
    if not any(question.made_by or question.seen_by for question in asked):
        return
    whole = len(asked)
    if by_model := [question for question in asked if question.made_by.startswith(_MODEL)]:
        models = Counter(question.made_by.removeprefix(_MODEL) for question in by_model)
        unseen = sum(not question.seen_by for question in by_model)
        by = listed_names([name for name, _ in models.most_common()])
        yield f"{_of(len(by_model), whole)} written by a model ({by}); {unseen:,} of these without human review"
    writers = (question.made_by for question in asked)
    if people := Counter(name for name in writers if name and not name.startswith(_MODEL)):
        yield f"{_of(people.total(), whole)} written by {listed_names([name for name, _ in people.most_common()])}"
    seen = sum(bool(question.seen_by) for question in asked)
    yield f"{_of(seen, whole)} reviewed and accepted by a person"


def _place(question: AskedQuestion) -> str:
    return question.where.rpartition("/")[2]


def _of(count: int, whole: int) -> str:
    return f"{count:,} of {whole:,} questions"
