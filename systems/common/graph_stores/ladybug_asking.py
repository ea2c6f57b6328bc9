"""Runs statements of a model in processes that can be killed: see `ladybug_process`."""

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.core.process_environment import python_command
from systems.common.graph_stores.contract import AskFailed, too_late, why_unanswered

_ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "HOME", "TMPDIR")
"""The environment variables that are passed to the process: no key is among them."""
_START_S = 60.0
_GRACE_S = 0.5
"""Grace period after the time limit, which the database applies itself."""


class AskingProcesses:
    """One process per concurrent statement. Processes are reused."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._changing = threading.Lock()
        self._all: set[_AskingProcess] = set()
        self._idle: list[_AskingProcess] = []
        self._closed = False

    def ask(self, query: str, parameters: Mapping[str, Any], limit_s: float) -> list[list[Any]]:
        """The rows. Raises AskFailed after `limit_s` seconds, or if the database rejects the statement."""
        with self._changing:
            process = self._idle.pop() if self._idle else self._started()
        try:
            return process.ask(query, parameters, limit_s)
        finally:
            with self._changing:
                if process.is_lost:
                    self._all.discard(process)
                # Replace a lost process now, so that the next statement does not wait for it to open the database.
                if not self._closed:
                    self._idle.append(self._started() if process.is_lost else process)

    def _started(self) -> "_AskingProcess":
        if self._closed:
            raise RuntimeError("the graph store is closed")
        process = _AskingProcess(self._database)
        self._all.add(process)
        return process

    def close(self) -> None:
        """Kill all processes, even busy ones; their callers get an error."""
        with self._changing:
            self._closed = True
            for process in self._all:
                process.kill()
            for process in self._idle:
                process.end()


class _AskingProcess:
    """One process, used by one thread at a time."""

    def __init__(self, database: Path) -> None:
        self.is_lost = False
        self._is_ready = False
        self._process = subprocess.Popen(
            python_command("systems.common.graph_stores.ladybug_process", str(database.absolute())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )

    def ask(self, query: str, parameters: Mapping[str, Any], limit_s: float) -> list[list[Any]]:
        if not self._is_ready:
            self._read(_START_S)
            if self.is_lost:
                raise RuntimeError(f"the Ladybug process ended at its start ({self._process.returncode})")
            self._is_ready = True
        request = {"query": query, "parameters": dict(parameters), "limit_s": limit_s}
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        answer = self._read(limit_s)
        if "error" in answer:
            raise AskFailed(why_unanswered(answer["error"], "Interrupted", limit_s))
        rows: list[list[Any]] = answer["rows"]
        return rows

    def _read(self, limit_s: float) -> dict[str, Any]:
        """Its next line; raises an error if it was killed after the time limit, or has ended."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        late = threading.Event()

        def kill_late() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(limit_s + _GRACE_S, kill_late)
        timer.daemon = True
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        timer.join()
        if late.is_set() or not line.endswith("\n"):
            self.end()
            return {"error": too_late(limit_s) if late.is_set() else "it needs too much memory: ask for less"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """End the process and its pipes; call it from the thread that uses it, or when none does."""
        self.is_lost = True
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # The buffer may hold a line that it never read.
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
