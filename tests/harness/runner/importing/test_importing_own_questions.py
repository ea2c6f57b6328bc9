"""Answers to questions of one's own, over one's own documents."""

import json
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.runner.importing.imported_run import ImportRequest
from harness.runner.importing.importer import ImportResult, import_run

QUESTIONS = 'question,answers,quote,document\n"How long, then?",24 days,24 days,leave.md\nWho?,,,\nWhat else?,,,\n'


def take(folder: Path, *rows: dict[str, object], **request: object) -> ImportResult:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "leave.md").write_text("# Leave\n\nIn the first year,\n24\ndays.\n")
    (folder / "asked.csv").write_text(QUESTIONS)
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"docs": folder / "docs", "questions": folder / "asked.csv", "only_answered": True, **request}
    asked = ImportRequest(file=folder / "answers.jsonl", label="ours", **given)  # type: ignore[arg-type]
    return import_run(asked, folder / "results")


def test_the_same_question_file_is_taken_as_by_a_run(tmp_path: Path) -> None:
    result = take(
        tmp_path, {"query": "How long,  then?", "answer": "24 days"}, {"query_id": "q-0002", "answer": "Ada"}
    )
    first, second = result.run.sample()
    assert (first.query.query_id, first.reference.answers) == ("q-0001", ("24 days",))
    assert first.reference.evidence[0].fact == "24\ndays"
    assert second.reference.answers == ()


@pytest.mark.parametrize("text", ["The \ufb01rst: 24\u00a0days", "24 da\u00adys", "24\u200b days", "24\u202fdays"])
def test_contexts_are_cleaned_as_documents_are_so_that_facts_are_found_in_them(tmp_path: Path, text: str) -> None:
    row: dict[str, object] = {"query": "How lo\u00adng,\u00a0then?", "answer": "24 days", "contexts": [text]}
    result = take(tmp_path, row)
    (record,) = result.run.records().values()
    assert record.prediction is not None
    assert "24 days" in record.prediction.contexts[0].text


def test_what_cannot_be_scored_is_said_when_it_is_imported(tmp_path: Path) -> None:
    result = take(tmp_path, {"query_id": "q-0001", "answer": "24 days"})
    assert "2 of 3 questions without answers: correctness cannot be scored" in result.notes


def test_questions_without_documents_are_one_line_with_the_flag(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="add --docs FOLDER"):
        take(tmp_path, {"query_id": "q-0001", "answer": "24 days"}, docs=None)
