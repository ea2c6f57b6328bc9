"""Writing so that a crash leaves the old file or the new one, and reading what a crash left."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

from harness.core.records import Query, RunRecord
from harness.store import RunDir, atomic_files
from harness.store.lock import exclusive

from .conftest import MakeRecord, refusal

# A torn tail


def test_a_last_line_torn_at_any_byte_is_refused_and_cut(tmp_path: Path, make_record: MakeRecord) -> None:
    path = tmp_path / "records.jsonl"
    kept = [make_record("q1"), make_record("q2")]
    whole = "".join(record.model_dump_json() + "\n" for record in kept).encode()
    last = make_record("q3").model_dump_json().encode() + b"\n"
    for length in range(len(last)):
        path.write_bytes(whole + last[:length])
        reading = atomic_files.iter_jsonl(path, RunRecord)
        assert [next(reading), next(reading)] == kept, length
        if length:
            assert f"{path} line 3 is incomplete" in refusal(lambda reading=reading: next(reading)), length  # type: ignore[misc]
        assert atomic_files.repair_tail(path) is (length > 0), length
        assert path.read_bytes() == whole, length
    atomic_files.append_bytes(path, last)
    assert path.read_bytes() == whole + last


def test_a_torn_line_longer_than_the_blocks_it_is_searched_in_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    for kept, torn in ((b"", 65536), (b"", 200_000), (b"x\n", 65537), (b"x" * 65536 + b"\n", 131072)):
        path.write_bytes(kept + b"y" * torn)
        assert atomic_files.repair_tail(path) is True
        assert path.read_bytes() == kept


# Damage


@pytest.mark.parametrize(
    ("damage", "number"),
    [(b"{", 1), (b"", 3), (b'{"query_id": "q", "text": "t", "x": 1}', 1), (b"\xff\xfe", 3), (b"\x00" * 9, 1)],
)
def test_a_damaged_line_before_the_last_is_named_by_its_number(tmp_path: Path, damage: bytes, number: int) -> None:
    path = tmp_path / "sample.jsonl"
    good = [Query(query_id=f"q{n}", text="?").model_dump_json().encode() for n in range(3)]
    path.write_bytes(b"\n".join([*good[: number - 1], damage, *good[number - 1 :]]) + b"\n")
    line = refusal(lambda: list(atomic_files.iter_jsonl(path, Query, "do this")))
    assert line.startswith(f"{path} line {number} is damaged (")
    assert line.endswith(": do this")


# Atomic writes


def fails(*_args: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace")])
@pytest.mark.parametrize("old", [None, "old\n"])
def test_a_write_that_fails_leaves_the_old_file_and_no_part_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, old: str | None
) -> None:
    path = tmp_path / "done.json"
    if old is not None:
        path.write_text(old)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        line = refusal(lambda: atomic_files.write_atomic(path, "new\n"))
    assert line.startswith(f"cannot write {path}: no space left on the disk")
    assert [found.name for found in tmp_path.iterdir()] == ([] if old is None else ["done.json"])
    assert old is None or path.read_text() == old
    atomic_files.write_atomic(path, "new\n")
    assert path.read_text() == "new\n"


def test_a_text_is_on_the_disk_before_it_takes_the_name_and_a_line_when_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[object] = []
    replace = Path.replace

    def told_replace(self: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", lambda descriptor: steps.append(os.fstat(descriptor).st_size))
    monkeypatch.setattr(Path, "replace", told_replace)
    atomic_files.write_atomic(tmp_path / "done.json", "new\n")
    for line in ("å\n", "b\n"):
        atomic_files.append_bytes(tmp_path / "records.jsonl", line.encode())
    assert steps == [4, "replace", 3, 5]


def test_files_of_killed_writers_are_removed_and_those_of_a_working_writer_are_not(tmp_path: Path) -> None:
    path = tmp_path / "done.json"
    code = (
        "import os, signal, sys; from pathlib import Path; from harness.store import atomic_files as files\n"
        "os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomic(Path(sys.argv[1]), 'new')"
    )
    path.write_text("old")
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -9
    assert path.read_text() == "old"
    (tmp_path / ".manifest.json.killed.partial").write_text("of another file")
    with atomic_files.open_partial(path) as at_work:
        at_work.write(b"whole")
        atomic_files.write_atomic(path, "first")
        assert {one.name for one in tmp_path.glob(".done*")} == {Path(at_work.name).name}
        assert path.read_text() == "first"
        Path(at_work.name).replace(path)
    assert path.read_text() == "whole"
    assert [one.name for one in tmp_path.glob(".*")] == [".manifest.json.killed.partial"]


def test_two_processes_that_write_one_file_never_mix_their_texts(tmp_path: Path) -> None:
    """Two runs side by side save the same corpus."""
    code = (
        "import sys; from pathlib import Path; from harness.store import atomic_files as files\n"
        "path, letter = Path(sys.argv[1]), sys.argv[2]\n"
        "sys.stdin.readline()\n"
        "for n in range(15): files.write_atomic(path, letter * 300_000)\n"
    )
    path = tmp_path / "corpus.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), letter], stdin=subprocess.PIPE) for letter in "ab"
    ]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            seen.add(path.read_text())
    assert [writer.wait() for writer in writers] == [0, 0]
    assert {*seen, path.read_text()} <= {"a" * 300_000, "b" * 300_000}
    assert [found.name for found in tmp_path.iterdir()] == ["corpus.jsonl"]


# One writer per directory, also across processes and after kill -9.


HOLD = """
import subprocess, sys, time
from pathlib import Path
from harness.store.lock import exclusive
with exclusive(Path(sys.argv[1])) as descriptor:
    if len(sys.argv) > 2:
        # A worker that inherits the lock and outlives its parent until told to go.
        worker = subprocess.Popen(["sh", "-c", "cat; :"], stdin=int(sys.argv[2]), pass_fds=[descriptor])
    print("held", flush=True)
    time.sleep(60)
