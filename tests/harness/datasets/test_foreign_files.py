"""What a library reads is held to bounds first: files whose few bytes spell gigabytes."""

import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from harness.core.errors import DataError
from harness.datasets import decompression_limits

ROWS = [{"query": f"question {number}", "passages": {"text": ["a", "b"], "is": [0, 1]}} for number in range(300)]


def written(path: Path, table: pyarrow.Table) -> Path:
    pyarrow.parquet.write_table(table, path, compression="zstd", write_statistics=False)
    return path


def same(value: str, times: int) -> pyarrow.Array:
    again = pyarrow.array(np.zeros(times, dtype=np.int8))
    return pyarrow.DictionaryArray.from_arrays(again, pyarrow.array([value]))


def test_real_rows_pass_in_each_form(tmp_path: Path) -> None:
    text = json.dumps(ROWS).encode()
    (tmp_path / "a.json").write_bytes(text)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.csv").write_bytes(b"a|b\n1|2\n")
    for name in ("a.json", "a.json.gz", "a.csv"):
        decompression_limits.check_foreign(tmp_path / name)
    decompression_limits.measure(written(tmp_path / "a.parquet", pyarrow.Table.from_pylist(ROWS)))


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
    "half of a packed file": (gzip.compress(json.dumps(ROWS).encode())[:-20], "not intact gzip"),
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
