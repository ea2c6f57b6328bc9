"""Canonical JSON, hashes, and bounded reading of files that others wrote."""

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.bounded_files import file_stamp, open_plain, read_plain
from harness.core.hashing import canonical_json, digest, file_digest, folder_digest, short_digest

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def turned_round(value: Any) -> Any:
    """The same value with the keys of every mapping in the opposite order."""
    if isinstance(value, dict):
        return {key: turned_round(inner) for key, inner in reversed(value.items())}
    return [turned_round(inner) for inner in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(TREES)
def test_canonical_json_means_the_value_and_ignores_the_order_of_keys(value: Any) -> None:
    assert canonical_json(turned_round(value)) == canonical_json(value)
    assert json.loads(canonical_json(value)) == value


def test_canonical_json_has_one_spelling_and_refuses_what_json_cannot_say() -> None:
    assert canonical_json({"b": [1, 1.5, None, True], "a": "Å\n"}) == '{"a":"Å\\n","b":[1,1.5,null,true]}'
    assert canonical_json({"a": (1, 2)}) == canonical_json({"a": [1, 2]})
    assert digest([1, 2]) != digest([2, 1])
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json({"deep": [{"in": number}]})
    with pytest.raises(TypeError):
        canonical_json({"when": object()})


def test_the_digest_of_a_known_value_never_changes() -> None:
    """Pinned: a change here gives every stored run another id."""
    value = {"system": {"name": "naive", "answer": {"top_k": 10}}, "seed": 0, "models": ["å", 0.1, None]}
    assert digest(value) == "ef58b6dd2dc1eeaddb996da3dc0e63e3480ef8aeface256faf49662544c274c1"
    assert short_digest(value) == digest(value)[:12]


def test_the_digest_does_not_depend_on_the_process() -> None:
    """Python's own hash does: it is salted by PYTHONHASHSEED."""
    code = "from harness.core.hashing import digest; print(digest({'b': 1, 'a': {'y': 2, 'x': [3]}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == digest({"a": {"x": [3], "y": 2}, "b": 1})


# Files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, one of them below a folder."""
    (tmp_path / "model" / "inner").mkdir(parents=True)
    (tmp_path / "model" / "a").write_bytes(b"one")
    (tmp_path / "model" / "inner" / "b").write_bytes(b"two")
    return tmp_path / "model"


def digest_now(folder: Path) -> str:
    folder_digest.cache_clear()
    return folder_digest(folder)


def test_a_folder_has_the_same_digest_anywhere_also_if_its_files_are_links(folder: Path, tmp_path: Path) -> None:
    assert file_digest(folder / "a") == hashlib.sha256(b"one").hexdigest()
    copy = shutil.copytree(folder, tmp_path / "elsewhere")
    (tmp_path / "links" / "inner").mkdir(parents=True)
    for name in ("a", "inner/b"):  # As the hub's cache keeps its models.
        (tmp_path / "links" / name).symlink_to(folder / name)
    assert digest_now(copy) == digest_now(tmp_path / "links") == digest_now(folder)
    (folder / "a").write_bytes(b"other")
    assert folder_digest(folder) == digest_now(copy), "it is read once in a process"


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "inner" / "b").write_bytes(b""),
        lambda folder: (folder / "a").rename(folder / "c"),
        lambda folder: (folder / "a").rename(folder / "inner" / "a"),
        lambda folder: (folder / "inner" / "b").unlink(),
        lambda folder: (folder / "inner" / "c").write_bytes(b""),
    ],
    ids=["bytes", "name", "place", "less", "more"],
)
def test_any_change_in_a_folder_changes_its_digest(folder: Path, change: Callable[[Path], object]) -> None:
    before = digest_now(folder)
    change(folder)
    assert digest_now(folder) != before


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "/dev/null"])
def test_a_pipe_or_device_is_refused_at_once(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (open_plain, file_digest):
        with pytest.raises(OSError, match="a pipe or device, not a file"):
            read(tmp_path / path)


def test_a_file_is_read_up_to_its_limit_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_plain(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="longer than 4 bytes"):
        read_plain(tmp_path / "file", 4)
    with pytest.raises(IsADirectoryError):
        open_plain(tmp_path)
    with pytest.raises(OSError, match="not a valid path"):
        open_plain(Path("a\0b"))


def test_a_stamp_changes_with_a_file_though_its_size_and_time_are_as_before(tmp_path: Path) -> None:
    file = tmp_path / "in" / "file"
    file.parent.mkdir()
    file.write_text("one")
    (tmp_path / "round").symlink_to(tmp_path)
    before, kept = file_stamp(tmp_path), file.stat()
    assert file_stamp(tmp_path) == before
    file.write_text("two")
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert file_stamp(tmp_path) != before
    assert file_stamp(tmp_path / "nowhere") == ((str(tmp_path / "nowhere"), 0, 0, 0),)
