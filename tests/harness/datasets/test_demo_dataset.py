import shutil
from collections import Counter
from pathlib import Path

import pytest

from harness.datasets import demo, files, load_dataset
from harness.datasets.demo import SPEC
from harness.errors import DataError
from harness.protocols import RawDataset


@pytest.fixture(scope="module")
def raw() -> RawDataset:
    return SPEC.load("default")


def test_the_demo_has_ten_queries_of_each_type_over_at_least_16_documents(raw: RawDataset) -> None:
    assert len(raw.documents) >= 16
    assert Counter(row.reference.query_type for row in raw.rows) == {
        "inference": 10,
        "comparison": 10,
        "temporal": 10,
        "null": 10,
    }


def test_every_fact_of_the_demo_is_a_literal_part_of_its_document(raw: RawDataset) -> None:
    texts = {document.doc_id: document.text for document in raw.documents}
    for row in raw.rows:
        for item in row.reference.evidence:
            assert item.fact in texts[item.doc_id], (row.query.query_id, item.fact)


def test_every_query_but_the_null_ones_cites_at_least_two_documents(raw: RawDataset) -> None:
    for row in raw.rows:
        if row.reference.query_type == "null":
            assert row.reference.answers == ("Insufficient information.",)
            assert row.doc_ids == ()
        else:
            assert len(row.doc_ids) >= 2, row.query.query_id


def test_all_ids_and_texts_of_the_demo_are_unique(raw: RawDataset) -> None:
    assert len({document.doc_id for document in raw.documents}) == len(raw.documents)
    assert len({document.text for document in raw.documents}) == len(raw.documents)
    assert [row.query.query_id for row in raw.rows] == [f"demo-{n:04d}" for n in range(1, 41)]
    assert len({row.query.text for row in raw.rows}) == 40


def test_the_demo_needs_no_data_directory(monkeypatch: pytest.MonkeyPatch, raw: RawDataset) -> None:
    monkeypatch.setenv(files.ENV, "/no/such/folder")
    assert load_dataset(SPEC).documents == raw.documents


def test_an_installed_wheel_finds_its_bundled_copy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, raw: RawDataset
) -> None:
    checkout, bundled = demo._FOLDERS
    assert bundled.parts[-4:] == ("harness", "_bundled", "data", "demo")
    shutil.copytree(checkout, tmp_path / "bundled")
    monkeypatch.setattr(demo, "_FOLDERS", (tmp_path / "none", tmp_path / "bundled"))
    assert SPEC.load("default") == raw


def test_a_missing_demo_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo, "_FOLDERS", (tmp_path, tmp_path))
    with pytest.raises(DataError, match=r"the demo's corpus\.json is not in"):
        SPEC.load("default")
