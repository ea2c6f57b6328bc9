"""Commands in environments unlike a developer's. Each is forked from a process that has loaded the commands,
because loading takes most of the time.
"""

import ctypes
import multiprocessing
import os
import pty
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

_CLONE_NEWUSER = 0x10000000
_CAPABILITY_VERSION_3 = 0x20080522
NOBODY = 65534
UNKNOWN_UID = 12345
LIMIT_S = 120

Setup = Callable[[str], object]


def nothing(_folder: str) -> None:
    """Change nothing."""


@dataclass(frozen=True)
class Environment:
    """Differences from a plain environment. `{here}` in a text is the folder of the command."""

    variables: Mapping[str, str | None] = field(default_factory=dict)
    """None: unset."""
    folder: str = "here"
    """Name of the folder that contains everything."""
    relative: bool = False
    """Files are named relative to that folder."""
    prepare: Setup = nothing
    """Changes the folder before the command starts."""
    become: Setup = nothing
    """Changes the process before the command starts; other processes find the function by name."""
    stdout: str = "file"
    """Also `closed`, `broken pipe`, or a path."""
    stderr: str = "file"
    is_terminal: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Parts of the command line."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int | None
    stdout: str
    stderr: str

    @property
    def wrong(self) -> str:
        """Violations of what must always hold; empty: none."""
        shown = self.stdout + self.stderr
        is_told = self.code != 2 or "rror: " in shown or "missing" in shown or not self.stderr
        if self.code in {0, 2, 3} and is_told and "Traceback" not in shown and "Exception ignored" not in shown:
            return ""
        return f"exit {self.code}: {shown[-600:]}"


class LoadedCommands:
    """A process with loaded commands that forks each call."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["harness.cli.main", *_modules(), "environments"])

    def call(self, words: list[str], folder: str, around: Environment, io: Path) -> Ended:
        """Run a command there; `io` stores its output."""
        printed = {name: io / name for name in ("stdout", "stderr")}
        for path in printed.values():
            path.write_text("")
        shown, terminal = pty.openpty()
        if around.is_terminal:
            around = replace(around, stdout=os.ttyname(terminal), stderr=os.ttyname(terminal))
        process = self._context.Process(
            target=_run, args=(words, folder, replace(around, prepare=nothing), str(io))
        )
        process.start()
        os.set_blocking(shown, False)
        deadline, typed = time.monotonic() + LIMIT_S, b""
        while process.exitcode is None and time.monotonic() < deadline:
            process.join(0.02)
            with suppress(BlockingIOError):
                typed += os.read(shown, 65536)
        if process.exitcode is None:
            process.kill()
            process.join()
        os.close(terminal)
        os.close(shown)
        texts = {name: path.read_text(errors="replace") for name, path in printed.items()}
        return Ended(process.exitcode, texts["stdout"] + typed.decode(errors="replace"), texts["stderr"])


def live_as(uid: int) -> None:
    """Continue as that user of a new namespace that owns this user's files, without privileges."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER):
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{uid} {group} 1")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")


def unprivileged(_folder: str) -> None:
    """File permissions do not apply to root."""
    if os.geteuid() == 0:
        live_as(NOBODY)


def without_name(_folder: str) -> None:
    """A user unknown to the system, as in a container."""
    live_as(UNKNOWN_UID)


def without_its_folder(folder: str) -> None:
    """The current folder is deleted."""
    gone = Path(folder, "gone")
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()


def with_few_files(_folder: str) -> None:
    """A limit on open files, most of which libraries and streams need."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))


def with_small_files(_folder: str) -> None:
    """A limit on the size of files."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def can_live_as_others() -> bool:
    """Whether this machine allows `live_as`."""
    process = multiprocessing.get_context("fork").Process(target=live_as, args=(NOBODY,))
    with suppress(OSError):
        process.start()
        process.join()
    return process.exitcode == 0


def _modules() -> list[str]:
    commands = Path(__file__).parents[2] / "harness" / "cli"
    return [f"harness.cli.{path.stem}" for path in sorted(commands.glob("*.py")) if path.stem != "__init__"]


def _run(words: list[str], folder: str, around: Environment, io: str) -> None:
    """In the forked process."""
    os.setsid()
    os.chdir(folder if around.relative else Path(folder).parent)
    _connect(around, io)
    for name, value in around.variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value.replace("{here}", folder)
    time.tzset()
    tempfile.tempdir = None
    around.become(folder)
    sys.argv = ["rag-harness", *words]
    os._exit(_ended_with())


def _ended_with() -> int:
    """The exit code of the command, as Python ends with it."""
    from harness.cli.main import main

    try:
        main()
        code: Any = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        code = 120
    return code if isinstance(code, int) else 1


def _connect(around: Environment, io: str) -> None:
    """Connect the standard streams as at the start of Python."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        how = getattr(around, name)
        os.dup2(_opened(how, f"{io}/{name}"), number)
        stream = None
        if how == "closed":
            os.close(number)
        else:
            stream = os.fdopen(number, "w", buffering=1 if number == 2 else -1, closefd=False)
            stream.reconfigure(errors="backslashreplace" if number == 2 else "strict")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = os.fdopen(0, closefd=False)


def _opened(how: str, path: str) -> int:
    if how == "broken pipe":
        reads, writes = os.pipe()
        os.close(reads)
        return writes
    is_file = how in {"file", "closed"}
    return os.open(path if is_file else how, os.O_WRONLY | (os.O_CREAT | os.O_TRUNC if is_file else 0))
