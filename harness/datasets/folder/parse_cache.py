"""Parses risky files in processes with limited memory and time, restarts a process that a file has killed, and
caches the results by a hash of the bytes, so that a report of a thousand pages is parsed once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

from harness.core.current_process import usable_cores
from harness.core.errors import DataError
from harness.core.hashing import file_digest, text_digest
from harness.core.process_environment import python_command, python_environment
from harness.datasets.folder.parser_process import FILE_S, MOST_BYTES, MOST_MEMORY
from harness.datasets.folder.text_cleanup import ReadFile, ReadText
from harness.models.weights import cache_dir

_TOO_LARGE = "takes too much memory to read"
_TOO_SLOW = "takes too long to read"
TOO_MUCH = {_TOO_LARGE, _TOO_SLOW}
"""Reasons that depend on this machine, not only on the file."""
_PATIENCE_S = 2 * FILE_S
"""Wall time limit of a file; CPU time is limited within the process."""

Answer = dict[str, Any]
"""What a process says of a file, and what is kept: {"documents": [fields of a ReadText]} or {"why": reason}."""


def parse_all(
    files: Mapping[str, tuple[Path, str]], most_memory: int = MOST_MEMORY
) -> Iterator[tuple[str, Answer]]:
    """Yield the answer for each file when it is ready. `files`: path and kind by name. `most_memory`: bytes
    per process.
    """
    n = max(1, min(4, usable_cores(), len(files)))
    processes = [_Process(most_memory) for _ in range(n)]
    idle: SimpleQueue[_Process] = SimpleQueue()
    for process in processes:
        idle.put(process)

    def parse(path: Path, kind: str) -> Answer:
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


class _Process:
    """A process that parses files one at a time; started on demand."""

    def __init__(self, most_memory: int) -> None:
        self._running: subprocess.Popen[str] | None = None
        self._most_memory = most_memory
        self._has_ended = False

    def parse(self, path: Path, kind: str) -> Answer:
        """Parse a file. If a used process runs out of memory, a fresh one tries again."""
        was_fresh = self._running is None
        answer = self._ask(path, kind)
        if answer == {"why": _TOO_LARGE} and not was_fresh and not self._has_ended:
            answer = self._ask(path, kind)
        return answer

    def end(self) -> None:
        self._has_ended = True
        if running := self._running:
            running.kill()

    def _ask(self, path: Path, kind: str) -> Answer:
        running = self._running = self._running or _started(self._most_memory)
        watch = threading.Timer(_PATIENCE_S, running.send_signal, [signal.SIGALRM])
        watch.daemon = True
        watch.start()
        question = json.dumps({"path": os.fsencode(path).decode("latin-1"), "kind": kind})
        try:
            cast(IO[str], running.stdin).write(question + "\n")
            cast(IO[str], running.stdin).flush()
            answer: Answer = json.loads(cast(IO[str], running.stdout).readline())
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
            running.wait(5)
        except subprocess.TimeoutExpired:
            running.kill()
        cast(IO[str], running.stdout).close()
        return running.wait()


def _started(most_memory: int) -> subprocess.Popen[str]:
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


_VERSION = 7
"""Increase this when the same bytes give another text."""


def parse_or_recall(files: Mapping[str, tuple[Path, str]]) -> Iterator[tuple[str, ReadFile]]:
    """Yield what each file gives when it is ready. `files`: path and kind by name. Known files come from the
    cache; if it cannot be written, files are parsed again.
    """
    if not files:
        return
    by_whom = json.dumps([_VERSION, *map(version, ("lxml", "openpyxl", "pypdf", "python-docx"))])
    keys: dict[str, str] = {}
    for name, (path, kind) in files.items():
        keys[name] = _key(path, f"{by_whom}{kind}")
        if (known := _recalled(keys[name])) is not None:
            del keys[name]
            yield name, known
    for name, answer in parse_all({name: files[name] for name in keys}) if keys else ():
        path, kind = files[name]
        # A file that changed while it was read is not cached, nor what may succeed later or on another machine.
        is_same = keys[name] and keys[name] == _key(path, f"{by_whom}{kind}")
        if is_same and answer.get("why") not in TOO_MUCH:
            _keep(keys[name], json.dumps(answer))
        yield name, _read_file(answer)


def _key(path: Path, how: str) -> str:
    """Hash of the file's bytes and the parser version; empty if it cannot be read or is too large to be parsed."""
    try:
        return "" if path.stat().st_size > MOST_BYTES else text_digest(f"{how}{file_digest(path)}")
    except OSError:
        return ""


def _place(key: str) -> Path:
    return cache_dir() / "documents" / key[:2] / f"{key[2:]}.json"


def _recalled(key: str) -> ReadFile | None:
    try:
        seal, _, text = _place(key).read_text(encoding="utf-8").partition("\n")
        if not key or seal != text_digest(text):
            return None
        return _read_file(json.loads(text))
    except (OSError, ValueError):
        return None


def _read_file(answer: Answer) -> ReadFile:
    if "why" in answer:
        return ReadFile(refused=[("", answer["why"])])
    return ReadFile([ReadText(**one) for one in answer["documents"]])


def _keep(key: str, text: str) -> None:
    place = _place(key)
    with suppress(OSError):  # Full disk or no permission: the file is parsed again.
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            written = Path(work) / place.name
            written.write_text(f"{text_digest(text)}\n{text}", encoding="utf-8")
            written.replace(place)
