"""A question file for a human review."""

import csv
import json
from pathlib import Path
from typing import Any

from question_writers import FERRY, YARD

from harness.datasets.question_files.row_validation import AskedQuote
from harness.extensions.testset.question_records import rows_text
from harness.extensions.testset.question_rows import RowWords
from harness.extensions.testset.review_decisions import Review
from harness.extensions.testset.review_session import write_sheet

FACT = "The Tarnby yard was founded in 1911 and built trawlers."
CHAIR = "Hanne Olvik chairs the harbour board of Lowmere."
EDIT = RowWords(
    question="In which year was the Tarnby yard founded?",
    answers=("1911", " in  1911"),
    evidence=(AskedQuote("founded in  1911", "yard.md"),),
)
DOCUMENTS = {document.doc_id: document for document in (FERRY, YARD)}


def row(row_id: str, question: str, answer: str, doc_id: str, fact: str) -> dict[str, Any]:
    evidence = [{"document": doc_id, "quote": fact}]
    checks = {"quotes": True, "follows": "from the quotes: equal"}
    return {
        "id": row_id, "question": question, "answers": [answer], "evidence": evidence, "type": "single_fact",
        "made_by": "model:fake/fake", "checks": checks, "seen_by": None,
    }  # fmt: skip


ROWS = [
    row("a", "When was the Tarnby yard founded?", "1911", "yard.md", FACT),
    row("b", "Who chairs the harbour board of Lowmere?", "Hanne Olvik", "ferry.md", CHAIR),
    row("c", "=HYPERLINK(1) and what does the Tarnby yard build?", "trawlers|ferries", "yard.md", FACT),
]


def question_file(folder: Path) -> Path:
    """The question file with these rows."""
    path = folder / "asked.jsonl"
    path.write_text(rows_text(ROWS), encoding="utf-8")
    return path


def review(file: Path, by: str = "ada") -> Review:
    return Review(file, by, DOCUMENTS)


def rows_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def written_sheet(file: Path) -> Path:
    """The sheet of a review of this file."""
    sheet = file.with_name("q.csv")
    write_sheet(review(file), sheet)
    return sheet


def sheet_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as sheet:
        return list(csv.DictReader(sheet))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as sheet:
        writer = csv.DictWriter(sheet, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def fill(path: Path, *changes: dict[str, str]) -> None:
    """Change rows like a person with a spreadsheet."""
    write_rows(path, [{**one, **change} for one, change in zip(sheet_rows(path), changes, strict=True)])
