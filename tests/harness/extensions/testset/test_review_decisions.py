"""What a person decides is kept at once, in a log and in the file; what is edited passes the free checks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from question_reviews import CHAIR, DOCUMENTS, EDIT, FACT, ROWS, fill, review, rows_in, sheet_rows, written_sheet
from question_writers import FERRY, YARD, candidate

from harness.core.errors import ConfigError, DataError
from harness.datasets.question_files import read_questions
from harness.datasets.question_files.row_validation import AskedQuote
from harness.extensions.testset.question_records import QuestionCheck, WorkFolder, WorkState, rows_text
from harness.extensions.testset.question_rows import RowWords
from harness.extensions.testset.review_decisions import PersonsVerdict
from harness.extensions.testset.review_session import open_review, review_page, take_sheet, write_sheet

BRASK = "Joren Brask manages the Tarnby yard."


def test_an_accepted_question_names_its_reviewer_and_a_rejected_one_leaves_the_file_until_undone(
    file: Path,
) -> None:
    review(file).decide("a", "accept")
    assert [one["seen_by"] for one in rows_in(file)] == ["ada", None, None]
    asked = read_questions(file, [FERRY, YARD])
    assert "3 of 3 questions written by a model ('fake/fake'); 2 of these without human review" in asked.notes
    assert "1 of 3 questions reviewed and accepted by a person" in asked.notes
    review(file).decide("b", "reject")
    assert [one["id"] for one in rows_in(file)] == ["a", "c"]
    again = review(file)
    assert [one.row_id for one in again.rows] == ["a", "b", "c"]
    again.decide("b", "undo")
    assert rows_in(file)[1:] == ROWS[1:]


def test_an_edit_is_kept_with_quotes_as_the_document_spells_them(file: Path) -> None:
    kept = review(file).decide("a", "accept", EDIT)
    (first, *_) = rows_in(file)
    assert first["question"] == EDIT.question
    assert first["answers"] == ["1911", "in 1911"]
    assert first["evidence"] == [{"document": "yard.md", "quote": "founded in 1911"}]
    assert first["checks"] == {"quotes": True, "edited": "by a person"}, "a verdict on other words says nothing"
    assert kept.is_edited
    assert review(file).find("a").is_edited


@pytest.mark.parametrize(
    ("quote", "document", "trouble"),
    [
        ("founded in 1912", "yard.md", "is not in 'yard.md'"),
        ("founded in 1911", "ferry.md", "is not in"),
        ("", "gone.md", "no document 'gone.md'"),
        ("Tarnby yard", "", "in no document, or in several"),
        ("founded in 1912", "", "in no document, or in several"),
        ("x", "gone.md", "no document 'gone.md'"),
    ],
)
def test_a_quote_that_is_not_in_its_document_is_refused_and_nothing_is_kept(
    file: Path, quote: str, document: str, trouble: str
) -> None:
    edit = replace(EDIT, evidence=(AskedQuote(quote, document),))
    opened = review(file)
    with pytest.raises(ConfigError, match=trouble):
        opened.decide("a", "accept", edit)
    assert rows_in(file) == ROWS
    assert not opened.log.exists()


@pytest.mark.parametrize("verdict", ["undo", "accept"])
def test_a_kill_between_log_and_file_is_repaired(file: Path, verdict: PersonsVerdict) -> None:
    opened = review(file)
    opened.decide("b", "reject")
    before = file.read_text(encoding="utf-8")
    opened.decide("a", "accept", EDIT)
    opened.decide("b", verdict)
    file.write_text(before, encoding="utf-8")
    with opened.log.open("ab") as log:
        log.write(b'{"id": "c", "verd')
    review(file).decide("c", "accept")
    rows = rows_in(file)
    by = "ada" if verdict == "accept" else None
    assert [(one["id"], one["seen_by"]) for one in rows] == [("a", "ada"), ("b", by), ("c", "ada")]
    assert rows[0]["question"] == EDIT.question


def test_a_row_that_was_corrected_in_the_file_stays_so_and_this_is_reported(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    review(file).decide("a", "accept", EDIT)
    first, *others = rows_in(file)
    corrected = {**first, "question": "When was the yard of Tarnby founded?"}
    file.write_text(rows_text([corrected, *others]), encoding="utf-8")
    again = review(file)
    assert "the decision on 'a' is not applied" in capsys.readouterr().err
    again.decide("c", "accept")
    assert rows_in(file)[0] == corrected
    again.decide("a", "reject")
    assert [one["id"] for one in rows_in(file)] == ["b", "c"]


def test_another_file_under_the_same_name_keeps_its_questions(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text('{"question": "Who was first?"}\n{"question": "Who was second?"}\n', encoding="utf-8")
    opened = review(file)
    opened.decide("q-0001", "accept")
    opened.decide("q-0002", "reject")
    file.write_text('{"question": "What was first?"}\n{"question": "What was second?"}\n', encoding="utf-8")
    review(file).decide("q-0002", "accept")
    found = [(one["question"], one.get("seen_by")) for one in rows_in(file)]
    assert found == [("What was first?", None), ("What was second?", "ada")]


BY_HAND = {"id": "h", "question": "How long is the mole of Lowmere?", "answer": "42 m"}


@pytest.mark.parametrize(
    ("spelled", "evidence"),
    [
        ({"evidence": {"quote": FACT, "document": "yard.md"}}, [{"document": "yard.md", "quote": FACT}]),
        ({"evidence": [{"quote": FACT}]}, [{"quote": FACT}]),
        (
            {"quote": FACT, "document": "yard.md", "Quote_2": CHAIR, "document_2": "ferry.md"},
            [{"document": "yard.md", "quote": FACT}, {"document": "ferry.md", "quote": CHAIR}],
        ),
    ],
)
def test_an_edit_leaves_one_spelling_of_what_it_changes_and_all_else_as_it_was(
    tmp_path: Path, spelled: dict[str, Any], evidence: list[dict[str, str]]
) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text(rows_text([{**BY_HAND, **spelled}]), encoding="utf-8")
    unchanged = RowWords.of(review(file).find("h").row)
    assert not review(file).decide("h", "accept", unchanged).is_edited
    assert rows_in(file) == [{**BY_HAND, **spelled, "seen_by": "ada"}]

    edit = replace(unchanged, answers=("24 m",))
    review(file).decide("h", "accept", edit)
    (row,) = rows_in(file)
    assert "answer" not in row
    assert {name: row[name] for name in spelled} == spelled
    (asked,) = read_questions(file, [FERRY, YARD]).rows
    assert asked.reference.answers == ("24 m",)

    more = (*unchanged.evidence, AskedQuote("harbour  board", "ferry.md"))
    review(file).decide("h", "accept", replace(edit, evidence=more))
    (row,) = rows_in(file)
    assert row["evidence"] == [*evidence, {"document": "ferry.md", "quote": "harbour board"}]
    assert not [name for name in row if name.lower().startswith(("quote", "document"))]


def test_the_page_and_the_sheet_show_answers_and_evidence_however_they_are_spelled(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    row = {**BY_HAND, "evidence": {"quote": "founded in  1911"}, "document_2": "ferry.md"}
    file.write_text(rows_text([row]), encoding="utf-8")
    shown: Any = review_page(review(file)).gets["/row"]({"id": "h"})
    assert shown["answers"] == ("42 m",)
    first, second = shown["quotes"]
    assert first["before"].endswith("The Tarnby yard was ")
    assert first["after"].startswith(" and built trawlers.")
    assert second == {"document": "ferry.md", "quote": "", "title": FERRY.title, "before": "", "after": ""}
    (cells,) = sheet_rows(written_sheet(file))
    assert (cells["answers"], cells["quote"], cells["document_2"]) == ("42 m", "founded in  1911", "ferry.md")


def test_a_reviewer_has_the_name_of_a_person(file: Path) -> None:
    for by in ("", " ", "model:gpt", "a\nb", "x" * 200):
        with pytest.raises(ConfigError, match="not a person's name"), open_review(file, by):
            pass


@pytest.mark.parametrize(
    ("name", "text", "trouble"),
    [
        ("gone.jsonl", None, "no question file"),
        ("sheet.txt", "question\nwhy?\n", "neither"),
        ("bad.jsonl", "no json\n", r"line 1.*question-files"),
        ("odd.jsonl", rows_text([{**BY_HAND, "evidence": 7}]), r"line 1.*'evidence'"),
        ("q.csv", "id,decision,question,version\na,,Why?,1\n", "sheet of decisions"),
        ("q.csv", "query\nWhy?\n", "no column 'question'"),
        ("q.csv", "question,ground_truth\nWhy?,so\n", "rename that column"),
        ("q.csv", "question\nWhy?,so\n", "2 cells"),
        ("q.csv", "id,question\na,Why?\na,How?\n", "twice"),
        ("q.csv", "PAR1", "not intact"),
    ],
)
def test_a_file_that_cannot_be_reviewed_is_one_line_and_is_left_alone(
    tmp_path: Path, name: str, text: str | None, trouble: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=trouble), open_review(path, "ada"):
        pass
    assert (path.read_text() if path.exists() else None) == text


def test_a_sheet_is_a_question_file_whose_decisions_are_applied(file: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "q.csv"
    assert write_sheet(review(file), sheet) == 3
    asked = read_questions(sheet, [FERRY, YARD])
    assert [row.reference.evidence[0].fact for row in asked.rows] == [FACT, CHAIR, FACT]
    with pytest.raises(ConfigError, match="is there already"):
        write_sheet(review(file), sheet)
    assert sheet_rows(sheet)[2]["question"].startswith("'=HYPERLINK"), "a spreadsheet would run it"
    fill(sheet, {"decision": "accept"}, {"decision": "reject"}, {"question": "What did the Tarnby yard build?"})
    taken = take_sheet(review(file), sheet)
    assert [(one.id, one.verdict, one.edit is not None) for one in taken] == [
        ("a", "accept", False),
        ("b", "reject", False),
        ("c", "accept", True),
    ]
    first, last = rows_in(file)
    assert (first["id"], first["question"], first["seen_by"]) == ("a", ROWS[0]["question"], "ada")
    assert (last["id"], last["question"], last["seen_by"]) == ("c", "What did the Tarnby yard build?", "ada")
    assert last["answers"] == ["trawlers|ferries"], "a bar that belongs to an answer does not split it"
    assert last["evidence"] == ROWS[2]["evidence"]


def test_a_column_that_was_removed_from_a_sheet_changes_nothing(file: Path, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id;decision\na;accept\nb;\nc;reject\n")
    take_sheet(review(file), tmp_path / "q.csv")
    assert rows_in(file) == [{**ROWS[0], "seen_by": "ada"}, ROWS[1]]


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"decision": "maybe"}, "'maybe'"),
        ({"id": "zzz", "decision": "accept"}, "no question 'zzz'"),
        ({"quote": "founded in 1912"}, "is not in 'yard.md'"),
        ({"question": ""}, "it has no question"),
        ({"question": "x" * 5_000}, "too long"),
    ],
)
def test_a_sheet_with_one_invalid_row_is_refused_as_a_whole(
    file: Path, change: dict[str, str], trouble: str
) -> None:
    sheet = written_sheet(file)
    fill(sheet, change, {"decision": "accept"}, {})
    with pytest.raises((ConfigError, DataError), match=trouble):
        take_sheet(review(file), sheet)
    assert rows_in(file) == ROWS


@pytest.mark.parametrize("number", ["Infinity", "-1e999"])
def test_a_file_with_a_number_that_cannot_be_written_again_is_refused(file: Path, number: str) -> None:
    with file.open("a") as lines:
        lines.write(f'{{"id": "d", "question": "Why?", "level": {number}}}\n')
    with pytest.raises(ConfigError, match="line 4"):
        review(file)


FAILED = candidate("When was the Tarnby yard founded?", "1953", fact=FACT).checked(
    QuestionCheck(name="follows", passed=False, note="from the quotes: '1911', another")
)
ONE_SIDED = candidate("Who runs the yard of the ferry?", "Joren Brask", kind="bridge", fact=BRASK).checked(
    QuestionCheck(name="quotes", passed=False, note="all quotes are of one document")
)


@pytest.fixture
def failed(file: Path) -> Path:
    """The file with two candidates that checks rejected, and one that was not readable."""
    unread = candidate("", "").model_copy(
        update={"id": "blank", "checks": (QuestionCheck(name="written", passed=False),)}
    )
    by: Any = {"models": {"generator": {"provider": "fake", "model": "fake"}}}
    state = WorkState(asked=by, source="", file_digest="", is_complete=True)
    text = file.read_text(encoding="utf-8")
    file.unlink()
    work = WorkFolder(file)
    work.check_out()
    work.write(state, [FAILED, ONE_SIDED, unread], DOCUMENTS.values(), text)
    return file


def test_a_question_stays_although_the_model_wrote_it_twice_and_the_duplicate_failed(file: Path) -> None:
    first = candidate("When was the Tarnby yard founded?").model_copy(update={"id": "a"})
    again = first.checked(QuestionCheck(name="distinct", passed=False))
    (file.parent / "asked.work").mkdir()
    text = "".join(one.model_dump_json() + "\n" for one in (first, again))
    (file.parent / "asked.work" / "candidates.jsonl").write_text(text, encoding="utf-8")
    review(file).decide("b", "accept")
    assert [one["id"] for one in rows_in(file)] == ["a", "b", "c"]


def test_rejected_candidates_are_shown_with_the_reason_and_are_not_in_the_file(failed: Path) -> None:
    page = review_page(review(failed))
    rows: Any = page.gets["/rows"]({})
    assert [(row["id"], row["state"]) for row in rows] == [
        ("a", "new"), ("b", "new"), ("c", "new"), (FAILED.id, "failed"), (ONE_SIDED.id, "failed"),
    ]  # fmt: skip
    shown: Any = page.gets["/row"]({"id": FAILED.id})
    assert "'1911', another" in shown["failed"]
    assert shown["made_by"] == "model:fake/fake"
    review(failed).decide("a", "accept")
    assert [row["id"] for row in rows_in(failed)] == ["a", "b", "c"]


def test_a_person_overrules_a_check_and_undoes_it(failed: Path) -> None:
    opened = review(failed)
    opened.decide(FAILED.id, "accept")
    opened.decide(ONE_SIDED.id, "accept")
    kept, one_sided = rows_in(failed)[3:]
    assert (kept["seen_by"], kept["checks"]["accepted"]) == ("ada", "by a person")
    assert "another" in kept["checks"]["follows"], "the reason stays"
    assert one_sided["type"] == "single_fact", "it quotes only one of two documents"
    assert review(failed).find(FAILED.id).is_seen
    for row_id in (FAILED.id, ONE_SIDED.id):
        review(failed).decide(row_id, "undo")
    assert rows_in(failed) == ROWS
    again: Any = review_page(review(failed)).gets["/row"]({"id": FAILED.id})
    assert again["state"] == "failed"
    nothing = AskedQuote("nothing", "yard.md")
    edit = RowWords(question="Who sold it?", answers=("9",), evidence=(nothing,))
    with pytest.raises(ConfigError, match=r"is not in 'yard\.md'"):
        review(failed).decide(FAILED.id, "accept", edit)
    assert rows_in(failed) == ROWS
