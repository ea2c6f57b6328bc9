"""One person's review of a question file, on a page or in a spreadsheet.

The sheet can be used as a question file. A cell that a spreadsheet would read as a formula has an apostrophe in
front, which is removed again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.core.current_process import user_name
from harness.core.errors import ConfigError, DataError, nearest_file
from harness.datasets.question_files.row_validation import AskedQuote
from harness.datasets.table_reading import FieldRow, read_table
from harness.display.csv_sheets import sheet_text
from harness.display.text_format import counted
from harness.extensions.testset.documents import read_documents
from harness.extensions.testset.question_records import question_file_lock
from harness.extensions.testset.question_rows import (
    RowWords,
    evidence_columns,
    verdicts,
    words_version,
)
from harness.extensions.testset.review_decisions import AskedDecision, Review, ReviewedRow
from harness.extensions.web.pages import LocalPage, framed, parsed_body
from harness.runner.progress import Reporter
from harness.store.atomic_files import write_atomic

_LONGEST_NAME = 100

_ACCEPT = frozenset({"accept", "accepted", "a", "yes", "y", "ok", "x"})
_REJECT = frozenset({"reject", "rejected", "r", "no", "n"})
_VERSION = "version"
"""The column that shows whether a row was changed since the sheet was written."""

_ASSETS = Path(__file__).parent / "assets"
_AROUND = 400
"""Characters of the document shown on each side of a quote."""


def review_summary(review: Review) -> str:
    """How many questions were kept, reviewed and rejected."""
    kept = [one for one in review.rows if not one.is_rejected]
    failed = sum(one.is_rejected and bool(one.failed) for one in review.rows)
    blank = sum(not one.row.get("question") for one in kept)
    seen = sum(one.is_seen for one in kept)
    counts = [
        f"{counted(len(kept) - blank, 'question')}, {seen:,} reviewed by a person",
        f"{len(review.rows) - len(kept) - failed:,} rejected",
        *([f"{blank:,} rows without a question"] if blank else []),
        *([f"{failed:,} rejected by checks"] if failed else []),
    ]
    return f"{review.path}: {'; '.join(counts)} (decisions: {review.log})"


@contextmanager
def open_review(file: Path, by: str | None = None, docs: Path | None = None) -> Iterator[Review]:
    """The review of a file by one person, by default the user. `docs`: a folder in which quotes are checked.

    HarnessError: the file or folder is missing, another process has it open, or the reviewer is unknown.
    """
    name = user_name() if by is None else by.strip()
    if name is None:
        raise ConfigError("your login name is unknown", "name who reviews: --by NAME")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith("model:"):
        what = f"--by {name[:_LONGEST_NAME]!r} is not a person's name"
        raise ConfigError(what, "name the reviewer, such as --by ada")
    documents = None
    if docs is not None:
        with Reporter().reading() as tell:
            read, _ = read_documents(docs, tell)
        documents = {document.doc_id: document for document in read}
    if not file.is_file():
        fix = nearest_file(file, "write one: rag-harness questions FOLDER")
        raise ConfigError(f"no question file {file}", fix)
    with question_file_lock(file):
        # A link stays a link: the file it points to is written.
        yield Review(file.resolve() if file.is_symlink() else file, name, documents)


def write_sheet(review: Review, path: Path) -> int:
    """Write every question that is not rejected; returns how many. ConfigError: the file already exists."""
    if path.exists():
        raise ConfigError(f"{path} is there already", "name another file, or take its decisions first: --from-csv")
    shown = [one for one in review.rows if not one.is_rejected]
    most = max([1, *(len(RowWords.of(one.row).evidence) for one in shown)])
    places = [name for number in range(1, most + 1) for name in evidence_columns(number)]
    names = ["id", "decision", "question", "answers", *places, "type", "made_by", "seen_by", _VERSION]
    write_atomic(path, sheet_text(names, map(_cells, shown)))
    return len(shown)


def take_sheet(review: Review, path: Path) -> list[AskedDecision]:
    """Apply its decisions, all or none, except for rows that were changed since the sheet was written; returns
    those that were applied. ConfigError or DataError: a decision is invalid.
    """
    table = read_table(path)
    decided = [found for row in table.rows if (found := _decision(review, row, table.names))]
    if len({one.id for one in decided}) < len(decided):
        raise DataError(f"{path} has the same question twice", "leave one row for each id")
    return review.decide_all(decided)


def _decision(review: Review, row: FieldRow, names: Sequence[str]) -> AskedDecision | None:
    cells = {name: str(value) for name, value in row.fields.items() if value is not None}
    one, word = review.find(cells.get("id", "")), cells.get("decision", "").strip().casefold()
    version = cells.get(_VERSION, "").strip()
    if word in _REJECT:
        return AskedDecision(id=one.row_id, verdict="reject", version=version)
    if word and word not in _ACCEPT:
        raise DataError(f"{row.where}: the decision '{word}' is none", "write accept, reject or nothing")
    # A removed column means no change; an emptied cell does.
    cells = {name: value for name, value in _cells(one).items() if name not in names} | cells
    is_edited = words_version(cells) not in {one.version, version}
    if not word and not is_edited:
        return None
    edit = RowWords.read(FieldRow(row.where, cells, is_csv=True)) if is_edited else None
    return AskedDecision(id=one.row_id, verdict="accept", edit=edit, version=version)


def _cells(one: ReviewedRow) -> dict[str, str]:
    about = {name: str(one.row.get(name) or "") for name in ("type", "made_by", "seen_by")}
    return {"id": one.row_id, **RowWords.of(one.row).cells(), **about, _VERSION: one.version}


def review_page(review: Review) -> LocalPage:
    """Every question of a file, to accept, edit or reject; decisions are kept at once."""

    def decide(body: bytes) -> object:
        asked = parsed_body(AskedDecision, body)
        review.decide(asked.id, asked.verdict, asked.edit, asked.version)
        return _whole(review, asked.id)

    def rows(_asked: object) -> object:
        review.refresh()
        return [_shown(one) for one in review.rows]

    def row(asked: Mapping[str, str]) -> object:
        review.refresh()
        return _whole(review, asked.get("id", ""))

    gets = {"/rows": rows, "/row": row}
    return framed("Review of questions", _ASSETS, "review", gets, {"/decide": decide})


def _shown(one: ReviewedRow) -> dict[str, object]:
    state = "rejected" if one.is_rejected else "seen" if one.is_seen else "new"
    return {
        "id": one.row_id,
        "question": one.row.get("question", ""),
        "type": one.row.get("type", ""),
        "state": "failed" if one.failed and one.is_rejected else state,
    }


def _whole(review: Review, row_id: str) -> dict[str, object]:
    one = review.find(row_id)
    words = RowWords.of(one.row)
    failed = [check for check in verdicts(one.row, review.documents) if check.passed is False]
    return {
        **_shown(one),
        **{name: one.row.get(name) for name in ("type", "made_by", "seen_by", "checks")},
        "question": words.question,
        "answers": words.answers,
        "quotes": [_quote_in_document(review, item) for item in words.evidence],
        "version": one.version,
        "times_read": review.times_read,
        "told": review.take_told(),
        "edited": one.is_edited,
        "failed": one.failed,
        "warnings": [f"{check.name}: {check.note}" for check in failed if words.question],
    }


def _quote_in_document(review: Review, item: AskedQuote) -> dict[str, str]:
    """The quote as in the row, with its surroundings in the document."""
    placed = review.documents.placed(item)
    document = review.documents.by_id.get(placed.doc_id)
    text = document.text if document else ""
    at = text.find(placed.fact) if placed.fact else -1
    end = at + len(placed.fact)
    return {
        "document": item.document,
        "quote": item.quote,
        "title": document.title if document else "",
        "before": text[max(0, at - _AROUND) : at] if at >= 0 else "",
        "after": text[end : end + _AROUND] if at >= 0 else "",
    }
