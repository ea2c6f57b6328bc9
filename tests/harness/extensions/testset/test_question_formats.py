"""A question file that was written by hand as CSV is reviewed, and stays the file that its author knows."""

import csv
import io
from pathlib import Path

import pytest
from question_reviews import DOCUMENTS, FACT, rows_in
from question_writers import FERRY, YARD

from harness.core.errors import ConfigError
from harness.datasets.question_files import read_questions
from harness.extensions.testset.review_decisions import AskedDecision, Review
from harness.extensions.testset.review_edits import Edit, EditedQuote
from harness.extensions.testset.review_session import open_review, run_review

HOSTILE = '=HYPERLINK(1);"<script>alert(1)</script>\n|\u202e'
SHEET = f"""Question;Owner;answers;quote;document;
When was the Tarnby yard founded?;'me';1911|in 1911;{FACT};yard.md;x
Who pays for the ferry?;"=1+1";;;;
;;;Joren Brask manages the Tarnby yard.;yard.md;
"""


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "asked.csv"
    path.write_bytes(b"\xef\xbb\xbf" + SHEET.replace("\n", "\r\n").encode())
    return path


def review(path: Path) -> Review:
    return Review(path, "ada", DOCUMENTS)


def cells(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), delimiter=";"))


def edit(question: str, *answers: str, quote: str = "", document: str = "") -> Edit:
    return Edit(question=question, answers=answers, evidence=(EditedQuote(document=document, quote=quote),))


def test_cells_columns_and_separators_that_nobody_changed_stay(sheet: Path) -> None:
    before = cells(sheet)
    review(sheet).decide("q-0001", "accept")
    header, *rows = cells(sheet)
    assert header == [*before[0], "id", "seen_by"]
    assert [row[:6] for row in rows] == before[1:]
    assert [row[6:] for row in rows] == [["q-0001", "ada"], ["q-0002", ""], ["row-0001", ""]]
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")
    assert sheet.read_bytes().count(b"\r\n") == 4


def test_a_question_is_written_beside_a_quote_and_the_run_reads_it(sheet: Path) -> None:
    opened = review(sheet)
    with pytest.raises(ConfigError, match="no question"):
        opened.decide("row-0001", "accept")
    quote = opened.find("row-0001").row["evidence"][0]["quote"]  # type: ignore[call-overload, index]
    asked = edit("Who manages the Tarnby yard?", "Brask|Joren", "nan", quote=str(quote), document="yard.md")
    opened.decide("row-0001", "accept", asked)
    opened.decide("q-0002", "reject")
    rows = read_questions(sheet, [FERRY, YARD]).rows
    assert [(row.query.query_id, row.reference.answers) for row in rows] == [
        ("q-0001", ("1911", "in 1911")),
        ("row-0001", ("Brask|Joren", "nan")),
    ]
    assert [row.reference.evidence[0].fact for row in rows] == [FACT, "Joren Brask manages the Tarnby yard."]
    opened.decide("q-0002", "undo")
    assert [row[0] for row in cells(sheet)[1:3]] == [row.split(";")[0] for row in SHEET.splitlines()[1:3]]
    assert len(rows_in(opened.log)) == 3


def test_hostile_texts_come_back_as_they_were_and_are_no_formulas(sheet: Path) -> None:
    review(sheet).decide("q-0001", "accept", edit(HOSTILE, "-1", "@x"))
    shown = review(sheet).find("q-0001")
    assert shown.row["question"] == " ".join(HOSTILE.split())
    assert shown.row["answers"] == ["-1", "@x"]
    assert shown.is_edited
    assert cells(sheet)[1][0].startswith("'=")
    assert cells(sheet)[2][1] == "=1+1", "a cell of its author stays"
    (row, _) = read_questions(sheet, [FERRY, YARD]).rows
    assert row.reference.answers == ("-1", "@x")


def test_words_that_a_cell_cannot_hold_are_refused(sheet: Path) -> None:
    before = sheet.read_bytes()
    with pytest.raises(ConfigError, match="read as something else"):
        opened = Review(sheet, "ada")
        opened.decide("q-0001", "accept", edit("Why?", "so", quote="nan"))
    assert sheet.read_bytes() == before
    review(sheet).decide("q-0001", "accept", edit("Why?", "'=1", "''-"))
    assert review(sheet).find("q-0001").row["answers"] == ["'=1", "''-"]


def test_a_kill_between_log_and_sheet_is_mended_and_changes_by_others_stay(sheet: Path) -> None:
    opened = review(sheet)
    before = sheet.read_bytes()
    opened.decide_all([AskedDecision(id="q-0001", verdict="accept", edit=edit("When was it founded?", "1911"))])
    sheet.write_bytes(before.replace(b"Who pays for", b"Who paid for"))
    again = review(sheet)
    again.decide("q-0002", "accept")
    assert [row[0] for row in cells(sheet)[1:3]] == ["When was it founded?", "Who paid for the ferry?"]
    assert again.log.name == "asked.csv.review.jsonl", "a file of the same name has a log of its own"


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("id,decision,question,version\na,,Why?,1\n", "sheet of decisions"),
        ("query\nWhy?\n", "no column 'question'"),
        ("question,ground_truth\nWhy?,so\n", "rename that column"),
        ("question\nWhy?,so\n", "2 cells"),
        ("id,question\na,Why?\na,How?\n", "twice"),
        ("PAR1", "not intact"),
    ],
)
def test_a_sheet_that_cannot_be_reviewed_is_one_line_and_is_left_alone(
    tmp_path: Path, text: str, trouble: str
) -> None:
    path = tmp_path / "q.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=trouble), open_review(path, "ada"):
        pass
    assert path.read_text() == text


def test_a_sheet_needs_no_second_sheet(sheet: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a sheet already"):
        run_review(sheet, by="ada", to_csv=tmp_path / "q.csv")
