import gzip
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets import local_files
from harness.datasets.row_fields import FileEntry

ROWS = [{"a": "one", "b": 1}, {"a": "zwei \u2028 ü", "b": 2}]
JSON = json.dumps(ROWS, ensure_ascii=False).encode()
JSONL = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode() + b"\n"
CSV = "a|b\none|1\nzwei ü|2\n".encode()


def assert_one_line(error: DataError, *words: str) -> None:
    line = str(error)
    assert "\n" not in line
    assert error.fix, "the line must say what to do"
    for word in words:
        assert word in line


def test_the_data_directory_is_the_one_of_the_environment_or_data_in_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for named, folder in ((None, "data"), ("", "data"), (str(tmp_path), tmp_path)):
        if named is not None:
            monkeypatch.setenv("RAG_HARNESS_DATA", named)
        assert local_files.data_dir() == Path(folder)
        assert local_files.find("any.json") is None


@pytest.mark.parametrize(("name", "word"), [("nowhere", "does not exist"), ("file", "is not a folder")])
def test_a_named_data_directory_that_is_none_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, word: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAG_HARNESS_DATA", str(tmp_path / name))
    with pytest.raises(DataError) as caught:
        local_files.find("corpus.json")
    assert_one_line(caught.value, str(tmp_path / name), word, "RAG_HARNESS_DATA")


def test_the_plain_file_comes_before_the_gzip_one(own_data: Path) -> None:
    (own_data / "a.json.gz").write_bytes(gzip.compress(JSON))
    assert local_files.find("a.json") == own_data / "a.json.gz"
    (own_data / "a.json").write_bytes(JSON)
    assert local_files.find("a.json") == own_data / "a.json"
    assert local_files.find("b.json") is None


@pytest.mark.parametrize(("name", "data"), [("r.json", JSON), ("r.jsonl", JSONL), ("r.csv", CSV)])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_gzip_file_reads_like_the_plain_one_with_or_without_a_bom(
    tmp_path: Path, name: str, data: bytes, bom: bytes
) -> None:
    (tmp_path / name).write_bytes(bom + data)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(bom + data))
    plain = [row.fields for row in local_files.read_rows(tmp_path / name)]
    packed = [row.fields for row in local_files.read_rows(tmp_path / f"{name}.gz")]
    assert plain == packed
    assert [str(row["b"]) for row in plain] == ["1", "2"]
    assert list(plain[0]) == ["a", "b"]
    assert name == "r.csv" or plain == ROWS, "a line separator within a text ends no line"


