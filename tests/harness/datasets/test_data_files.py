import bz2
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from harness.core.errors import DataError
from harness.datasets import decompression_limits, local_files
from harness.datasets.row_fields import FileEntry

ROWS = [{"a": "one", "b": 1}, {"a": "zwei \u2028 ü", "b": 2}]
JSON = json.dumps(ROWS, ensure_ascii=False).encode()
JSONL = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode() + b"\n"
CSV = "a|b\none|1\nzwei ü|2\n".encode()


def assert_one_line(error: DataError, *words: str) -> None:
    assert "\n" not in str(error)
    assert error.fix, "the line must say what to do"
    assert all(word in str(error) for word in words)


def test_the_data_directory_is_the_one_of_the_environment_or_data_in_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert local_files.data_dir() == Path("data")
    (tmp_path / "file").write_text("")
    for named, word in (("nowhere", "does not exist"), ("file", "is not a folder")):
        monkeypatch.setenv("RAG_HARNESS_DATA", str(tmp_path / named))
        with pytest.raises(DataError) as caught:
            local_files.find("corpus.json")
        assert_one_line(caught.value, str(tmp_path / named), word, "RAG_HARNESS_DATA")


def test_the_plain_file_comes_before_the_gzip_one(own_data: Path) -> None:
    (own_data / "a.json.gz").write_bytes(gzip.compress(JSON))
    assert local_files.find("a.json") == own_data / "a.json.gz"
    (own_data / "a.json").write_bytes(JSON)
    assert local_files.find("a.json") == own_data / "a.json"
    assert local_files.find("b.json") is None
    with pytest.raises(DataError) as caught:
        local_files.find("x" * 5000)
    assert_one_line(caught.value, "cannot be read")


@pytest.mark.parametrize(
    ("name", "data", "places"),
    [
        ("r.json", JSON, ["row 1", "row 2"]),
        ("r.jsonl", b"\n" + JSONL, ["line 2", "line 3"]),
        ("r.csv", CSV, ["line 2", "line 3"]),
    ],
)
def test_a_gzip_file_with_a_byte_order_mark_reads_like_the_plain_one(
    tmp_path: Path, name: str, data: bytes, places: list[str]
) -> None:
    path, packed = tmp_path / name, tmp_path / f"{name}.gz"
    path.write_bytes(data)
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + data))
    rows = local_files.read_rows(path)
    assert [row.fields for row in rows] == [row.fields for row in local_files.read_rows(packed)]
    assert [row.where for row in rows] == [f"{path} {place}" for place in places]
    assert [str(row.fields["b"]) for row in rows] == ["1", "2"]
    assert name == "r.csv" or [row.fields for row in rows] == ROWS, "a line separator within a text ends no line"


def test_a_lone_carriage_return_in_a_csv_field_breaks_no_row(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b'a|b\r\nx|"on\re ""q"""\r\ny|2" screen\r\n\r\n')
    rows = [dict(row.fields) for row in local_files.read_rows(path)]
    assert rows == [{"a": "x", "b": 'one "q"'}, {"a": "y", "b": '2" screen'}]


def test_an_object_over_several_lines_utf_16_and_a_parquet_file_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "wide.json").write_text(json.dumps(ROWS), encoding="utf-16")
    assert [row.fields for row in local_files.read_rows(tmp_path / "wide.json")] == ROWS
    (tmp_path / "r.json").write_text(json.dumps(ROWS[0], indent=2))
    assert local_files.read_object(tmp_path / "r.json").fields == ROWS[0]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "r.parquet")
    assert [row.fields for row in local_files.read_rows(tmp_path / "r.parquet")] == ROWS
    with pytest.raises(DataError, match="expected one object"):
        local_files.read_object(tmp_path / "r.parquet")


