"""kill -9 at random moments, the invariants of a killed run, and processes that are suspended."""

import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from command_line import CommandLine

from harness.store import RunDir


def what_was_answered(run: RunDir) -> dict[str, Any]:
    """All fields of the records that are not measurements of time or memory."""
    return {
        record.query_id: (record.status, record.prediction, record.cost.usage.get("generator"))
        for record in run.iter_records()
    }


def journaled(path: Path) -> list[tuple[Any, ...]]:
    """The keys of the calls in a journal."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT scope, role, request_digest, occurrence FROM calls").fetchall()


def kill_somewhere(cli: CommandLine, words: list[str], after_s: float, draw: random.Random) -> bool:
    """Start a command, SIGKILL its parent or one of its processes after a while, and wait until all are gone;
    False if it had already ended.
    """
    process = cli.begin(*words)
    parent = psutil.Process(process.pid)
    deadline = time.monotonic() + after_s
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    is_under_way = process.poll() is None
    family = [parent]
    with suppress(psutil.Error):
        family += parent.children(recursive=True)
    victim = draw.choice(family)
    with suppress(psutil.Error):
        victim.send_signal(signal.SIGKILL)
    if victim != parent and process.poll() is None:
        # The runner continues after its worker's death; then it is killed too.
        time.sleep(draw.uniform(0.0, 1.0))
        process.kill()
    process.communicate()
    psutil.wait_procs(family, timeout=20)
    return is_under_way


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    """A process that stands still meanwhile (SIGSTOP)."""
    process = psutil.Process(pid)
    process.suspend()
    try:
        # The signal stops one thread after the other: until the last stands still, a server may yet answer.
        while any(state != "T" for state in states_of_threads(pid)):
            time.sleep(0.01)
        yield
    finally:
        process.resume()


def states_of_threads(pid: int) -> list[str]:
    """R, S, T and so on, one for each thread of a process."""
    files = [task / "stat" for task in Path(f"/proc/{pid}/task").iterdir()]
    return [file.read_text().rpartition(")")[2].split()[0] for file in files if file.exists()]
