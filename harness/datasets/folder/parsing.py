"""Hands risky files to processes that may take little, and starts them again where a file was too much for one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

from harness.datasets.folder.parser import FILE_S, MOST_MEMORY
from harness.datasets.folder.texts import NoDocument, ReadText

_MOST_PROCESSES = 4
_TOO_MUCH = f"takes more than {MOST_MEMORY / 1e9:g} GB of memory or too long to read"
_PATIENCE_S = 2 * FILE_S
"""Wall time of a file; processor time is counted within the process."""

Parsed = ReadText | NoDocument


def parse_all(files: Mapping[str, tuple[Path, str]]) -> Iterator[tuple[str, Parsed]]:
    """What came of each, as it is done; `files`: path and kind by name."""
    n = max(1, min(_MOST_PROCESSES, _cores(), len(files)))
    processes = [_Process() for _ in range(n)]
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process:
    """A process that reads one file after the other; started when it is needed."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[str] | None = None
        self._has_ended = False

    def parse(self, path: Path, kind: str) -> Parsed:
        """What the file holds. What a process cannot hold that read others before, a fresh one may."""
        was_fresh = self._running is None
        answer = self._ask(path, kind)
        if answer is None and not was_fresh and not self._has_ended:
            answer = self._ask(path, kind)
        if answer is None:
            return NoDocument(_TOO_MUCH)
        return NoDocument(answer["why"]) if "why" in answer else ReadText(**answer)

    def end(self) -> None:
        """Kill it, whatever it is doing, for good."""
        self._has_ended = True
        if running := self._running:
            running.kill()

    def _ask(self, path: Path, kind: str) -> dict[str, Any] | None:
        """None: the process ended over it, and is gone."""
        if self._running is None:
            self._running = _started()
        running = self._running
        watch = threading.Timer(_PATIENCE_S, running.kill)
        watch.daemon = True
        watch.start()
        question = json.dumps({"path": os.fsencode(path).decode("latin-1"), "kind": kind})
        try:
            cast(IO[str], running.stdin).write(question + "\n")
            cast(IO[str], running.stdin).flush()
            answer: dict[str, Any] = json.loads(cast(IO[str], running.stdout).readline())
        except (OSError, ValueError):  # It died, in the middle of a line perhaps.
            answer = {"died": True}
        finally:
            watch.cancel()
        if "died" not in answer:
            return answer
        running.kill()
        with suppress(OSError):
            running.communicate()
        self._running = None
        return None


def _started() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "harness.datasets.folder.parser"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
