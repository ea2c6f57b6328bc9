"""Parses risky files in processes with limited memory and time, and restarts a process that a file has killed."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

from harness.core.errors import DataError
from harness.core.process_environment import python_command, python_environment
from harness.datasets.folder.parser_process import FILE_S, MOST_MEMORY
from harness.datasets.folder.text_cleanup import NoDocument, ReadText

_MOST_PROCESSES = 4
_TOO_LARGE = "takes too much memory to read"
_TOO_SLOW = "takes too long to read"
TOO_MUCH = {_TOO_LARGE, _TOO_SLOW}
"""Reasons that depend on this machine, not only on the file."""
_PATIENCE_S = 2 * FILE_S
"""Wall time limit of a file; CPU time is limited within the process."""
_LAST_WORDS_S = 5

Parsed = Sequence[ReadText] | NoDocument
"""The documents of a file, or the reason why there are none."""


def parse_all(
    files: Mapping[str, tuple[Path, str]], most_memory: int = MOST_MEMORY
) -> Iterator[tuple[str, Parsed]]:
    """Yield the parse result of each file when it is ready. `files`: path and kind by name. `most_memory`: bytes
    per process.
    """
    n = max(1, min(_MOST_PROCESSES, _cores(), len(files)))
    processes = [_Process(most_memory) for _ in range(n)]
    idle: SimpleQueue[_Process] = SimpleQueue()
    for process in processes:
        idle.put(process)

    def parse(path: Path, kind: str) -> Parsed:
        process = idle.get()
        try:
            return process.parse(path, kind)
        finally:
            idle.put(process)

    pool = ThreadPoolExecutor(n)
    try:
        under_way = {pool.submit(parse, path, kind): name for name, (path, kind) in files.items()}
        for done in as_completed(under_way):
            yield under_way.pop(done), done.result()
    finally:
        for process in processes:
            process.end()
        pool.shutdown(cancel_futures=True)
        for process in processes:
            process.forget()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process:
    """A process that parses files one at a time; started on demand."""

    def __init__(self, most_memory: int) -> None:
        self._running: subprocess.Popen[str] | None = None
        self._most_memory = most_memory
        self._has_ended = False

    def parse(self, path: Path, kind: str) -> Parsed:
        """Parse a file. If a used process runs out of memory, a fresh one tries again."""
        was_fresh = self._running is None
        answer = self._ask(path, kind)
        if answer == {"why": _TOO_LARGE} and not was_fresh and not self._has_ended:
            answer = self._ask(path, kind)
        return NoDocument(answer["why"]) if "why" in answer else [ReadText(**one) for one in answer["documents"]]

    def end(self) -> None:
        """Kill the process permanently."""
        self._has_ended = True
        if running := self._running:
            running.kill()

    def _ask(self, path: Path, kind: str) -> dict[str, Any]:
        if self._running is None:
            self._running = _started(self._most_memory)
        running = self._running
        watch = threading.Timer(_PATIENCE_S, running.send_signal, [signal.SIGALRM])
        watch.daemon = True
        watch.start()
        question = json.dumps({"path": os.fsencode(path).decode("latin-1"), "kind": kind})
        try:
            cast(IO[str], running.stdin).write(question + "\n")
            cast(IO[str], running.stdin).flush()
            answer: dict[str, Any] = json.loads(cast(IO[str], running.stdout).readline())
        except (OSError, ValueError):  # It died, perhaps in the middle of a line.
            answer = {"died": True}
        finally:
            watch.cancel()
        if "died" in answer:
            code = self.forget()
            answer = {"why": _TOO_SLOW if code in {-signal.SIGXCPU, -signal.SIGALRM} else _TOO_LARGE}
        return answer

    def forget(self) -> int | None:
        """End the process, close its pipes, and return its exit code (None if it was not running)."""
        running, self._running = self._running, None
        if running is None:
            return None
        with suppress(OSError):  # No kill yet: it would hide the exit code of a limit.
            cast(IO[str], running.stdin).close()
        try:
            running.wait(_LAST_WORDS_S)
        except subprocess.TimeoutExpired:
            running.kill()
        cast(IO[str], running.stdout).close()
        return running.wait()


def _started(most_memory: int) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            python_command("harness.datasets.folder.parser_process", str(most_memory)),
            env=python_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError as error:
        what = f"cannot start a process to read documents ({error.strerror})"
        raise DataError(what, "end other programs, or raise their limit (ulimit -u)") from error
