"""A command in a process of its own, followed by this one: Ray ends whoever has joined a cluster that is lost, in
the middle of whatever it does, and what a user is told then is said by who has not.
"""

import os
import signal
import subprocess
import sys
import threading
from atexit import register
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from harness.errors import ServiceUnavailable

_ENV = "RAG_HARNESS_APART"
"""The two ends of pipes that the process apart has: one tells it that this process is there, one that it ended in
order."""
_ENDED = b"."


def run_apart() -> int | None:
    """Run the same command again in a process of its own and give its exit code; None in that process, which is to
    do the work. ServiceUnavailable where it died before its end.
    """
    if told := os.environ.pop(_ENV, None):
        _live_with(*map(int, told.split()))
        return None
    is_here, stays = os.pipe()
    ended, ends = os.pipe()
    command = [sys.executable, "-P", "-m", "harness.cli.main", *sys.argv[1:]]
    env = {**os.environ, _ENV: f"{is_here} {ends}"}
    with subprocess.Popen(command, env=env, pass_fds=(is_here, ends)) as process:
        os.close(is_here)
        os.close(ends)
        with _handing_on(process):
            code = process.wait()
    os.close(stays)
    with os.fdopen(ended, "rb") as pipe:
        if pipe.read() == _ENDED:
            return code
    how = f"exit {code}" if code >= 0 else f"signal {-code}"
    raise ServiceUnavailable(
        f"the process that had joined the Ray cluster is gone ({how}): the cluster's first machine may be lost",
        "start the cluster again, then run the same command again: nothing answered is lost",
    )


@contextmanager
def _handing_on(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """What would end this process ends that one, and this one in its turn."""

    def hand_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    # A terminal tells both of Ctrl-C.
    terminates = signal.signal(signal.SIGTERM, hand_on)
    interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, terminates)
        signal.signal(signal.SIGINT, interrupts)


def _live_with(is_here: int, ends: int) -> None:
    """End when the process that started this one is gone, however; tell it of an end in order."""

    def end_with_it() -> None:
        with suppress(OSError):
            os.read(is_here, 1)
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()
    register(os.write, ends, _ENDED)
