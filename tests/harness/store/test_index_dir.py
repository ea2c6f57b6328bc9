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


def test_its_size_is_that_of_the_files_of_the_system_alone(index: IndexDir) -> None:
    index.begin()
    index.journal_path.write_bytes(b"123456789")
    (index.store / "a").mkdir()
    (index.store / "a" / "b").write_bytes(b"12345")
    (index.store / "c").write_bytes(b"1")
    assert index.bytes_on_disk() == 6


def built(index: IndexDir) -> IndexDir:
    index.begin()
    (index.store / "deep").mkdir()
    (index.store / "graph.db").write_bytes(b"graph")
    (index.store / "deep" / "vectors.bin").write_bytes(b"vectors")
    (index.store / "graph.db.wal").write_bytes(b"passing")
    index.finish(index_record(index_id=index.index_id, bytes_on_disk=index.bytes_on_disk()))
    return index


def of_another_index(store: Path) -> None:
    record = IndexDir(store.parents[2], store.parent.name).record()
    assert record is not None
    IndexDir(store.parents[2], store.parent.name).finish(record.model_copy(update={"index_id": "1" * 12}))


def emptied(store: Path) -> None:
    shutil.rmtree(store)
    store.mkdir()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "its files are missing"),
        (emptied, "its files are missing"),
        (lambda store: (store / "graph.db").unlink(), "its file graph.db is missing"),
        (lambda store: (store / "graph.db").write_bytes(b""), "its file graph.db is missing"),
        (lambda store: (store / "deep" / "vectors.bin").write_bytes(b"vectorz"), "vectors.bin is damaged"),
        (lambda store: (store.parent / "index.json").write_text("{"), "index.json is damaged"),
        (of_another_index, "index.json belongs to another index"),
        (lambda store: (store.parent / "store.json").write_text("{"), "store.json is damaged"),
        (lambda store: (store.parent / "store.json").write_text("{}"), "store.json has no checksum"),
        (lambda store: (store.parent / "store.json").unlink(), "cannot read"),
    ],
)
def test_an_index_of_which_something_is_gone_or_damaged_is_built_again(
    index: IndexDir, damage: Callable[[Path], object], said: str
) -> None:
    assert built(index).remove_damaged() == []
    damage(index.store)
    (line,) = index.remove_damaged()
    assert said in line
    assert "no call is paid twice" in line
    assert index.record() is None
    assert built(index).remove_damaged() == []


def test_files_that_a_database_removes_as_it_pleases_are_not_missed(index: IndexDir) -> None:
    (built(index).store / "graph.db.wal").unlink()
    assert index.remove_damaged() == []


def test_a_system_may_change_its_files_while_it_answers_and_damage_afterwards_is_seen(index: IndexDir) -> None:
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


def killed(index: IndexDir, *, once_opened: bool, changed: bool = True) -> None:
    """What a run leaves that is killed while it answers, or before that."""
    child = os.fork()
    if not child:
        with index.in_use():
            if changed:
                (index.store / "graph.db").write_bytes(b"opened")
            if once_opened:
                index.opened()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_files_that_a_killed_run_was_opening_are_not_trusted_where_they_changed(index: IndexDir) -> None:
    killed(built(index), once_opened=False, changed=False)
    assert index.remove_damaged() == []
    killed(index, once_opened=False)
    assert "graph.db is damaged" in index.remove_damaged()[0]


def test_an_index_on_a_server_is_used_on(index: IndexDir) -> None:
    record = built(index).record()
    assert record is not None
    index.begin()
    index.finish(record.model_copy(update={"bytes_on_disk": 0}))
    assert index.remove_damaged() == []


def test_a_corpus_is_saved_once(tmp_path: Path) -> None:
    corpora, documents = (
        Corpora(tmp_path),
        [Document(doc_id=str(n), text="å\n", metadata={"a": "b"}) for n in range(3)],
    )
    digest = corpus_digest(documents)
    corpora.save(digest, documents)
    stamp = corpora.path(digest).stat().st_mtime_ns
    corpora.save(digest, documents)
    assert corpora.path(digest).stat().st_mtime_ns == stamp
    assert corpora.documents(digest) == documents


@pytest.mark.parametrize("damage", ["emptied", "torn", "a document less", "another text", "swapped"])
def test_a_corpus_that_is_not_what_its_name_says_is_refused_and_written_again(tmp_path: Path, damage: str) -> None:
    corpora = Corpora(tmp_path)
    documents = [Document(doc_id=str(n), text=f"text {n}") for n in range(4)]
    digest = corpus_digest(documents)
    corpora.save(digest, documents)
    path = corpora.path(digest)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(
        {
            "emptied": b"",
            "torn": whole[:-9],
            "a document less": b"".join(lines[:-1]),
            "another text": whole.replace(b"text 2", b"text 3"),
            "swapped": b"".join([lines[1], lines[0], *lines[2:]]),
        }[damage]
    )
    with pytest.raises(StoreError, match="delete it: the next `rag-harness run` writes it again"):
        corpora.documents(digest)
    corpora.save(digest, documents)
    assert path.read_bytes() == whole


def test_a_corpus_that_was_not_kept_has_no_documents(tmp_path: Path) -> None:
    assert Corpora(tmp_path).documents("0" * 64) == []


@pytest.mark.parametrize("digest", ["../../elsewhere", "/etc/passwd", "a/b", "a.b", "a\0b"])
def test_a_corpus_that_a_run_names_lies_among_the_corpora(tmp_path: Path, digest: str) -> None:
    with pytest.raises(StoreError, match="is not a digest"):
        Corpora(tmp_path).documents(digest)
