"""Which query an imported row answers."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.core.errors import ConfigError, DataError
from harness.core.records import Query
from harness.runner.importing.answer_file import ImportedRow
from harness.runner.importing.imported_run import ImportRequest
from harness.runner.importing.importer import ImportResult, import_run
from harness.runner.importing.query_matching import Matched, match_rows

QUERIES = [
    Query(query_id="q1", text="Who wrote the café's   menu?"),
    Query(query_id="q2", text="When did it open?"),
    Query(query_id="q3", text="Is it open?"),
    Query(query_id="q4", text="Is it open?"),
    Query(query_id="q5", text="Is it open ?"),
    Query(query_id="q6", text="Is it  open ?"),
]


def rows(*given: dict[str, object]) -> list[ImportedRow]:
    return [
        ImportedRow.model_validate({"place": f"line {line}", "answer": "a", **row})
        for line, row in enumerate(given, 1)
    ]


def match(*given: dict[str, object], leave_out: bool = False, known: Sequence[Query] = QUERIES) -> Matched:
    return match_rows(rows(*given), known, holder="demo", leave_out_unknown=leave_out)


def refused(*given: dict[str, object], leave_out: bool = False) -> str:
    with pytest.raises(DataError) as caught:
        match(*given, leave_out=leave_out)
    return str(caught.value)


@pytest.mark.parametrize(
    ("row", "query_id"),
    [
        ({"query_id": "q2"}, "q2"),
        ({"query": "When did it open?"}, "q2"),
        ({"query": " When did\tit\nopen? "}, "q2"),
        ({"query": "Who wrote the cafe\u0301's menu?"}, "q1"),
        ({"query": "Is it open ?"}, "q5"),
        ({"query": "Is it  open ?"}, "q6"),
        ({"query_id": "q4", "query": "Is it open?"}, "q4"),
        ({"query_id": "their own 17", "query": "When did it open?"}, "q2"),
    ],
)
def test_a_row_is_matched_by_id_then_text_then_collapsed_text(row: dict[str, object], query_id: str) -> None:
    assert match(row).query_ids == {query_id}


TWO_MEANT = "line 2: 2 queries of demo have the text"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"query": "when did it open?"}], "has no query 'when did it open?'"),
        ([{"query_id": "q1"}, {"query": "Is it open?"}], TWO_MEANT),
        ([{"query_id": "q1"}, {"query": "Is  it open ?"}], TWO_MEANT),
        (
            [{"query_id": "q2", "query": "Is it open?"}],
            "'q2' is 'When did it open?' in demo, not",
        ),
        (
            [{"query_id": "q1"}, {"query_id": "q2"}, {"query": QUERIES[0].text}],
            "line 1 and line 3 both answer 'q1': ",
        ),
        ([{"query_id": "q1"}, *[{"query_id": "q1", "repeat": 1}] * 2], "(repeat 1)"),
        ([{"query_id": "q1", "repeat": 1}], "no row has repeat 0"),
        ([{"query_id": "q1"}, {"query_id": "q1", "repeat": 2}], "no row has repeat 1"),
    ],
)
def test_rows_that_leave_open_what_they_answer_are_one_line(given: list[dict[str, object]], said: str) -> None:
    assert said in refused(*given)
    if said == TWO_MEANT:
        assert TWO_MEANT in refused(*given, leave_out=True)


def test_a_file_of_which_no_row_fits_is_refused_even_where_unknown_ones_are_left_out() -> None:
    assert "2 of 2 rows" in refused({"query": "?"}, {"query": "??"}, leave_out=True)


def test_answers_come_repeat_by_repeat_in_data_set_order() -> None:
    found = match({"query_id": "q4"}, {"query_id": "q1", "repeat": 1}, {"query_id": "q1"}, {"query_id": "q2"})
    assert list(found.rows) == [("q1", 0), ("q2", 0), ("q4", 0), ("q1", 1)]
    assert found.repeats == 2


def test_an_unknown_query_is_named_with_the_nearest_and_how_many_there_are() -> None:
    line = refused({"query_id": "q1"}, {"query": "When did it close? " + "x" * 500}, {"query_id": "q77"})
    assert line.startswith("line 2: demo has no query 'When did it close?")
    assert "2 of 3 rows have an unknown query" in line
    assert "--skip-unknown" in line
    assert line.endswith("(the nearest is 'q2': 'When did it open?')")
    assert len(line) < 300
    assert line.isprintable()
    assert "(the nearest is 'q1')" in refused({"query_id": "q1x"})
    assert "the nearest" not in refused({"query": "zzz"}) + refused({"query_id": "zzz"})


# Answers to questions of one's own, over one's own documents.


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
    rows: list[dict[str, object]] = [
        {"query": "How long,  then?", "answer": "24 days"},
        {"query_id": "q-0002", "answer": "Ada"},
    ]
    result = take(tmp_path, *rows)
    first, second = result.run.sample()
    assert (first.query.query_id, first.reference.answers) == ("q-0001", ("24 days",))
    assert first.reference.evidence[0].fact == "24\ndays"
    assert second.reference.answers == ()
    assert "2 of 3 questions without answers: correctness cannot be scored" in result.notes
    with pytest.raises(ConfigError, match="add --docs FOLDER"):
        take(tmp_path, *rows, docs=None)


def test_contexts_are_cleaned_as_documents_are_so_that_facts_are_found_in_them(tmp_path: Path) -> None:
    texts = ["The \ufb01rst: 24\u00a0days", "24 da\u00adys", "24\u200b days", "24\u202fdays"]
    result = take(tmp_path, {"query": "How lo\u00adng,\u00a0then?", "answer": "24 days", "contexts": texts})
    (record,) = result.run.records().values()
    assert record.prediction is not None
    assert all("24 days" in context.text for context in record.prediction.contexts)
