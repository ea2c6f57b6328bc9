"""Runs a command in a child process. Ray kills a process that has joined a cluster when the cluster is lost; the
parent process survives and reports it.
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
"""Passes two pipe descriptors to the child: one closes when the parent dies, the other reports an orderly exit."""
_ENDED = b"."


def run_in_child() -> int | None:
    """Run the same command in a child process and return its exit code; return None in the child, which then does
    the work. ServiceUnavailable if the child died before it finished.
    """
    if pipes := os.environ.pop(ENV, None):
        _exit_with_parent(*map(int, pipes.split()))
        return None
    is_here, stays = os.pipe()
    ended, ends = os.pipe()
    command = python_command("harness.cli.main", *sys.argv[1:])
    env = python_environment(**{ENV: f"{is_here} {ends}"})
    with _SignalForwarder() as forwarder:
        # In a session of its own, so that Ctrl-C in a terminal reaches only this process.
        with subprocess.Popen(command, env=env, pass_fds=(is_here, ends), start_new_session=True) as process:
            os.close(is_here)
            os.close(ends)
            forwarder.to(process)
            code = process.wait()
        os.close(stays)
        os.set_blocking(ended, False)
        with os.fdopen(ended, "rb", buffering=0) as pipe:
            has_ended = pipe.read(1) == _ENDED
        if has_ended:
            return code
        if forwarder.number and code == -forwarder.number:
            return 128 + forwarder.number
    how = f"exit {code}" if code >= 0 else f"signal {-code}"
    raise ServiceUnavailable(
        f"lost the Ray cluster, the worker process ended early ({how}): its head node may be down",
        "start the cluster again and rerun the same command; all answers are kept",
    )


class _SignalForwarder:
    """Forwards SIGTERM and SIGINT to a child process instead of ending this one."""

    def __init__(self) -> None:
        self.number = 0
        """The last signal; 0 if none came."""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._before = {one: signal.signal(one, self._hand_on) for one in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, process: "subprocess.Popen[bytes]") -> None:
        """Forward to this process, including a signal that came before it started."""
        self._process = process
        if self.number:
            process.send_signal(self.number)

    def _hand_on(self, number: int, _frame: FrameType | None) -> None:
        self.number = number
        if self._process is not None:
            self._process.send_signal(number)


def _exit_with_parent(is_here: int, ends: int) -> None:
    """Exit when the parent process is gone; report an orderly exit to it."""
    for pipe in (is_here, ends):
        # Grandchildren must not keep the pipes open.
        os.set_inheritable(pipe, False)

    def end_with_it() -> None:
        with suppress(OSError):
            os.read(is_here, 1)
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()
    register(os.write, ends, _ENDED)