"""
TRY = """
import sys
from pathlib import Path
from harness.core.errors import StoreError
from harness.store.lock import exclusive
try:
    with exclusive(Path(sys.argv[1]), wait_s=0):
        print("mine")
except StoreError as error:
    print(error)
"""


def other_process(lock: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", TRY, str(lock)], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_lock_of_a_run_is_held_by_one_process_at_a_time(run: RunDir) -> None:
    lock = run.path / ".lock"
    with run.exclusive():
        line = other_process(lock)
        assert line == f"another process is working in {run.path}: wait for it or stop it, then run again"
    assert other_process(lock) == "mine"
    with pytest.raises(KeyError), run.exclusive():
        raise KeyError
    with run.exclusive(wait_s=0):
        pass


def test_a_waiting_process_gets_the_lock_when_it_is_free(run: RunDir) -> None:
    held = subprocess.Popen([sys.executable, "-c", HOLD, str(run.path / ".lock")], stdout=subprocess.PIPE)
    with held:
        assert held.stdout
        assert held.stdout.readline() == b"held\n"
        stopper = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -9 {held.pid}"])
        began = time.monotonic()
        with run.exclusive(wait_s=30):
            assert time.monotonic() - began > 0.05
        assert stopper.wait() == 0


@pytest.mark.slow
def test_the_lock_of_a_killed_process_is_kept_by_the_worker_that_inherited_it(tmp_path: Path) -> None:
    """So that a killed runner's last worker and the resuming run never write at the same time."""
    lock = tmp_path / "run" / ".lock"
    read_end, write_end = os.pipe()
    command = [sys.executable, "-c", HOLD, str(lock), str(read_end)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[read_end])
    os.close(read_end)
    try:
        with parent:
            assert parent.stdout
            assert parent.stdout.readline() == b"held\n"
            parent.send_signal(signal.SIGKILL)
            assert parent.wait() == -signal.SIGKILL
            assert "another process is working" in other_process(lock)
    finally:
        # The worker reads the end of its input and goes.
        os.close(write_end)
    with exclusive(lock, wait_s=30):
        assert other_process(lock).startswith("another process")
