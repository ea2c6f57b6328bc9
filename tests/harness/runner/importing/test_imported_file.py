"""A file of answers produced elsewhere: what is taken from it, and the one line that refuses it."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import HarnessError
from harness.core.records import Context
from harness.runner.importing.answer_file import FIELDS, ImportedFile, ImportedRow, read_file

WriteRows = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> WriteRows:
    """write(row, "raw line", b"raw bytes", ...) -> the file."""

    def make(*rows: Any) -> Path:
        path = tmp_path / "answers.jsonl"
        lines = [row if isinstance(row, bytes) else _line(row).encode() for row in rows]
        path.write_bytes(b"\n".join(lines) + b"\n")
        return path

    return make


def _line(row: Any) -> str:
    return row if isinstance(row, str) else json.dumps(row)


def read(path: Path, *, where: dict[str, str] | None = None, **fields: str) -> ImportedFile:
    return read_file(path, fields=fields, where=where or {})


def only(path: Path, **fields: str) -> ImportedRow:
    (row,) = read(path, where=None, **fields).rows
    return row


def refused(path: Path, *, where: dict[str, str] | None = None, **fields: str) -> str:
    with pytest.raises(HarnessError) as caught:
        read(path, where=where, **fields)
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) < 1000
    return line


def test_what_a_row_does_not_say_is_unknown(write: WriteRows) -> None:
    row = only(write({"query": "q", "answer": "a", "unknown": [1]}))
    assert row == ImportedRow(place="line 1", query="q", answer="a")
    assert (row.input_tokens, row.model_calls, row.latency_s, row.has_tokens) == (None, None, None, False)


def test_a_row_may_say_everything(write: WriteRows) -> None:
    row = only(
        write(
            {
                **{"query_id": 17, "query": "q", "repeat": 1, "answer": "a", "error": "", "latency_s": 2},
                **{"input_tokens": 120.0, "output_tokens": 3, "cached_tokens": 100, "model_calls": 2},
                "contexts": ["one", {"text": "two", "doc_id": 5, "score": 1, "kind": "triplet", "rank": 2}],
                "started_at": "2026-11-20T12:00:00+02:00",
            }
        )
    )
    assert (row.query_id, row.repeat, row.input_tokens, row.latency_s) == ("17", 1, 120, 2.0)
    assert row.has_tokens
    assert row.started_at == "2026-11-20T10:00:00+00:00"
    two = Context(text="two", doc_ids=("5",), kind="triplet", score=1.0)
    assert row.contexts == (Context(text="one", doc_ids=()), two)


def test_a_document_is_named_in_either_column_where_the_other_is_empty(write: WriteRows) -> None:
    """As a table has them that pandas wrote."""
    contexts = [{"text": "t", "doc_ids": None, "doc_id": "d"}, {"text": "t", "doc_ids": ["d"], "doc_id": None}]
    contexts.append({"text": "t", "doc_ids": [], "doc_id": "d"})
    row = only(write({"query": "q", "answer": "a", "contexts": contexts}))
    assert [context.doc_ids for context in row.contexts or ()] == [("d",), ("d",), ("d",)]


def test_nan_in_any_field_is_a_missing_value(write: WriteRows) -> None:
    empty = ", ".join(f'"{name}": NaN' for name in FIELDS if name != "query")
    row = only(write(f'{{"query": "q", {empty}}}'))
    assert row == ImportedRow(place="line 1", query="q")
    context = only(
        write('{"query": "q", "answer": "a", "contexts": [{"text": "t", "score": NaN, "doc_ids": NaN}]}')
    )
    assert context.contexts == (Context(text="t", doc_ids=()),)


def test_answers_and_contexts_are_kept_as_they_stand(write: WriteRows) -> None:
    said = ["x" * 10_000, "Кто был президентом? 東京 \U0001f600", "", "  \n", 'a "b" \\ c']
    text = "é" * 500_000
    rows = read(write(*({"query": "q", "answer": one, "contexts": [text]} for one in said))).rows
    assert [row.answer for row in rows] == said
    assert {context.text for row in rows for context in row.contexts or ()} == {text}


def test_line_separators_blank_lines_and_byte_order_marks_do_not_break_rows(write: WriteRows) -> None:
    first = json.dumps({"query": "q\u2028r", "answer": "a"}, ensure_ascii=False).encode()
    rows = read(write(b"\xef\xbb\xbf" + first + b"\r", b"", b'{"query": "s", "answer": "b"}')).rows
    assert [(row.place, row.query) for row in rows] == [("line 1", "q\u2028r"), ("line 3", "s")]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"query": "q", "answer": "a"', "line 2 is not JSON"),
        ("[1]", "line 2 is an array, not an object"),
        (b'{"query": "q", "answer": "\xff"}', "line 2 is not UTF-8"),
        (b"x" * 16_000_001, "line 2 is longer than 16,000,000 bytes"),
        ("[" * 100_000, "line 2 is not JSON"),
        ('{"query": "q", "model_calls": ' + "9" * 5000 + "}", "line 2 is not JSON"),
        ({"answer": "a"}, "line 2: neither query nor query_id is given"),
        ({"query": "q", "answer": True}, "line 2: 'answer': input should be a valid string, not true"),
        ({"query_id": True, "answer": "a"}, "'query_id'"),
        ({"query": "q", "answer": "a", "latency_s": "2"}, "'latency_s': input should be a valid number"),
        ({"query": "q", "answer": "a", "latency_s": 1e300}, "'latency_s'"),
        ({"query": "q", "answer": "a", "latency_s": -0.5}, "'latency_s': input should be greater than"),
        ({"query": "q", "answer": "a", "latency_s": math.inf}, "'latency_s': input should be a finite number"),
        ({"query": "q", "answer": "a", "input_tokens": -1}, "'input_tokens'"),
        ({"query": "q", "answer": "a", "input_tokens": 1.5}, "'input_tokens'"),
        ({"query": "q", "answer": "a", "started_at": "yesterday"}, "'started_at'"),
        ({"query": "q", "answer": "a", "input_tokens": 10**13}, "'input_tokens'"),
        ({"query": "q", "answer": "a", "repeat": 1000}, "'repeat'"),
        ({"query": "q", "answer": "a", "model_calls": 0, "input_tokens": 5}, "model_calls is 0"),
        ({"query": "q", "answer": "a", "input_tokens": 5, "cached_tokens": 6}, "cached_tokens is greater than"),
        (
            {"query": "q", "answer": "a", "started_at": "0001-01-01T00:00:00+14:00"},
            "in UTC it is before the year 1",
        ),
        (
            {"query": "q", "answer": "a", "started_at": "9999-12-31T23:00:00-14:00"},
            "in UTC it is before the year 1 or after 9999",
        ),
        ({"query": "q", "answer": "a", "contexts": [None]}, "'contexts.0'"),
        ({"query": "q", "answer": "a", "contexts": [{"text": "t", "kind": "chunk"}]}, "'contexts.0.kind'"),
        ({"query": "q", "answer": "a", "contexts": "text"}, "'contexts': input should be a valid list"),
        ({"query": "q", "answer": "a", "contexts": [{"page": "t"}]}, "'contexts.0.text': field required"),
        ({"query": "q", "answer": "a", "contexts": [{"text": "t", "doc_ids": [[]]}]}, "'contexts.0.doc_ids.0'"),
        ({"query": "q", "answer": "a", "contexts": [{"text": "t", "score": math.inf}]}, "'contexts.0.score'"),
        ('{"query": "q", "answer": "half \\ud83d"}', "line 2: 'answer' has an unpaired"),
        (
            '{"query": "q", "answer": "a", "contexts": ["\\ude00"]}',
            "line 2: 'contexts' has an unpaired",
        ),
    ],
)
def test_a_row_that_cannot_be_is_named_by_its_line(write: WriteRows, row: Any, words: str) -> None:
    assert words in refused(write({"query": "first", "answer": "fine"}, row))


def test_a_file_that_is_empty_missing_a_folder_or_a_pipe_is_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    for content in (b"", b"\n \n"):
        path.write_bytes(content)
        assert "contains no rows" in refused(path)
    assert "no.jsonl cannot be read: No such file" in refused(tmp_path / "no.jsonl")
    assert "cannot be read: Is a directory" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "a pipe or device, not a file" in refused(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("row", "offered"),
    [
        ({"query": "q", "gold_answer": "g", "answer_of_ours": "m"}, "did you mean --field answer=answer_of_ours?"),
        ({"query": "q", "reference": "g", "response_2": "m"}, "did you mean --field answer=response_2?"),
        ({"kind": "t", "question_asked": "q", "answer": "m"}, "did you mean --field query=question_asked?"),
        ({"query": "q", "reply": "m", "output_tokens": 3}, "did you mean --field answer=reply?"),
        ({"query": "q", "m": "m", "output_tokens": 3}, "map one with --field answer=NAME"),
        ({"query": "q", "gold_answer": "g"}, "map one with --field answer=NAME"),
        ({"query": "q", "gt_answer": "g", "answers": ["g"]}, "map one with --field answer=NAME"),
        ({"query": "q", "my answer; rm": "m"}, "map one with --field answer=NAME"),
    ],
)
def test_a_missing_field_is_named_with_a_suggestion(write: WriteRows, row: dict[str, str], offered: str) -> None:
    line = refused(write(row))
    assert line.endswith(offered)
    assert all(repr(name) in line for name in row)


def test_a_file_of_errors_alone_needs_no_answers(write: WriteRows) -> None:
    assert only(write({"query": "q", "error": "timed out"})).error == "timed out"


def test_field_maps_the_files_names_to_ours(write: WriteRows) -> None:
    path = write({"q": "asked", "answer": "theirs", "reply": "mapped"})
    row = only(path, query="q", answer="reply")
    assert (row.query, row.answer) == ("asked", "mapped")
    assert "did you mean 'reply'?" in refused(path, query="q", answer="repply")
    assert "did you mean 'answer'?" in refused(path, query="q", anwser="reply")


def test_where_keeps_the_rows_of_one_value_compared_as_text(write: WriteRows) -> None:
    runs = ["a", "b", 1, 1.5, True, None, "b"]
    path = write(*({"query": str(n), "answer": "x", "run": run} for n, run in enumerate(runs)), {"query": "z"})

    def kept(value: str) -> list[str | None]:
        return [row.query for row in read(path, where={"run": value}).rows]

    assert kept("b") == ["1", "6"]
    assert (kept("1"), kept("1.5"), kept("true"), kept("null")) == (["2"], ["3"], ["4"], ["5"])
    assert "'rum': no row has that field: did you mean 'run'?" in refused(path, where={"rum": "b"})
    assert "no row has the value 'c'" in refused(path, where={"run": "c"})
    bad = write({"query": "q", "answer": "a", "run": "good"}, {"query": 3, "answer": 4, "run": "bad"})
    assert [row.place for row in read(bad, where={"run": "good"}).rows] == ["line 1"], "others need not be good"
    assert refused(path, where={"run": "b", "query": "9"}).count("\n") == 0


def test_names_that_would_steer_a_terminal_are_escaped(write: WriteRows) -> None:
    line = refused(
        write({"query": "q", "\x1b[2Jgone\u202e": "a", "x" * 5000: 1, **{f"f{n}": n for n in range(50)}})
    )
    assert "\\x1b[2jgone\\u202e" in line
    assert "and 41 more" in line
