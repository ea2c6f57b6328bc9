"""Files of others: only what is a file, and no more of it than there may be."""

import os
from pathlib import Path

import pytest

from harness.core.bounded_files import file_stamp, open_plain, read_plain


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
