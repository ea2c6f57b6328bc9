"""A command in a process of its own, followed by this one: Ray ends whoever has joined a cluster that is lost, in
the middle of whatever it does, and what a user is told then is said by who has not.
"""

import os
import signal
import subprocess
import sys
import threading
from atexit import register
from contextlib import suppress
from types import FrameType
from typing import Self

from harness.core.errors import ServiceUnavailable
from harness.core.process_environment import python_command, python_environment

ENV = "RAG_HARNESS_APART"
"""The two ends of pipes that the process apart has: one tells it that this process is there, one that it ended in
order."""
_ENDED = b"."


def run_apart() -> int | None:
    """Run the same command again in a process of its own and give its exit code; None in that process, which is to
    do the work. ServiceUnavailable where it died before its end.
    """
    if told := os.environ.pop(ENV, None):
        _live_with(*map(int, told.split()))
        return None
    is_here, stays = os.pipe()
    ended, ends = os.pipe()
    command = python_command("harness.cli.main", *sys.argv[1:])
    env = python_environment(**{ENV: f"{is_here} {ends}"})
    with _Handed() as handed:
        # In a session of its own, so that a terminal tells this process alone of Ctrl-C.
        with subprocess.Popen(command, env=env, pass_fds=(is_here, ends), start_new_session=True) as process:
            os.close(is_here)
            os.close(ends)
            handed.to(process)
            code = process.wait()
        os.close(stays)
        os.set_blocking(ended, False)
        with os.fdopen(ended, "rb", buffering=0) as pipe:
            has_ended = pipe.read(1) == _ENDED
        if has_ended:
            return code
        if handed.number and code == -handed.number:
            return 128 + handed.number
    how = f"exit {code}" if code >= 0 else f"signal {-code}"
    raise ServiceUnavailable(
        f"the process that had joined the cluster is gone ({how}): the cluster's first machine may be lost",
        "start the cluster again, then run the same command again: nothing answered is lost",
    )


class _Handed:
    """Signals that end this process are handed to another, whose end is then that of this one."""

    def __init__(self) -> None:
        self.number = 0
        """Of the last; 0: there was none."""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._before = {one: signal.signal(one, self._hand_on) for one in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, process: "subprocess.Popen[bytes]") -> None:
        """That process, also what came before it was there."""
        self._process = process
        if self.number:
            process.send_signal(self.number)

    def _hand_on(self, number: int, _frame: FrameType | None) -> None:
        self.number = number
        if self._process is not None:
            self._process.send_signal(number)


def _live_with(is_here: int, ends: int) -> None:
    """End when the process that started this one is gone, however; tell it of an end in order."""
    for pipe in (is_here, ends):
        # What this process starts must not be waited for.
        os.set_inheritable(pipe, False)

    def end_with_it() -> None:
        with suppress(OSError):
            os.read(is_here, 1)
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()
    register(os.write, ends, _ENDED)
