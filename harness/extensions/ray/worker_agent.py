"""Runs on the machine of a worker: starts it and buffers its lines for the process that drives it."""

import os
import threading
import time
from pathlib import Path
from typing import IO

from harness.runner.executing.process_launcher import WorkerProcess

_NEWS_S = 1.0
"""How long `receive` waits for output."""
_LAST_WORDS_S = 2.0
"""How long to wait for the last output: an orphaned child process may hold the pipes open."""
ALONE_S = 30.0
"""A worker whose output was not fetched for so long is killed: its machine was disconnected, and another worker
may have taken over."""
_MOST_LOG = 1 << 20
"""Bytes of log kept for fetching; beyond that the worker blocks when it prints."""
_OF_THE_CLUSTER = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
"""Variables that Ray sets for a process with one CPU and no GPU. Workers run without them, as they would without a
cluster."""


class WorkerAgent:
    """One worker. `send`, `receive` and `kill` run in one thread each."""

    def __init__(self, folder: str) -> None:
        """Start the worker, in `folder` if it exists on this machine."""
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
        """The process id of the worker."""
        return self._worker.pid or 0

    def send(self, lines: bytes) -> None:
        """Send whole lines to the worker."""
        self._worker.send_lines(lines)

    def receive(self) -> tuple[bytes, bytes, int | None]:
        """(events, log, exit code) since the last call. The code comes once, at the end."""
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
        """Kill the worker and its children. Earlier output can still be received."""
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
