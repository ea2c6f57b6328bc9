"""The log of a worker: whole, without keys, and safe to look at."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.core.sanitize import keep_secret
from harness.runner.executing.worker_supervisor import CleanedLog

KEY = "sk-0123456789+/abc"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_OF_MINE", KEY)
    keep_secret("MODEL_OF_MINE")


def test_what_a_child_prints_is_kept_without_keys_and_escapes(tmp_path: Path) -> None:
    with CleanedLog(tmp_path / "log") as log:
        said = f"import os; os.write(1, b'1 {KEY}\\n\\x1b[2J2'); os.write(2, b'\\xff3')"
        subprocess.run([sys.executable, "-c", said], stdout=log.fd, stderr=log.fd, check=True)
    assert (tmp_path / "log").read_text("utf-8") == "1 ***\n\\x1b[2J2\ufffd3"


def test_a_second_worker_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    for said in (b"first\n", b"second"):
        with CleanedLog(tmp_path / "log") as log:
            os.write(log.fd, said)
    assert (tmp_path / "log").read_bytes() == b"first\nsecond"


def test_a_key_that_comes_in_two_parts_is_found(tmp_path: Path) -> None:
    with CleanedLog(tmp_path / "log") as log:
        os.write(log.fd, KEY[:9].encode())
        time.sleep(0.05)
        os.write(log.fd, KEY[9:].encode() + b"\n")
    assert (tmp_path / "log").read_bytes() == b"***\n"


def test_a_child_that_keeps_the_other_end_open_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.runner.executing.worker_supervisor._LAST_WORDS_S", 0.05)
    with CleanedLog(tmp_path / "log") as log:
        kept = os.dup(log.fd)
    os.write(kept, b"late\n")
    os.close(kept)
