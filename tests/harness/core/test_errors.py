"""What the user can fix is one line: what happened and what to do."""

import errno
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import errors
from harness.core.errors import (
    ConfigError,
    DataError,
    HarnessError,
    MissingDependency,
    ModelUnavailable,
    RunInterrupted,
    StoreError,
    explained_io,
    nearest,
    refusal_of_system,
)

KINDS = [HarnessError, ConfigError, DataError, StoreError, ModelUnavailable, MissingDependency]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_reads_what_happened_then_what_to_do(kind: type[HarnessError]) -> None:
    error = kind("no config file x.yaml", "check the path")
    assert str(error) == "no config file x.yaml: check the path"
    assert isinstance(error, HarnessError)


def test_an_error_without_a_fix_ends_without_a_colon() -> None:
    assert str(ConfigError("that is all")) == "that is all"


@settings(deadline=None)
@given(st.text(), st.text())
def test_an_error_is_one_line_whatever_stands_in_it(what: str, fix: str) -> None:
    assert len(str(HarnessError(what, fix)).splitlines()) <= 1


def test_newlines_are_collapsed_and_no_word_is_lost() -> None:
    error = DataError("line 1\nline 2\r\n\tindented", "first\n\nsecond")
    assert str(error) == "line 1 line 2 indented: first second"


def test_a_hint_with_many_known_words_names_some_and_counts_the_others() -> None:
    hint = nearest("accuracy", [f"w{n}" for n in range(60)])
    assert "w0" in hint and "w9" not in hint.split(", ")
    assert "40" in hint and len(hint) < 160


def test_an_error_survives_the_way_between_processes() -> None:
    back = pickle.loads(pickle.dumps(StoreError("what", "fix")))
    assert (type(back), back.what, back.fix) == (StoreError, "what", "fix")


def test_an_interruption_is_no_mistake_of_the_user() -> None:
    assert not issubclass(RunInterrupted, HarnessError)


def test_the_exit_codes_are_those_of_the_manual() -> None:
    codes = (
        errors.EXIT_DONE,
        errors.EXIT_BUG,
        errors.EXIT_USER,
        errors.EXIT_TOLERANCE,
        errors.EXIT_BUDGET,
        errors.EXIT_GATE_FAILED,
        errors.EXIT_UNDERPOWERED,
        errors.EXIT_INTERRUPTED,
    )
    assert codes == (0, 1, 2, 3, 4, 5, 6, 130) == tuple(errors.EXIT_CODES)


def test_nearest_names_the_word_that_was_probably_meant() -> None:
    assert nearest("topk", ["top_k", "chunk_size"]) == "did you mean 'top_k'?"


def test_nearest_lists_what_is_known_where_nothing_is_near() -> None:
    assert nearest("zzz", ["top_k", "chunk_size"]) == "known: chunk_size, top_k"


def test_nearest_says_so_where_nothing_is_known() -> None:
    assert nearest("zzz", []) == "known: none"


@pytest.mark.parametrize(
    ("number", "reason", "fix"),
    [
        (
            errno.ENOSPC,
            "no space left on the disk",
            "free some space, then run the same command again, it resumes",
        ),
        (errno.EDQUOT, "the disk quota is used up", "free some space"),
        (errno.EFBIG, "the file size limit is reached", "ulimit -f"),
        (errno.EACCES, "permission denied", "make it writable or choose another folder"),
        (errno.EROFS, "the file system is read-only", "choose another folder"),
        (errno.ENOTDIR, "a part of the path is a file", "choose another folder"),
        (errno.EIO, "input/output error", "check the disk"),
        (errno.ENOENT, "No such file or directory", "check the path"),
        (errno.ELOOP, "it is a link", "put the file itself there"),
    ],
)
def test_what_the_operating_system_refuses_becomes_one_line(number: int, reason: str, fix: str) -> None:
    refused = OSError(number, os.strerror(number), "/results/run/records.jsonl")
    with pytest.raises(StoreError) as caught, explained_io("append to", Path("/results/run/records.jsonl")):
        raise refused
    assert caught.value.what == f"cannot append to /results/run/records.jsonl: {reason}"
    assert fix in caught.value.fix
    assert caught.value.__cause__ is refused
    assert len(str(caught.value).splitlines()) == 1


def test_an_os_error_without_a_number_is_told_in_its_own_words() -> None:
    with pytest.raises(StoreError, match="cannot read x: the moon is full"), explained_io("read", Path("x")):
        raise OSError("the moon is full")


def test_what_is_no_os_error_passes_unchanged() -> None:
    bug, own = KeyError("bug"), DataError("mine")
    for error in (bug, own):
        with pytest.raises(type(error)) as caught, explained_io("read", Path("x")):
            raise error
        assert caught.value is error


@pytest.mark.parametrize(
    "refused",
    [
        OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), "a" * 300),
        OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), 1),
        FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), b"bytes\xe9"),
        MemoryError(),
    ],
)
def test_what_nobody_explained_nearer_is_still_something_that_a_user_can_fix(
    refused: OSError | MemoryError,
) -> None:
    line = refusal_of_system(refused)
    assert line is not None
    assert line.fix


@pytest.mark.parametrize("bug", [OSError("the moon is full"), OSError(errno.ECHILD, "no child"), TimeoutError()])
def test_an_os_error_that_no_user_can_fix_stays_a_bug(bug: OSError) -> None:
    assert refusal_of_system(bug) is None
