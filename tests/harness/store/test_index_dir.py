"""Stored indexes and corpora: each once."""

from pathlib import Path

import pytest

from harness.errors import StoreError
from harness.records import Cost, Document, IndexRecord, IndexStats
from harness.store import IndexDir
from harness.store.index_dir import Corpora


@pytest.fixture
def index(tmp_path: Path) -> IndexDir:
    return IndexDir(tmp_path / "results", "0123456789ab")


def test_a_build_begins_in_an_empty_folder(index: IndexDir) -> None:
    index.begin()
    (index.store / "deep").mkdir()
    (index.store / "deep" / "half.bin").write_bytes(b"x")
    index.begin()
    assert list(index.store.iterdir()) == []


def test_a_build_keeps_the_journal_of_the_interrupted_one(index: IndexDir) -> None:
    index.begin()
    index.journal_path.write_bytes(b"paid for")
    index.begin()
    assert index.journal_path.read_bytes() == b"paid for"
    assert index.store not in index.journal_path.parents


def test_an_index_is_there_once_its_record_is(index: IndexDir) -> None:
    assert index.record() is None
    record = IndexRecord(
        index_id=index.index_id,
        stats=IndexStats(documents=1),
        cost=Cost(wall_s=1.0),
        bytes_on_disk=0,
        built_by="demo--naive--0",
    )
    index.finish(record)
    assert index.record() == record


def test_its_size_is_that_of_the_files_of_the_system_alone(index: IndexDir) -> None:
    index.begin()
    index.journal_path.write_bytes(b"123456789")
    (index.store / "a").mkdir()
    (index.store / "a" / "b").write_bytes(b"12345")
    (index.store / "c").write_bytes(b"1")
    assert index.bytes_on_disk() == 6


def test_an_index_that_was_never_begun_has_no_size(index: IndexDir) -> None:
    assert index.bytes_on_disk() == 0


def test_an_index_that_cannot_be_begun_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "indexes").write_text("")
    with pytest.raises(StoreError, match=r"cannot prepare .*choose another folder"):
        IndexDir(tmp_path, "a").begin()


def test_a_corpus_is_saved_once(tmp_path: Path) -> None:
    corpora, documents = (
        Corpora(tmp_path),
        [Document(doc_id=str(n), text="å\n", metadata={"a": "b"}) for n in range(3)],
    )
    corpora.save("digest", documents)
    stamp = corpora.path("digest").stat().st_mtime_ns
    corpora.save("digest", [])
    assert corpora.path("digest").stat().st_mtime_ns == stamp
    assert list(corpora.iter_documents("digest")) == documents


def test_another_selection_is_another_file(tmp_path: Path) -> None:
    corpora = Corpora(tmp_path)
    corpora.save("one", [Document(doc_id="1", text="")])
    corpora.save("two", [Document(doc_id="2", text="")])
    assert [document.doc_id for document in corpora.iter_documents("one")] == ["1"]
    assert [document.doc_id for document in corpora.iter_documents("two")] == ["2"]


@pytest.mark.parametrize("digest", ["../../elsewhere", "/etc/passwd", "a/b", "a.b", "a\0b"])
def test_a_corpus_that_a_run_names_lies_among_the_corpora(tmp_path: Path, digest: str) -> None:
    with pytest.raises(StoreError, match="which is no digest"):
        list(Corpora(tmp_path).iter_documents(digest))
