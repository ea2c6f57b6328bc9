"""Canonical JSON, hashes, and files of others: no more of them than there may be."""

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
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
def test_the_order_of_keys_does_not_matter_at_any_depth(value: Any) -> None:
    assert canonical_json(turned_round(value)) == canonical_json(value)


@settings(deadline=None)
@given(TREES)
def test_canonical_json_means_the_value_it_was_made_from(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


def test_the_order_of_lists_matters() -> None:
    assert digest([1, 2]) != digest([2, 1])


def test_a_tuple_is_spelt_as_a_list_so_that_a_stored_identity_compares_equal() -> None:
    assert canonical_json({"a": (1, 2)}) == canonical_json({"a": [1, 2]})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_have_no_canonical_spelling(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"deep": [{"in": number}]})


def test_what_is_no_json_is_refused_and_not_spelt_somehow() -> None:
    with pytest.raises(TypeError):
        canonical_json({"when": object()})


def test_the_spelling_has_no_spaces_and_keeps_letters_readable() -> None:
    assert canonical_json({"b": [1, 1.5, None, True], "a": "Å\n"}) == '{"a":"Å\\n","b":[1,1.5,null,true]}'


def test_the_digest_of_a_known_value_never_changes() -> None:
    """Pinned: a change here gives every stored run another id."""
    value = {"system": {"name": "naive", "answer": {"top_k": 10}}, "seed": 0, "models": ["å", 0.1, None]}
    assert digest(value) == "ef58b6dd2dc1eeaddb996da3dc0e63e3480ef8aeface256faf49662544c274c1"


def test_the_digest_does_not_depend_on_the_process() -> None:
    """Python's own hash does: it is salted by PYTHONHASHSEED."""
    code = "from harness.core.hashing import digest; print(digest({'b': 1, 'a': {'y': 2, 'x': [3]}}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert seen == {digest({"a": {"x": [3], "y": 2}, "b": 1})}


def test_the_short_digest_is_the_beginning_of_the_long_one() -> None:
    assert short_digest("x") == digest("x")[:12]


# Files


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Two files, one of them below a folder; digests are read anew."""
    (tmp_path / "model" / "inner").mkdir(parents=True)
    (tmp_path / "model" / "a").write_bytes(b"one")
    (tmp_path / "model" / "inner" / "b").write_bytes(b"two")
    folder_digest.cache_clear()
    yield tmp_path / "model"
    folder_digest.cache_clear()


def digest_now(folder: Path) -> str:
    folder_digest.cache_clear()
    return folder_digest(folder)


def test_a_files_digest_is_that_of_its_bytes(folder: Path) -> None:
    assert file_digest(folder / "a") == hashlib.sha256(b"one").hexdigest()


def test_a_pipe_has_no_digest_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        file_digest(tmp_path / "pipe")


def test_a_folder_has_the_same_digest_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "elsewhere")
    assert folder_digest(copy) == folder_digest(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a").write_bytes(b"other"),
        lambda folder: (folder / "inner" / "b").write_bytes(b""),
        lambda folder: (folder / "a").rename(folder / "c"),
        lambda folder: (folder / "a").rename(folder / "inner" / "a"),
        lambda folder: (folder / "inner" / "b").unlink(),
        lambda folder: (folder / "inner" / "c").write_bytes(b""),
    ],
    ids=["bytes", "bytes below", "name", "place", "less", "more"],
)
def test_whatever_changes_in_a_folder_changes_its_digest(folder: Path, change: Callable[[Path], object]) -> None:
    before = digest_now(folder)
    change(folder)
    assert digest_now(folder) != before


def test_a_folder_of_links_to_files_has_the_digest_of_the_files(folder: Path, tmp_path: Path) -> None:
    """As the hub's cache keeps its models."""
    (tmp_path / "links" / "inner").mkdir(parents=True)
    for name in ("a", "inner/b"):
        (tmp_path / "links" / name).symlink_to(folder / name)
    assert folder_digest(tmp_path / "links") == folder_digest(folder)


def test_a_folder_is_read_once_in_a_process(folder: Path) -> None:
    before = folder_digest(folder)
    (folder / "a").write_bytes(b"other")
    assert folder_digest(folder) == before


# Files of others: only what is a file, and no more of it than there may be.


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "/dev/null"])
def test_a_pipe_or_device_is_refused_at_once(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe or device, not a file"):
        open_plain(tmp_path / path)


def test_a_folder_and_a_path_that_no_file_can_have_are_errors_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_plain(tmp_path)
    with pytest.raises(OSError, match="not a valid path"):
        open_plain(Path("a\0b"))


def test_a_file_is_read_up_to_its_bound_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_plain(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="longer than 4 bytes"):
        read_plain(tmp_path / "file", 4)


def test_a_stamp_is_another_where_a_file_below_was_written_though_its_size_and_time_are_as_before(
    tmp_path: Path,
) -> None:
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