def test_every_row_knows_its_file_and_line_or_row(tmp_path: Path) -> None:
    for name, data, places in (
        ("r.json", JSON, ["row 1", "row 2"]),
        ("r.jsonl", b"\n" + JSONL, ["line 2", "line 3"]),
        ("r.csv", CSV, ["line 2", "line 3"]),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert [row.where for row in local_files.read_rows(path)] == [f"{path} {place}" for place in places]


def test_a_lone_carriage_return_in_a_csv_field_breaks_no_row(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b'a|b\r\nx|"on\re ""q"""\r\ny|2" screen\r\n\r\n')
    rows = [dict(row.fields) for row in local_files.read_csv(path, "|")]
    assert rows == [{"a": "x", "b": 'one "q"'}, {"a": "y", "b": '2" screen'}]


BAD = {
    "not gzip": ("r.json.gz", JSON, "gzip"),
    "truncated gzip": ("r.json.gz", gzip.compress(JSON * 50)[:-20], "gzip"),
    "empty gzip": ("r.jsonl.gz", gzip.compress(JSONL)[:12], "gzip"),
    "damaged gzip": ("r.json.gz", gzip.compress(JSON)[:20] + b"\xff\xff" + gzip.compress(JSON)[22:], "gzip"),
    "a bomb of zeros": ("r.json.gz", gzip.compress(b"0" * 65_000_000), "unpacks to more than 64,000,000 bytes"),
    "a bomb of empty objects": (
        "r.json.gz",
        gzip.compress(b"[" + b"{}," * 600_000 + b"{}]"),
        "too many",
    ),
    "a bomb of empty lists": (
        "r.json.gz",
        gzip.compress(b"[" + b"[]," * 2_500_000 + b"[]]"),
        "too many",
    ),
    "a bomb of empty lines": ("r.jsonl.gz", gzip.compress(b"{}\n" * 600_000), "too many"),
    "a bomb of empty cells": ("r.csv.gz", gzip.compress(b"a|b\n" + b"|\n" * 600_000), "too many"),
    "truncated json": ("r.json", JSON[:-5], "truncated or not JSON"),
    "empty json": ("r.json", b"", "line 1"),
    "a web page": ("r.json", b"<!doctype html>", "not JSON"),
    "a pointer file": ("r.json", b"version https://git-lfs.github.com/spec/v1\n", "not JSON"),
    "an object": ("r.json", b'{"a": 1}', "found an object"),
    "an array of numbers": ("r.json", b'[{"a": 1}, 2.5]', "row 2"),
    "not a number": ("r.json", b'[{"a": NaN}]', "NaN"),
    "a bomb of brackets": ("r.json", b"[" * 200_000, "nested"),
    "a bomb of digits": ("r.json", b"[" + b"9" * 5000 + b"]", "not valid JSON"),
    "truncated line": ("r.jsonl", JSONL[:-4], "line 2"),
    "a line that is a list": ("r.jsonl", b'{"a": 1}\n[1]\n', "line 2"),
    "latin-1": ("r.json", '["ü"]'.encode("latin-1"), "not UTF-8 (byte 2)"),
    "utf-16": ("r.csv", "a|b\n".encode("utf-16"), "not UTF-8"),
    "a short row": ("r.csv", CSV + b"three\n", "line 4 has 1 cells, the first line has 2"),
    "a long row": ("r.csv", b"a|b\n1|2|3\n", "line 2 has 3 cells"),
    "an open quote": ("r.csv", b'a|b\n1|"2\n3|4\n', "not CSV"),
    "no header": ("r.csv", b"", "no header"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, case: str) -> None:
    name, data, word = BAD[case]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        local_files.read_rows(path)
    assert_one_line(caught.value, str(path), word)


def test_what_is_gone_a_folder_or_has_no_name_that_a_file_can_have_is_one_line(own_data: Path) -> None:
    (own_data / "folder.json").mkdir()
    for name in ("gone.json", "folder.json"):
        with pytest.raises(DataError) as caught:
            local_files.read_json(own_data / name)
        assert_one_line(caught.value, name, "cannot be read")
    with pytest.raises(DataError) as caught:
        local_files.find("x" * 5000)
    assert_one_line(caught.value, "cannot be accessed")


def test_a_folder_that_is_not_there_lists_as_empty(own_data: Path) -> None:
    assert local_files.list_folder("pages") == []
    (own_data / "pages").mkdir()
    (own_data / "pages" / "b").write_text("")
    (own_data / "pages" / "a").write_text("")
    assert [path.name for path in local_files.list_folder("pages")] == ["a", "b"]


def row(**fields: object) -> FileEntry:
    return FileEntry("f.json row 7", fields)


@pytest.mark.parametrize(
    ("entry", "getter", "word"),
    [
        (row(), "text", "field 'x' is missing"),
        (row(x=None), "text", "must be text, not null"),
        (row(x=1), "text", "not a number"),
        (row(x=True), "text", "not a boolean"),
        (row(x=" \n"), "text", "is blank"),
        (row(x="\ud800"), "text", "surrogate"),
        (row(x=[]), "nullable_text", "not an array"),
        (row(), "nullable_text", "is missing"),
        (row(x={}), "optional_text", "not an object"),
        (row(x=True), "identifier", "not a boolean"),
        (row(x=1.5), "identifier", "not a number"),
        (row(x=""), "identifier", "is blank"),
        (row(x=12), "moment", "must be text"),
        (row(x="abc"), "values", "must be a list, not text"),
        (row(), "values", "is missing"),
        (row(x=["a", None]), "texts", "a list of texts, not null"),
        (row(x=["a", "\udfff"]), "texts", "surrogate"),
        (row(x=[]), "entry", "expected an object"),
        (row(x={}), "entries", "must be a list"),
        (row(x=[1]), "entries", "x row 1: expected an object, found a number"),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_one_line(entry: FileEntry, getter: str, word: str) -> None:
    with pytest.raises(DataError) as caught:
        getattr(entry, getter)("x")
    assert_one_line(caught.value, "f.json row 7", word, "x")


def test_a_row_gives_what_its_fields_hold() -> None:
    entry = row(a=" x ", b=None, c=7, d=["u", ""], e={"f": "g"}, h="")
    assert entry.text("a") == " x "
    assert entry.text("h", blank=True) == ""
    assert (entry.optional_text("b"), entry.optional_text("z"), entry.nullable_text("b")) == ("", "", "")
    assert (entry.identifier("c"), entry.identifier("a")) == ("7", " x ")
    assert entry.texts("d") == ["u", ""]
    assert entry.entry("e").text("f") == "g"


def test_times_of_files_and_of_the_hub_are_the_same_text() -> None:
    text = "2023-11-27T08:45:59+00:00"
    naive = datetime(2023, 11, 27, 8, 45, 59)
    berlin = datetime(2023, 11, 27, 9, 45, 59, tzinfo=timezone(timedelta(hours=1)))
    assert row(x=text).moment("x") == text
    assert row(x=naive).moment("x") == text
    assert row(x=naive.replace(tzinfo=UTC)).moment("x") == text
    assert row(x=berlin).moment("x") == "2023-11-27T09:45:59+01:00"
    assert row().moment("x") == ""