BAD = {
    "truncated gzip": ("r.json.gz", gzip.compress(JSON * 50)[:-20], "gzip"),
    "damaged gzip": ("r.json.gz", gzip.compress(JSON)[:20] + b"\xff\xff" + gzip.compress(JSON)[22:], "gzip"),
    "a bomb of zeros": ("r.json.gz", gzip.compress(b"0" * 65_000_000), "unpacks to more than 64,000,000 bytes"),
    "a bomb of empty objects": ("r.json.gz", gzip.compress(b"[" + b"{}," * 600_000 + b"{}]"), "too many"),
    "a bomb of empty cells": ("r.csv.gz", gzip.compress(b"a|b\n" + b"|\n" * 600_000), "too many"),
    "a bomb of cells below a ranking": (
        "r.csv.gz",
        gzip.compress(b"q Q0 d 1 1 t\n" * 3 + b"|\n" * 600_000),
        "too many",
    ),
    "truncated json": ("r.json", JSON[:-5], "line 1 is not JSON"),
    "a repeated key": ("r.json", b'[{"a": 1}, {"a": 1, "a": 2}]', "row 2"),
    "an array of numbers": ("r.json", b'[{"a": 1}, 2.5]', "row 2"),
    "a bomb of brackets": ("r.json", b"[" * 200_000, "nested"),
    "a bomb of digits": ("r.json", b"[" + b"9" * 5000 + b"]", "not JSON"),
    "truncated line": ("r.jsonl", JSONL[:-4], "line 2"),
    "a line that is a list": ("r.jsonl", b'{"a": 1}\n[1]\n', "line 2"),
    "latin-1": ("r.json", '["ü"]'.encode("latin-1"), "line 1 is not UTF-8"),
    "a short row": ("r.csv", CSV + b"three\n", "line 4 has 1 cells, the first line has 2"),
    "an open quote": ("r.csv", b'a|b\n1|"2\n3|4\n', "not CSV"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, case: str) -> None:
    name, data, word = BAD[case]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        local_files.read_rows(path)
    assert_one_line(caught.value, str(path), word, "intact copy")


def test_a_missing_file_or_a_folder_is_one_line(own_data: Path) -> None:
    (own_data / "folder.json").mkdir()
    for name in ("gone.json", "folder.json"):
        with pytest.raises(DataError) as caught:
            local_files.read_rows(own_data / name)
        assert_one_line(caught.value, name, "cannot be read")


def row(**fields: object) -> FileEntry:
    return FileEntry("f.json row 7", fields)


@pytest.mark.parametrize(
    ("entry", "getter", "word"),
    [
        (row(), "text", "field 'x' is missing"),
        (row(x=None), "text", "must be text, not null"),
        (row(x=True), "text", "not a boolean"),
        (row(x="\ud800"), "text", "surrogate"),
        (row(), "nullable_text", "is missing"),
        (row(x={}), "optional_text", "not an object"),
        (row(x=True), "identifier", "not a boolean"),
        (row(x=12), "moment", "must be text"),
        (row(x="abc"), "values", "must be a list, not text"),
        (row(x=["a", "\udfff"]), "texts", "surrogate"),
        (row(x=[1]), "entries", "x row 1: expected an object, found a number"),
    ],
)
def test_a_field_of_another_type_is_one_line(entry: FileEntry, getter: str, word: str) -> None:
    with pytest.raises(DataError) as caught:
        getattr(entry, getter)("x")
    assert_one_line(caught.value, "f.json row 7", word, "x")


def test_times_of_files_and_of_the_hub_are_the_same_text() -> None:
    text = "2023-11-27T08:45:59+00:00"
    naive = datetime(2023, 11, 27, 8, 45, 59)
    assert {row(x=one).moment("x") for one in (text, naive, naive.replace(tzinfo=UTC))} == {text}
    assert row().moment("x") == ""


# What a library reads is held to bounds first: a few bytes can spell gigabytes.


MANY = [{"query": f"question {number}", "passages": {"text": ["a", "b"], "is": [0, 1]}} for number in range(300)]


def written(path: Path, table: pyarrow.Table) -> Path:
    pyarrow.parquet.write_table(table, path, compression="zstd", write_statistics=False)
    return path


def same(value: str, times: int) -> pyarrow.Array:
    again = pyarrow.array(np.zeros(times, dtype=np.int8))
    return pyarrow.DictionaryArray.from_arrays(again, pyarrow.array([value]))


def test_real_rows_pass_in_each_form(tmp_path: Path) -> None:
    text = json.dumps(MANY).encode()
    (tmp_path / "a.json").write_bytes(text)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.csv").write_bytes(b"a|b\n1|2\n")
    for name in ("a.json", "a.json.gz", "a.csv"):
        decompression_limits.check_foreign(tmp_path / name)
    decompression_limits.measure(written(tmp_path / "a.parquet", pyarrow.Table.from_pylist(MANY)))


PARQUET = {
    "a long text named again and again": (same("x" * 5000, 20_000), "unpacks to more than 64,000,000 bytes"),
    "millions of rows of nothing": (pyarrow.nulls(600_000), "too many to be data"),
    "lists of nothing": (
        pyarrow.ListArray.from_arrays(range(0, 5_000_001, 1000), pyarrow.nulls(5_000_000)),
        "too many to be data",
    ),
    "long texts of zeros": (pyarrow.array(["0" * 1_000_000] * 65), "unpacks to more than 64,000,000 bytes"),
}


@pytest.mark.parametrize("case", PARQUET)
def test_a_parquet_file_that_unpacks_to_far_more_is_refused(tmp_path: Path, case: str) -> None:
    column, reason = PARQUET[case]
    path = written(tmp_path / "a.parquet", pyarrow.table({"context": column}))
    assert path.stat().st_size < 70_000
    with pytest.raises(DataError, match=reason):
        decompression_limits.measure(path)


FOREIGN = {
    "packed zeros": (gzip.compress(b"0" * 65_000_000), "unpacks to more than 64,000,000 bytes"),
    "packed rows of nothing": (gzip.compress(b"{}\n" * 600_000), "too many to be data"),
    "half of a packed file": (gzip.compress(json.dumps(MANY).encode())[:-20], "not intact gzip"),
    "packed twice": (gzip.compress(gzip.compress(b"{}")), "neither text"),
    "packed in a way that does not tell its size": (bz2.compress(b"{}"), "neither text"),
    "no text": (b"[\0]", "neither text"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_a_file_that_cannot_be_measured_or_is_too_long_is_refused(tmp_path: Path, case: str) -> None:
    data, reason = FOREIGN[case]
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(DataError, match=reason) as caught:
        decompression_limits.check_foreign(tmp_path / "a.json")
    assert "a.json" in str(caught.value)
