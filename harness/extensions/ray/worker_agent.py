"""On the machine where a worker runs: starts it and carries its lines, for whoever drives it over a connection."""

import os
import threading
import time
from pathlib import Path
from typing import IO

from harness.runner.executing.process_launcher import WorkerProcess

_NEWS_S = 1.0
"""How long `receive` waits for something to come."""
_LAST_WORDS_S = 2.0
"""How long what a worker said at its end is waited for: a process that it left behind may hold its pipes open."""
ALONE_S = 30.0
"""A worker of which nobody has fetched anything for so long is ended: its machine was cut off, and another may
have taken its place."""
_MOST_LOG = 1 << 20
"""Bytes that wait to be fetched; then a worker that prints waits, too."""
_OF_THE_CLUSTER = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
"""Set by a cluster for a process that asked for one CPU and no other device: a worker here has the machine as it
would have it without a cluster."""


class WorkerAgent:
    """One worker. `send`, `receive` and `kill` are called from a thread each."""

    def __init__(self, folder: str) -> None:
        """The worker is started in `folder`, where this machine has it."""
        if Path(folder).is_dir():
            os.chdir(folder)
        log_read, log_write = os.pipe()
        self._worker = WorkerProcess(log_write, without=_OF_THE_CLUSTER)
        os.close(log_write)
        self._lock = threading.Condition()
        self._events, self._log = b"", b""
        self._readers = [
            threading.Thread(target=self._read_events, args=(self._worker.events,), daemon=True),
            threading.Thread(target=self._read_log, args=(os.fdopen(log_read, "rb", buffering=0),), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._fetched_at = time.monotonic()
        threading.Thread(target=self._end_if_alone, daemon=True).start()

    def here(self) -> int:
        """The number of its worker's process."""
        return self._worker.pid or 0

    def send(self, lines: bytes) -> None:
        """Whole lines for the worker."""
        self._worker.send_lines(lines)

    def receive(self) -> tuple[bytes, bytes, int | None]:
        """(events, log, exit code) since the last time; a code comes once, with or after all else."""
        self._fetched_at = time.monotonic()
        with self._lock:
            self._lock.wait_for(lambda: self._events or self._log, _NEWS_S)
        code = self._worker.wait(0)
        if code is not None:
            for reader in self._readers:
                reader.join(_LAST_WORDS_S)
        with self._lock:
            found = (self._events, self._log, code)
            self._events, self._log = b"", b""
            self._lock.notify_all()
        return found

    def kill(self) -> None:
        """End the worker and whatever it started; what it said can still be received."""
        self._worker.kill()

    def _end_if_alone(self) -> None:
        while (left_s := self._fetched_at + ALONE_S - time.monotonic()) > 0:
            time.sleep(left_s)
        self.kill()

    def _read_events(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read(65536):
                with self._lock:
                    self._events += chunk
                    self._lock.notify_all()

    def _read_log(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := pipe.read(65536):
                with self._lock:
                    self._lock.wait_for(lambda: len(self._log) < _MOST_LOG)
                    self._log += chunk
                    self._lock.notify_all()
