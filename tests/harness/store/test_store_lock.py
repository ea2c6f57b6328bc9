"""One writer per directory, also across processes and after kill -9."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.store import RunDir
from harness.store.lock import exclusive

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


def test_the_lock_is_free_again_after_an_exception(run: RunDir) -> None:
    with pytest.raises(KeyError), run.exclusive():
        raise KeyError
    with run.exclusive(wait_s=0):
        pass


def test_who_waits_gets_the_lock_when_it_is_free(run: RunDir) -> None:
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
