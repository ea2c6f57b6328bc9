"""Validates the rows of a question file, which are untrusted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.core.errors import DataError, nearest
from harness.core.records import Evidence
from harness.datasets.cell_values import NO_ANSWER, as_bool, as_text, gold_answers, is_missing, parsed_cell
from harness.datasets.column_names import ANSWER_FILE, QUESTION_FILE, UNREAD, Columns, find_columns, listed_names
from harness.datasets.row_fields import kind_of
from harness.datasets.table_reading import FieldRow, FieldTable, plain_name

_FORMAT = "docs/question-files.md describes the format"
_FIELDS = ("question", "id", "answers", "answer", "evidence", "type", "made_by", "seen_by", "quote", "document")
_PASSED_OVER = ("checks", "notes")
_NUMBERED = re.compile(r"(quote|document)(?:_([1-9]\d?))?")
_QUOTE_KEYS, _DOCUMENT_KEYS = ("quote", "fact", "text"), ("doc_id", "url", "title")
"""Keys of evidence: MultiHop-RAG has `fact`, `url` and `title`."""
_LONGEST_NAME = 200
"""Longest id or type in characters, because both appear in tables."""
DEFAULT_TYPE = "question"


@dataclass(frozen=True)
class AskedQuote:
    """Evidence as given in the file; any field may be empty."""

    quote: str
    document: str
    maybe: tuple[str, ...] = ()
    """Names that another tool gives the document; it need not have any of them."""
    column: str = field(default="evidence", compare=False)
    """The column of the file that names the document."""


@dataclass(frozen=True)
class AskedQuestion:
    """One row, and what the documents have of its evidence; missing fields are empty."""

    where: str
    text: str
    query_id: str
    answers: tuple[str, ...]
    evidence: tuple[AskedQuote, ...]
    query_type: str
    made_by: str
    seen_by: str
    missing_as: str = ""
    """The word that stands for a missing answer, such as `nan`."""
    is_unanswerable: bool = False
    """By a column of its own, or by SQuAD's empty answers."""
    ignored_answers: tuple[str, ...] = ()
    """Those of a question that is unanswerable."""
    has_alternatives: bool = False
    """One of several documents is enough, so `evidence` cannot name it."""
    found: tuple[Evidence, ...] = ()
    """The evidence in the documents."""
    doc_ids: tuple[str, ...] = ()
    lost: str = ""
    """The first quote or document that was not found; empty if all were found."""


def parse_rows(path: Path, table: FieldTable, fields: Mapping[str, str]) -> tuple[list[AskedQuestion], list[str]]:
    """The questions, and notes on columns: names of other tools, and fields that are not read. `fields`: field ->
    column, as the user says. DataError names the first mistake with its line.
    """
    columns = _without_system_answers(find_columns(path, table, QUESTION_FILE, fields), path, table, fields)
    if "question" not in columns.roles:
        near = next((name for name in ("questions", "text", "instruction") if name in table.names), "")
        fix = f"rename '{near}' to 'question'" if near else "name the column of questions: --field question=NAME"
        what = f"{path} has no column 'question', its columns are {listed_names(table.names)}"
        raise DataError(what, f"{fix}; {_FORMAT}")
    own = [name for name in table.names if _NUMBERED.fullmatch(name)]
    _refuse_misspelled(path, table.names, {*own, *(name for names in columns.roles.values() for name in names)})
    written = [row for row in table.rows if not _is_unwritten(row, columns)]
    if table.rows and not written:
        fix = "write a question and its answer beside a quote; rows without a question are skipped"
        raise DataError(f"{path}: no question is written yet", fix)
    asked = [_parse(row, columns) for row in written]
    left = len(table.rows) - len(written)
    skipped = [f"{left:,} of {len(table.rows):,} rows without a question skipped"] if left else []
    return asked, [*skipped, *columns.notes(table, own=_FIELDS, passed_over=(*_PASSED_OVER, *own))]


def _is_unwritten(row: FieldRow, columns: Columns) -> bool:
    """Whether it has nothing but a quote, like a row of `rag-harness questions FOLDER --template FILE.csv`."""
    texts = (columns.text(row, "question", QUESTION_FILE["question"]), columns.value(row, "answers"))
    return row.is_csv and not any(str(text or "").strip() for text in texts) and bool(row.fields.get("quote"))


