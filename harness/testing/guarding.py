"""Runs a process and watches what it writes, connects to, and leaves behind.

The module (`python -m <module> <folder>`) reads `task.json` in the folder and writes `findings.json`.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import psutil
from pydantic import BaseModel

from harness.core.process_environment import python_command

_DIED = 86
"""Exit status of a process that ended itself during its work, like kill -9."""
LONGEST_S = 300.0
"""Longer than any of these processes takes."""
_KEPT = {"PATH", "LANG", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}

T = TypeVar("T", bound=BaseModel)


class Watched(BaseModel):
    connections: list[str] = []
    """Attempts to reach a network address."""
    writes: list[str] = []
    """Files opened for writing, and folders created, outside the allowed folders."""
    left_behind: list[str] = []
    """Files in the home, working and temporary folders at the end."""


F = TypeVar("F", bound=Watched)


def start(
    module: str, task: BaseModel, work: Path, settings: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Run `module` on `task` in a process with empty home, working and temporary folders under `work`.

    It has this process's import path, and `settings` in its environment.
    """
    for folder in (work / "home", work / "cwd", work / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    (work / "task.json").write_text(task.model_dump_json())
    with (work / "log.txt").open("w") as log:
        return subprocess.Popen(
            python_command(module, str(work)),
            cwd=work / "cwd",
            env={**_environment(work), **(settings or {}), "PYTHONSAFEPATH": "1"},
            text=True,
            stdout=log,
            stderr=log,
        )


def finish(process: subprocess.Popen[str], work: Path, findings: type[F]) -> F:
    status = process.wait(timeout=LONGEST_S)
    assert status == 0, f"the process ended with {status}:\n{(work / 'log.txt').read_text()[-4000:]}"
    found = findings.model_validate_json((work / "findings.json").read_text())
    left = [f"{name}/{path}" for name in ("home", "cwd", "tmp") for path in files_below(work / name)]
    return found.model_copy(update={"left_behind": left})


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)


def wait_until_told(process: subprocess.Popen[str], work: Path) -> None:
    wait_until(lambda: process.poll() is not None or (work / "findings.json").exists())


def finish_and_kill(process: subprocess.Popen[str], work: Path, findings: type[F]) -> F:
    """Read the findings as soon as they are written, then kill the process."""
    wait_until_told(process, work)
    ended = process.poll()
    process.kill()
    process.wait()
    assert ended is None, f"the process ended with {ended}:\n{(work / 'log.txt').read_text()[-4000:]}"
    return findings.model_validate_json((work / "findings.json").read_text())


def die() -> NoReturn:
    """End this process at once, without closing or flushing anything."""
    os._exit(_DIED)


def dying(do: Callable[[], None]) -> None:
    """Do it in a forked process, which is expected to die."""
    child = os.fork()
    if not child:
        try:
            do()
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != _DIED:
        raise RuntimeError(f"the process was expected to die, but ended with {status}")


def watched_main(
    task_type: type[T], do: Callable[[T, Callable[[F], None]], None], allowed: Callable[[T], Sequence[Path]]
) -> None:
    """Do the task in the folder on the command line: do(task, tell) calls `tell` once with its findings."""
    work = Path(sys.argv[1])
    task = task_type.model_validate_json((work / "task.json").read_text())
    guard = _Guard([*allowed(task), work / "tmp", work / "findings.part"])
    sys.addaudithook(guard.hear)

    def tell(findings: F) -> None:
        seen = {"connections": list(guard.connections), "writes": list(guard.writes)}
        (work / "findings.part").write_text(findings.model_copy(update=seen).model_dump_json())
        (work / "findings.part").replace(work / "findings.json")

    do(task, tell)


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def still_open(folder: Path, wait_s: float = 5.0, besides: Collection[str] = ()) -> list[str]:
    """Files below `folder` that this process has open, except `besides`, after a short wait for files being
    closed.
    """
    deadline = time.monotonic() + wait_s
    while True:
        paths = Counter(file.path for file in psutil.Process().open_files()) - Counter(besides)
        held = sorted(path for path in paths.elements() if Path(path).is_relative_to(folder))
        if not held or time.monotonic() > deadline:
            return held
        time.sleep(0.02)


def _environment(work: Path) -> dict[str, str]:
    home = work / "home"
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    temporary = {name: str(work / "tmp") for name in ("TMPDIR", "TEMP", "TMP")}
    kept = {key: value for key, value in os.environ.items() if key in _KEPT}
    return {
        **kept,
        **places,
        **temporary,
        "HOME": str(home),
        # With another home, Python would search for user packages elsewhere.
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),  # noqa: PTH100 - "" is here
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class _Guard:
    """Records every connection and every file opened for writing in Python; rejects the connections."""

    def __init__(self, allowed: Sequence[Path]) -> None:
        self._allowed = [str(path) for path in allowed]
        self.connections: list[str] = []
        self.writes: list[str] = []

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.sendto", "socket.getaddrinfo"}:
            address = str(args[1] if event != "socket.getaddrinfo" else args[0])
            self.connections.append(address)
            raise PermissionError(f"a plug-in under test may not reach the network: {address}")
        if event in {"os.mkdir", "sqlite3.connect"} or (event == "open" and _is_writing(args[1], args[2])):
            self._note(args[0])

    def _note(self, path: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor: its opening was recorded
        if str(path).endswith("?immutable=1"):
            return  # an SQLite file that is neither written nor locked
        full = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - resolve() would itself look at files
        if not any(full == place or full.startswith(place + os.sep) for place in (*self._allowed, "/dev")):
            self.writes.append(full)


def _is_writing(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
