"""A question file that others change while a person reviews it: no edit is lost, and collisions are reported."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLineHere
from question_reviews import EDIT, FACT, ROWS, fill, review, rows_in, written_sheet
from question_writers import FERRY, YARD

from harness.core.errors import ConfigError, StoreError
from harness.datasets.question_files import read_questions
from harness.datasets.question_files.row_validation import AskedQuote
from harness.extensions.testset.question_records import question_file_lock, rows_text
from harness.extensions.testset.question_rows import RowWords
from harness.extensions.testset.review_decisions import Review
from harness.extensions.testset.review_session import open_review, review_page, take_sheet

CORRECTED = {**ROWS[1], "answers": ["Hanne Olvik, since 2029"]}
ADDED = {"id": "mine", "question": "What did I add by hand?", "answers": ["a row"]}


def save(file: Path, *rows: dict[str, Any]) -> None:
    """As an editor does."""
    file.write_text(rows_text(rows), encoding="utf-8")


def logged(opened: Review, row_id: str) -> list[dict[str, Any]]:
    return [line for line in rows_in(opened.log) if line["id"] == row_id]


def test_rows_that_others_change_add_or_remove_stay_so_and_the_page_shows_them(file: Path) -> None:
    opened = review(file)
    page = review_page(opened)
    before: Any = page.gets["/row"]({"id": "b"})
    save(file, ROWS[0], CORRECTED, ADDED)
    rows: Any = page.gets["/rows"]({})
    now: Any = page.gets["/row"]({"id": "b"})
    assert [row["id"] for row in rows] == ["a", "b", "mine"]
    assert now["answers"] == tuple(CORRECTED["answers"])
    assert now["times_read"] != before["times_read"], "the page is to ask for the list again"
    save(file, ROWS[0], CORRECTED, {**ADDED, "answers": ["another"]})
    opened.decide("a", "accept")
    assert rows_in(file) == [{**ROWS[0], "seen_by": "ada"}, CORRECTED, {**ADDED, "answers": ["another"]}]
    opened.decide("mine", "accept")
    assert rows_in(file)[2]["seen_by"] == "ada"


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_row_that_both_changed_stays_as_in_the_file_and_the_other_version_is_in_the_log(
    file: Path, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = review(file)
    page = review_page(opened)
    seen: Any = page.gets["/row"]({"id": "a"})
    theirs = {**ROWS[0], "answers": ["in the year 1911"]}
    save(file, theirs, *ROWS[1:])
    edit = asdict(EDIT) if verdict == "accept" else None
    asked = {"id": "a", "verdict": verdict, "edit": edit, "version": seen["version"]}
    shown: Any = page.posts["/decide"](json.dumps(asked).encode())
    assert rows_in(file) == [theirs, *ROWS[1:]]
    assert (shown["answers"], shown["state"]) == (("in the year 1911",), "new")
    (line,) = shown["told"]
    assert "'a'" in line
    assert capsys.readouterr().err.count("'a'") == 1, "the terminal says it too"
    (kept,) = logged(opened, "a")
    assert (kept["verdict"], kept["is_applied"]) == (verdict, False)
    assert verdict == "reject" or kept["row"]["question"] == EDIT.question
    again = review(file)
    assert again.find("a").row == theirs, "what was not applied is not applied later"
    again.decide("a", "accept", EDIT, shown["version"])
    assert rows_in(file)[0]["question"] == EDIT.question


def test_the_same_correction_by_both_is_no_collision(file: Path) -> None:
    opened = review(file)
    version = opened.find("a").version
    quote = {"document": "yard.md", "quote": "founded in 1911"}
    save(file, {**ROWS[0], "question": EDIT.question, "answers": ["1911", "in 1911"], "evidence": [quote]})
    opened.decide("a", "accept", EDIT, version)
    assert (rows_in(file)[0]["seen_by"], opened.take_told()) == ("ada", [])


def test_an_editor_that_saves_an_older_state_undoes_no_decision(file: Path) -> None:
    opened = review(file)
    opened.decide("a", "accept", EDIT)
    opened.decide("c", "reject")
    save(file, ROWS[0], CORRECTED, ROWS[2])
    opened.decide("b", "accept")
    assert [(row["id"], row["seen_by"]) for row in rows_in(file)] == [("a", "ada"), ("b", "ada")]
    assert rows_in(file)[0]["question"] == EDIT.question
    assert rows_in(file)[1]["answers"] == CORRECTED["answers"]
    (line,) = opened.take_told()
    assert "'a', 'c'" in line


@pytest.mark.parametrize("text", ["{half a row", None])
def test_a_file_that_cannot_be_read_any_more_is_left_alone(file: Path, text: str | None) -> None:
    opened = review(file)
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(ConfigError):
        opened.decide("a", "accept")
    assert (file.read_text() if file.exists() else None) == text
    assert not opened.log.exists()


def test_an_edit_between_the_check_and_the_write_is_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = review(file)
    append = Path.open

    def saved_meanwhile(path: Path, *words: Any, **named: Any) -> Any:
        if path.name.endswith(".partial"):
            monkeypatch.setattr(Path, "open", append)
            save(file, ROWS[0], CORRECTED, ROWS[2])
        return append(path, *words, **named)

    monkeypatch.setattr(Path, "open", saved_meanwhile)
    opened.decide("a", "accept")
    assert rows_in(file) == [{**ROWS[0], "seen_by": "ada"}, CORRECTED, ROWS[2]]


def test_while_questions_are_written_nobody_reviews_that_file_under_any_name_and_a_link_stays_one(
    file: Path, tmp_path: Path
) -> None:
    link = tmp_path / "elsewhere.jsonl"
    link.symlink_to(file)
    for name in (file, link):
        with question_file_lock(file), pytest.raises(StoreError, match=name.name), open_review(name, "ada"):
            pass
        with open_review(name, "ada") as opened, pytest.raises(StoreError), question_file_lock(file):
            pass
    opened.decide("b", "accept")
    assert link.is_symlink()
    assert rows_in(file)[1]["seen_by"] == "ada"


@pytest.mark.parametrize("change", [{}, {"answers": "Olvik"}, {"decision": "accept"}, {"decision": "reject"}])
def test_a_sheet_changes_no_row_that_was_corrected_in_the_file_since(file: Path, change: dict[str, str]) -> None:
    sheet = written_sheet(file)
    save(file, ROWS[0], CORRECTED, ROWS[2])
    fill(sheet, {"decision": "accept"}, change, {})
    opened = review(file)
    assert [(one.id, one.edit) for one in take_sheet(opened, sheet)] == [("a", None)]
    assert rows_in(file) == [{**ROWS[0], "seen_by": "ada"}, CORRECTED, ROWS[2]]
    assert ["'b'" in line for line in opened.take_told()] == [True] * bool(change), "a collision is reported"


def test_a_sheet_can_be_filled_in_further_and_read_again(file: Path) -> None:
    sheet = written_sheet(file)
    fill(sheet, {"answers": "1911, they say"}, {}, {})
    take_sheet(review(file), sheet)
    fill(sheet, {}, {"decision": "accept"}, {"decision": "reject"})
    opened = review(file)
    take_sheet(opened, sheet)
    assert opened.take_told() == []
    assert [(row["id"], row["answers"], row["seen_by"]) for row in rows_in(file)] == [
        ("a", ["1911, they say"], "ada"),
        ("b", ROWS[1]["answers"], "ada"),
    ]


# A question file that was written by hand as CSV is reviewed, and stays the file that its author knows.


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


def cells(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), delimiter=";"))


def edit(question: str, *answers: str, quote: str = "", document: str = "") -> RowWords:
    return RowWords(question=question, answers=answers, evidence=(AskedQuote(quote, document),))


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
    assert opened.log.name == "asked.csv.review.jsonl", "a .jsonl file of the same name has a log of its own"
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
    review(sheet).decide("q-0001", "accept", edit(HOSTILE, "-1", "@x", "'=1", "''-"))
    shown = review(sheet).find("q-0001")
    assert shown.row["question"] == " ".join(HOSTILE.split())
    assert shown.row["answers"] == ["-1", "@x", "'=1", "''-"]
    assert shown.is_edited
    assert cells(sheet)[1][0].startswith("'=")
    assert cells(sheet)[2][1] == "=1+1", "a cell of its author stays"
    (row, _) = read_questions(sheet, [FERRY, YARD]).rows
    assert row.reference.answers == ("-1", "@x", "'=1", "''-")


def test_words_that_a_cell_cannot_hold_are_refused(sheet: Path) -> None:
    before = sheet.read_bytes()
    with pytest.raises(ConfigError, match="read as something else"):
        Review(sheet, "ada").decide("q-0001", "accept", edit("Why?", "so", quote="nan"))
    assert sheet.read_bytes() == before


def test_a_kill_between_log_and_sheet_is_repaired_and_changes_by_others_stay(sheet: Path) -> None:
    before = sheet.read_bytes()
    review(sheet).decide("q-0001", "accept", edit("When was it founded?", "1911"))
    sheet.write_bytes(before.replace(b"Who pays for", b"Who paid for"))
    review(sheet).decide("q-0002", "accept")
    assert [row[0] for row in cells(sheet)[1:3]] == ["When was it founded?", "Who paid for the ferry?"]


def test_no_sheet_is_written_of_a_sheet(sheet: Path, tmp_path: Path) -> None:
    here = CommandLineHere(tmp_path)
    assert "is a sheet already" in here.refused("review", sheet.name, "--by", "ada", "--to-csv", "q.csv")
