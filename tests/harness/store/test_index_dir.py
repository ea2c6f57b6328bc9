"""Stored indexes and corpora: each once."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from records import index_record

from harness.core.errors import StoreError
from harness.core.records import Document
from harness.store import IndexDir
from harness.store.index_dir import Corpora, corpus_digest


@pytest.fixture
def index(tmp_path: Path) -> IndexDir:
    return IndexDir(tmp_path / "results", "0123456789ab")


def test_a_build_begins_in_an_empty_folder_and_keeps_the_journal_of_an_interrupted_one(index: IndexDir) -> None:
    index.begin()
    index.journal_path.write_bytes(b"paid for")
    (index.store / "a").mkdir()
    (index.store / "a" / "b").write_bytes(b"12345")
    (index.store / "c").write_bytes(b"1")
    assert index.bytes_on_disk() == 6, "of the system's files alone"
    index.begin()
    assert list(index.store.iterdir()) == []
    assert index.journal_path.read_bytes() == b"paid for"


def built(index: IndexDir) -> IndexDir:
    index.begin()
    (index.store / "deep").mkdir()
    (index.store / "graph.db").write_bytes(b"graph")
    (index.store / "deep" / "vectors.bin").write_bytes(b"vectors")
    (index.store / "graph.db.wal").write_bytes(b"passing")
    index.finish(index_record(index_id=index.index_id, bytes_on_disk=index.bytes_on_disk()))
    return index


def of_another_index(store: Path) -> None:
    IndexDir(store.parents[2], store.parent.name).finish(index_record(index_id="1" * 12))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "its files are missing"),
        (lambda store: (store / "graph.db").write_bytes(b""), "its file graph.db is missing"),
        (lambda store: (store / "deep" / "vectors.bin").write_bytes(b"vectorz"), "vectors.bin is damaged"),
        (lambda store: (store.parent / "index.json").write_text("{"), "index.json is damaged"),
        (of_another_index, "index.json belongs to another index"),
        (lambda store: (store.parent / "store.json").write_text("{}"), "store.json has no checksum"),
        (lambda store: (store.parent / "store.json").unlink(), "cannot read"),
    ],
)
def test_an_incomplete_or_damaged_index_is_built_again(
    index: IndexDir, damage: Callable[[Path], object], said: str
) -> None:
    assert built(index).remove_damaged() == []
    (index.store / "graph.db.wal").unlink()  # Databases remove such files as they please.
    assert index.remove_damaged() == []
    damage(index.store)
    (line,) = index.remove_damaged()
    assert said in line
    assert "no call is paid twice" in line
    assert index.record() is None
    assert built(index).remove_damaged() == []


def test_a_system_may_change_its_files_while_it_answers_and_later_damage_is_found(index: IndexDir) -> None:
    with built(index).in_use():
        (index.store / "graph.db").write_bytes(b"opened")
        assert index.remove_damaged() == []
        with IndexDir(index.path.parent.parent, index.index_id).in_use():
            pass
        # Another run has gone; this one still answers.
        (index.store / "graph.db").write_bytes(b"opened again")
        assert index.remove_damaged() == []
    assert index.remove_damaged() == []
    (index.store / "graph.db").write_bytes(b"damaged")
    assert "graph.db is damaged" in index.remove_damaged()[0]


def killed(index: IndexDir, content: bytes) -> None:
    """A run that is killed after the system has changed its files."""
    child = os.fork()
    if not child:
        with index.in_use():
            (index.store / "graph.db").write_bytes(content)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_files_that_a_killed_run_changed_while_opening_them_are_not_trusted(index: IndexDir) -> None:
    killed(built(index), b"graph")
    assert index.remove_damaged() == []
    killed(index, b"opened")
    assert "graph.db is damaged" in index.remove_damaged()[0]


def test_an_index_on_a_server_is_used_on(index: IndexDir) -> None:
    record = built(index).record()
    assert record is not None
    index.begin()
    index.finish(record.model_copy(update={"bytes_on_disk": 0}))
    assert index.remove_damaged() == []


def test_a_corpus_is_saved_once_and_written_again_if_it_is_damaged(tmp_path: Path) -> None:
    corpora = Corpora(tmp_path)
    assert corpora.documents("0" * 64) == []
    documents = [Document(doc_id=str(n), text=f"å {n}\n", metadata={"a": "b"}) for n in range(4)]
    digest = corpus_digest(documents)
    corpora.save(digest, documents)
    path = corpora.path(digest)
    stamp, whole = path.stat().st_mtime_ns, path.read_bytes()
    corpora.save(digest, documents)
    assert path.stat().st_mtime_ns == stamp
    assert corpora.documents(digest) == documents
    lines = whole.splitlines(keepends=True)
    for damaged in (b"", whole[:-9], b"".join(lines[:-1]), whole.replace(b"2", b"3"), b"".join(lines[::-1])):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match="delete it: the next `rag-harness run` writes it again"):
            corpora.documents(digest)
        corpora.save(digest, documents)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("digest", ["../../elsewhere", "/etc/passwd", "a.b", "a\0b"])
def test_the_corpus_of_a_run_cannot_be_outside_of_the_corpora(tmp_path: Path, digest: str) -> None:
    with pytest.raises(StoreError, match="is not a digest"):
        Corpora(tmp_path).documents(digest)
