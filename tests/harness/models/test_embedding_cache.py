"""The same text and model, the same vector, computed once; also for several processes at a time."""

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.errors import StoreError
from harness.core.records import Usage
from harness.models.embedding_cache import EmbeddingCache, usage_of_entries


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[EmbeddingCache]:
    with closing(EmbeddingCache(path, "minilm")) as opened:
        yield opened


def rows(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.asarray([[value, -value] for value in values], dtype=np.float32)


def usage(cache: EmbeddingCache, *texts: str) -> dict[str, Usage]:
    return usage_of_entries(cache.entries(texts).values())


def test_what_vectors_took_is_kept_with_each_distinct_text(cache: EmbeddingCache) -> None:
    cache.add(["a", "b"], rows(1.0, 2.0), seconds=3.0)
    cache.add(["b"], rows(2.0), seconds=9.0)
    found = cache.entries(["b", "not kept", "a", "b"])
    assert {text: entry.seconds for text, entry in found.items()} == {"b": 1.5, "a": 1.5}


def test_what_calls_took_is_kept_by_characters_for_each_run_that_paid(cache: EmbeddingCache, path: Path) -> None:
    cache.add(["ab", "cdefgh"], rows(1.0, 2.0), usage=Usage(calls=1, input_tokens=40))
    with closing(EmbeddingCache(path, "minilm", payer="demo--kg--1")) as other:
        other.add(["ab", "yz"], rows(1.0, 3.0), usage=Usage(calls=1, input_tokens=10))
    assert usage(cache) == {}
    assert usage(cache, "ab") == {"": Usage(calls=1, input_tokens=10)}
    both = {"": Usage(calls=1, input_tokens=40), "demo--kg--1": Usage(calls=1, input_tokens=5)}
    assert usage(cache, "ab", "cdefgh", "ab", "yz") == both


def test_tokens_that_nobody_counted_make_those_of_the_others_a_lower_bound(cache: EmbeddingCache) -> None:
    cache.add(["a"], rows(1.0), usage=Usage(calls=1, input_tokens=4))
    cache.add(["uncounted"], rows(2.0), usage=Usage(calls=1, unmetered_calls=1))
    assert usage(cache, "a", "uncounted") == {"": Usage(calls=2, input_tokens=4, unmetered_calls=1)}


@settings(deadline=None, max_examples=25)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=[]), max_size=9), min_size=1, max_size=9, unique=True),
    tokens=st.integers(0, 10**9),
)
def test_shares_add_up_to_the_call(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], tokens: int
) -> None:
    whole = Usage(calls=1, input_tokens=tokens)
    with closing(EmbeddingCache(tmp_path_factory.mktemp("cache") / "e.sqlite", "m")) as cache:
        cache.add(texts, rows(*map(float, range(len(texts)))), usage=whole)
        assert usage(cache, *texts) == {"": whole}


def test_each_model_has_its_own_vectors_and_the_first_of_a_text_stays(cache: EmbeddingCache, path: Path) -> None:
    with closing(EmbeddingCache(path, "openai/text-embedding-3-small/")) as other:
        cache.add(["a"], rows(1.0))
        assert not other.entries(["a"])
        other.add(["a"], rows(2.0))
        # Two processes may embed the same text at the same time: a run must see one vector for it.
        other.add(["a"], rows(3.0))
        np.testing.assert_array_equal(cache.get(["a"]), rows(1.0))
        np.testing.assert_array_equal(other.get(["a"]), rows(2.0))


def test_what_could_not_be_kept_does_not_keep_the_next_from_being_kept(
    cache: EmbeddingCache, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_values: object) -> int:
        raise sqlite3.DatabaseError("database disk image is malformed")

    with monkeypatch.context() as patched:
        patched.setattr("harness.models.embedding_cache.row_check", damaged)
        with pytest.raises(StoreError, match="malformed"):
            cache.add(["a"], rows(1.0))
    with closing(EmbeddingCache(path, "minilm")) as other:
        other.add(["b"], rows(2.0))
    cache.add(["a"], rows(1.0))
    assert list(cache.entries(["a", "b"])) == ["a", "b"]


def test_several_processes_add_and_read_at_once(path: Path) -> None:
    code = """
import sys
from pathlib import Path
import numpy as np
from harness.models.embedding_cache import EmbeddingCache
sys.stdin.readline()
own = int(sys.argv[2])
cache = EmbeddingCache(Path(sys.argv[1]), "m")
for n in range(40):
    # Half of the texts are everybody's, half are their own.
    texts = [f"shared {n}", f"own {own} {n}"]
    cache.add(texts, np.full((2, 8), n, dtype=np.float32))
    assert (cache.get(texts) == n).all()
cache.close()
"""
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(n)], stdin=subprocess.PIPE) for n in range(3)
    ]
    for worker in workers:
        assert worker.stdin
        worker.stdin.write(b"go\n")
        worker.stdin.close()
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    with closing(EmbeddingCache(path, "m")) as cache:
        names = [f"shared {n}" for n in range(40)] + [f"own {own} {n}" for own in range(3) for n in range(40)]
        assert list(cache.entries(names)) == names


def test_a_batch_survives_kill_9_of_its_process(path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
import numpy as np
from harness.models.embedding_cache import EmbeddingCache
cache = EmbeddingCache(Path(sys.argv[1]), "minilm")
cache.add(["kept"], np.ones((1, 2), dtype=np.float32))
cache._db.execute("BEGIN IMMEDIATE")
cache._db.execute("INSERT INTO vectors VALUES ('minilm', x'00', x'00', '', 0, 0, 0, 0)")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    with closing(EmbeddingCache(path, "minilm")) as cache:
        assert list(cache.entries(["kept", "other"])) == ["kept"]
        cache.add(["other"], rows(1.0))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("vector", rows(9.0)[0].tobytes()),
        ("vector", b""),
        ("vector", b"odd"),
        ("paid_by", "another run"),
        ("seconds", 1e9),
        ("input_tokens", 1e9),
        ("row_check", 7),
        ("text_digest", hashlib.sha256(b"another text").digest()),
    ],
)
def test_a_damaged_entry_is_as_good_as_none_and_is_computed_anew(path: Path, column: str, value: object) -> None:
    with closing(EmbeddingCache(path, "minilm", payer="one")) as cache:
        cache.add(["a"], rows(1.0), seconds=2.0)
        cache.add(["b"], rows(2.0), seconds=2.0)
    with closing(sqlite3.connect(path)) as db:
        digest = hashlib.sha256(b"a").digest()
        db.execute(f"UPDATE vectors SET {column} = ? WHERE text_digest = ?", (value, digest))
        db.commit()
    with closing(EmbeddingCache(path, "minilm", payer="two")) as cache:
        assert list(cache.entries(["a", "b", "another text"])) == ["b"]
        with pytest.raises(KeyError):
            cache.get(["a"])
        cache.add(["a"], rows(3.0), seconds=4.0)
        np.testing.assert_array_equal(cache.get(["a", "b"]), rows(3.0, 2.0))
        kept = cache.entries(["a"])["a"]
        assert (kept.paid_by, kept.seconds) == ("two", 4.0)


def test_a_damaged_cache_is_one_line_that_says_what_to_do(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, " * 100)
    with pytest.raises(StoreError) as caught:
        EmbeddingCache(path, "minilm")
    line = str(caught.value)
    assert line.startswith(f"cannot use the embedding cache {path} (")
    assert line.endswith("free some disk space, delete that file, or set RAG_HARNESS_CACHE")
