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
    DataError,
    HarnessError,
    RunInterrupted,
    StoreError,
    explained_io,
    nearest,
    refusal_of_system,
)


def test_an_error_is_one_line_that_says_what_happened_and_what_to_do() -> None:
    assert str(HarnessError("no config file x.yaml", "check the path")) == "no config file x.yaml: check the path"
    assert str(HarnessError("that is all")) == "that is all"
    error = DataError("line 1\nline 2\r\n\tindented", "first\n\nsecond")
    assert str(error) == "line 1 line 2 indented: first second"


@settings(deadline=None)
@given(st.text(), st.text())
def test_an_error_with_any_text_is_one_line(what: str, fix: str) -> None:
    assert len(str(HarnessError(what, fix)).splitlines()) <= 1


def test_an_error_can_be_sent_to_another_process() -> None:
    back = pickle.loads(pickle.dumps(StoreError("what", "fix")))
    assert (type(back), back.what, back.fix) == (StoreError, "what", "fix")


def test_an_interruption_has_an_exit_code_of_its_own_and_is_no_user_error() -> None:
    assert not issubclass(RunInterrupted, HarnessError)
    codes = (
        *(errors.EXIT_DONE, errors.EXIT_BUG, errors.EXIT_USER, errors.EXIT_TOLERANCE, errors.EXIT_BUDGET),
        *(errors.EXIT_GATE_FAILED, errors.EXIT_UNDERPOWERED, errors.EXIT_INTERRUPTED),
    )
    assert codes == (0, 1, 2, 3, 4, 5, 6, 130) == tuple(errors.EXIT_CODES)


def test_a_hint_names_the_nearest_word_or_the_first_known_ones() -> None:
    assert nearest("topk", ["top_k", "chunk_size"]) == "did you mean 'top_k'?"
    assert nearest("zzz", ["top_k", "chunk_size"]) == "known: chunk_size, top_k"
    assert nearest("zzz", []) == "known: none"
    hint = nearest("accuracy", [f"w{n}" for n in range(60)])
    assert "w0" in hint and "w9" not in hint.split(", ")
    assert "40" in hint and len(hint) < 160


@pytest.mark.parametrize(
    ("number", "reason", "fix"),
    [
        (
            errno.ENOSPC,
            "no space left on the disk",
            "free some space, then run the same command again, it resumes",
        ),
        (errno.EACCES, "permission denied", "make it writable or choose another folder"),
        (errno.ELOOP, "it is a link", "put the file itself there"),
    ],
)
def test_an_error_of_the_operating_system_becomes_one_line(number: int, reason: str, fix: str) -> None:
    refused = OSError(number, os.strerror(number), "/results/run/records.jsonl")
    with pytest.raises(StoreError) as caught, explained_io("append to", Path("/results/run/records.jsonl")):
        raise refused
    assert caught.value.what == f"cannot append to /results/run/records.jsonl: {reason}"
    assert fix in caught.value.fix
    assert caught.value.__cause__ is refused


def test_an_os_error_without_a_number_keeps_its_words_and_other_errors_pass_unchanged() -> None:
    with pytest.raises(StoreError, match="cannot read x: the moon is full"), explained_io("read", Path("x")):
        raise OSError("the moon is full")
    for error in (KeyError("bug"), DataError("mine")):
        with pytest.raises(type(error)) as caught, explained_io("read", Path("x")):
            raise error
        assert caught.value is error


def test_an_unhandled_system_error_has_a_fix_unless_no_user_can_fix_it() -> None:
    for refused in (
        OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), "a" * 300),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), 1),
        FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), b"bytes\xe9"),
        MemoryError(),
    ):
        line = refusal_of_system(refused)
        assert line is not None
        assert line.fix
    for bug in (OSError("the moon is full"), OSError(errno.ECHILD, "no child"), TimeoutError()):
        assert refusal_of_system(bug) is None