def _without_system_answers(columns: Columns, path: Path, table: FieldTable, fields: Mapping[str, str]) -> Columns:
    """Without answers of a system as gold answers: `answer` beside retrieved contexts is one (ragas)."""
    gold = columns.roles.get("answers", ())
    retrieved = find_columns(path, table, {"contexts": ANSWER_FILE["contexts"]}, {}).roles.get("contexts")
    if not gold or not retrieved or "answers" in fields:
        return columns
    of_systems = {plain_name(name) for tier in ANSWER_FILE["answer"] for name in tier}
    left = tuple(name for name in gold if plain_name(name.partition(".")[0]) not in of_systems)
    if not left:
        what = f"{path} has retrieved contexts ('{retrieved[0]}'), so '{gold[0]}' may be the answer of a system"
        raise DataError(what, f"if it is the gold answer: --field answers={gold[0]}; else remove the column")
    return replace(columns, roles={**columns.roles, "answers": left})


def answers_of(row: FieldRow) -> tuple[str, ...]:
    """All answers of a row from its own answer fields, without duplicates. DataError: a value is not a text."""
    cells = {name: row.fields[name] for name in ("answers", "answer") if name in row.fields}
    found = [gold_answers(row.where, name, cell, is_csv=row.is_csv).answers for name, cell in cells.items()]
    return tuple(dict.fromkeys(answer for answers in found for answer in answers))


def evidence_of(row: FieldRow) -> tuple[AskedQuote, ...]:
    """All evidence of a row, given as a list, as one object, or in separate fields, without duplicates."""
    found = (*_evidence(row.where, row.fields.get("evidence")), *_columns(row))
    named = (AskedQuote(one.quote, one.document or next(iter(one.maybe), "")) for one in found)
    return tuple(dict.fromkeys(named))


def means(name: str) -> str:
    """The field that a name stands for: `answers` for `answer`, `evidence` for `quote_2`."""
    name = name.strip().lower()
    return "evidence" if _NUMBERED.fullmatch(name) else "answers" if name == "answer" else name


def shortened(text: str, most: int = 60) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _refuse_misspelled(path: Path, names: Sequence[str], used: set[str]) -> None:
    """DataError if a name that nobody reads looks like a misspelling of a missing known field."""
    tiers = [tier for roles in (QUESTION_FILE, ANSWER_FILE) for tiers in roles.values() for tier in tiers]
    known = {plain_name(name) for tier in (*tiers, UNREAD) for name in tier}
    for name in names:
        if name in (*used, *_FIELDS, *_PASSED_OVER) or plain_name(name) in known:
            continue
        near = difflib.get_close_matches(name[:_LONGEST_NAME], _FIELDS, n=1, cutoff=0.8)
        if near and near[0] not in names:
            raise DataError(f"{path}: unknown field '{shortened(name)}'", nearest(near[0], _FIELDS))


def _parse(row: FieldRow, columns: Columns) -> AskedQuestion:
    question = columns.text(row, "question", QUESTION_FILE["question"])
    if question is None or not str(question).strip():
        raise DataError(f"{row.where}: the question is empty", "write it, or remove the row")
    answers_in = columns.roles.get("answers", ("answers",))[0]
    gold = gold_answers(row.where, answers_in, columns.value(row, "answers"), is_csv=row.is_csv)
    aliases_in, aliases = columns.roles.get("aliases", ("",))[0], columns.value(row, "aliases")
    others = gold_answers(row.where, aliases_in, aliases, is_csv=row.is_csv).answers if gold.answers else ()
    answers = tuple(dict.fromkeys((*gold.answers, *others)))
    can, cannot = (as_bool(row.where, role, columns.value(row, role)) for role in ("answerable", "unanswerable"))
    if can is not None and can == cannot:
        raise DataError(f"{row.where}: the question is both answerable and unanswerable", "correct one of them")
    is_unanswerable = gold.is_unanswerable or can is False or cannot is True
    cited, has_alternatives = _cited(row, columns)
    evidence_in = columns.roles.get("evidence", ("evidence",))[0]
    listed = (replace(one, column=evidence_in) for one in _evidence(row.where, columns.value(row, "evidence")))
    evidence = (*listed, *_columns(row), *cited)
    return AskedQuestion(
        where=row.where,
        text=as_text(row.where, columns.roles["question"][0], question).strip(),
        query_id=_name(row, columns, "id"),
        answers=(NO_ANSWER,) if is_unanswerable else answers,
        evidence=tuple(dict.fromkeys(evidence)),
        query_type=_name(row, columns, "type") or DEFAULT_TYPE,
        made_by=_name(row, columns, "made_by"),
        seen_by=_name(row, columns, "seen_by"),
        missing_as=gold.missing_as,
        is_unanswerable=is_unanswerable,
        ignored_answers=answers if is_unanswerable else (),
        has_alternatives=has_alternatives,
    )


