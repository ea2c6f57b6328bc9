"""Runs a command in a child process. Ray kills a process that has joined a cluster when the cluster is lost; the
parent process survives and reports it.
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
    children: list[subprocess.Popen[bytes]] = []
    with _forwarding_signals(children) as received:
        # In a session of its own, so that Ctrl-C in a terminal reaches only this process.
        with subprocess.Popen(command, env=env, pass_fds=(is_here, ends), start_new_session=True) as process:
            os.close(is_here)
            os.close(ends)
            children.append(process)
            for number in tuple(received):  # Before it started.
                process.send_signal(number)
            code = process.wait()
        os.close(stays)
        os.set_blocking(ended, False)
        with os.fdopen(ended, "rb", buffering=0) as pipe:
            has_ended = pipe.read(1) == _ENDED
        if has_ended:
            return code
        if -code in received:
            return 128 - code
    how = f"exit {code}" if code >= 0 else f"signal {-code}"
    raise ServiceUnavailable(
        f"lost the Ray cluster, the worker process ended early ({how}): its head node may be down",
        "start the cluster again and rerun the same command; all answers are kept",
    )


@contextmanager
def _forwarding_signals(children: "list[subprocess.Popen[bytes]]") -> Iterator[list[int]]:
    """Forward SIGTERM and SIGINT to these processes instead of ending this one; yields those received so far."""
    received: list[int] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        for child in children:
            child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
