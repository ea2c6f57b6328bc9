"""Pages on which a person decides, over questions, answers and documents of somebody who means harm."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import served
from hostile_texts import HOSTILE_TEXTS, check_page
from labelled_runs import labelled_run

from harness.core.records import Document, Evidence
from harness.extensions.annotation.labelling_session import annotation_page, draw_answers, open_session
from harness.extensions.testset.question_records import Candidate, QuestionCheck, WorkFolder, WorkState, rows_text
from harness.extensions.testset.review_decisions import Review
from harness.extensions.testset.review_session import review_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_a_question_file_of_such_texts_is_reviewed(chromium_browser: "Browser", tmp_path: Path) -> None:
    documents = {text: Document(doc_id=text, title=text, text=f"before {text} after") for text in HOSTILE_TEXTS}
    rows = [
        {
            "id": f"q{number}",
            "question": text,
            "answers": [text, text],
            "evidence": [{"document": text, "quote": text}],
            "type": text[:100],
            "made_by": text[:100],
            "checks": {text: text},
        }
        for number, text in enumerate(HOSTILE_TEXTS)
    ]
    rejected = [
        Candidate(
            id=f"f{number}", kind=text, documents=(text,), question=text, answer=text,
            evidence=(Evidence(doc_id=text, fact=text),),
            checks=(QuestionCheck(name=text, passed=False, note=text),),
        )
        for number, text in enumerate(HOSTILE_TEXTS)
    ]  # fmt: skip
    file = tmp_path / "asked.jsonl"
    work = WorkFolder(file)
    work.check_out()
    state = WorkState(asked={}, source="", file_digest="", is_complete=True)
    work.write(state, rejected, documents.values(), rows_text(rows))
    with served(chromium_browser, review_page(Review(file, "ada"))) as page:
        for row_id in [row["id"] for row in rows] + [one.id for one in rejected]:
            page.wait_for_selector(f"body[data-ready='{row_id}']")
            page.evaluate("document.querySelector('details').open = true")
            check_page(page)
            page.keyboard.press("e")
            check_page(page)
            page.keyboard.press("Escape")
            page.keyboard.press("j")


def test_answers_of_such_texts_are_labelled(chromium_browser: "Browser", tmp_path: Path) -> None:
    said = {f"q{at:03d}": text for at, text in enumerate(HOSTILE_TEXTS)}
    run = labelled_run(tmp_path, n=len(said), said=said, is_quoted=True)
    drawn = draw_answers([run], 1.0, 0, "ada")
    with open_session(drawn, "ada") as desk, served(chromium_browser, annotation_page(desk)) as page:
        for item in drawn.items:
            page.wait_for_selector(f"body[data-ready='{item.item_id}']")
            check_page(page)
            page.keyboard.press("j")