def _name(row: FieldRow, columns: Columns, role: str) -> str:
    """A short text on one line. In JSON each text is a word; in CSV the type `null`, as of questions without an
    answer, is one, and other spellings of a missing value are none.
    """
    name = columns.roles.get(role, (role,))[0]
    value = columns.value(row, role)
    is_word = isinstance(value, str) and (not row.is_csv or (role, value.strip()) == ("type", "null"))
    is_none = value is None or (role != "id" and is_missing(value) and not is_word)
    text = "" if is_none else " ".join(as_text(row.where, name, value).split())
    if len(text) > _LONGEST_NAME:
        what = f"{row.where}: '{name}' has {len(text):,} characters"
        raise DataError(what, f"use at most {_LONGEST_NAME}; {_FORMAT}")
    return text


def _evidence(where: str, value: object) -> Iterator[AskedQuote]:
    """The quotes in a value: a text is a quote, a list or object also in a cell."""
    found = None if is_missing(value) else parsed_cell(value, where)
    if isinstance(found, str) and re.match(r"""\s*\[?\s*\{\s*["']""", found):
        fix = f"use columns quote, document; {_FORMAT}"
        raise DataError(f"{where}: 'evidence' is not a JSON list of quotes", fix)
    for one in found if isinstance(found, list) else [] if found is None else [found]:
        quote = _quote(where, one)
        if quote.quote or quote.document or quote.maybe:
            yield quote


def _quote(where: str, value: object) -> AskedQuote:
    if isinstance(value, str):
        return AskedQuote(as_text(where, "evidence", value).strip(), "")
    if not isinstance(value, Mapping):
        raise DataError(f"{where}: 'evidence' must be quotes, not {kind_of(value)}", _FORMAT)
    given = {str(name): one for name, one in value.items() if one is not None}
    if not {*_QUOTE_KEYS, *_DOCUMENT_KEYS, "document"} & set(given):
        what = f"{where}: evidence has the fields {listed_names(list(given))}"
        raise DataError(what, "name them quote and document")

    def texts(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(as_text(where, name, given[name]).strip() for name in names if given.get(name) is not None)

    return AskedQuote(
        next(filter(None, texts(_QUOTE_KEYS)), ""),
        "".join(texts(("document",))),
        tuple(filter(None, texts(_DOCUMENT_KEYS))),
    )


def _columns(row: FieldRow) -> Iterator[AskedQuote]:
    """Quotes in separate fields, ordered by their numbers."""
    cells: dict[tuple[str, int], tuple[str, str]] = {}
    for name, value in row.fields.items():
        if (found := _NUMBERED.fullmatch(name)) and not is_missing(value):
            cells[found[1], int(found[2] or 1)] = name, as_text(row.where, name, value).strip()
    for number in sorted({number for _, number in cells}):
        _, quote = cells.get(("quote", number), ("", ""))
        column, document = cells.get(("document", number), ("", ""))
        if quote or document:
            yield AskedQuote(quote, document, column=column)


def _cited(row: FieldRow, columns: Columns) -> tuple[list[AskedQuote], bool]:
    """The documents of AutoRAG's `retrieval_gt`, all of which are needed; none and True if it has alternatives."""
    value = columns.value(row, "documents")
    found = None if is_missing(value) else parsed_cell(value, row.where)
    groups = found if isinstance(found, list) else [] if found is None else [found]
    ids = [one if isinstance(one, list) else [one] for one in groups]
    if any(len(group) > 1 for group in ids):
        return [], True
    name = columns.roles.get("documents", ("",))[0]
    return [AskedQuote("", "", (as_text(row.where, name, one),)) for group in ids for one in group], False
