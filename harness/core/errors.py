"""The errors of the harness as one tree.

```
HarnessError              the user can fix it: one line (what and how), exit 2
├── ConfigError           a wrong key, value, name or option
├── DataError             a data directory or file that is missing, truncated or invalid
├── StoreError            a run directory that is locked, damaged, newer, or not writable
├── ModelUnavailable      a missing provider, key, server or weight file
├── ServiceUnavailable    another server that a system needs, such as a graph database, is missing or unsuitable
├── BudgetExhausted       the next step would exceed the budget: the run stops before it and can be resumed
└── MissingDependency     an optional package that this choice needs
RunInterrupted            Ctrl-C or SIGTERM: exit 130, the run can be resumed
```
The failure of a single query is not an exception: it is a `RunRecord`. Any other exception that escapes is a bug
and shows its traceback, exit 1.
"""

import difflib
import errno
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from harness.core.sanitize import cleaned

DISTRIBUTION = "rag-bench-harness"
"""Name on the package index; the command is `rag-harness`."""
EXIT_DONE, EXIT_BUG, EXIT_USER, EXIT_TOLERANCE, EXIT_BUDGET, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
EXIT_GATE_FAILED, EXIT_UNDERPOWERED = 5, 6
EXIT_CODES = {
    EXIT_DONE: "done; if a budget ended it, over what all systems answered",
    EXIT_BUG: "a bug, with its traceback",
    EXIT_USER: "an error that you can fix: one line says what and how",
    EXIT_TOLERANCE: "done, but more failed than runner.failure_tolerance allows",
    EXIT_BUDGET: "stopped at the budget; the last line says how to resume",
    EXIT_GATE_FAILED: "gate: the run breaks a condition",
    EXIT_UNDERPOWERED: "gate: too few queries to decide a condition, and none is broken",
    EXIT_INTERRUPTED: "interrupted; the same command resumes",
}
"""What each exit code means; printed by `--help`."""


class HarnessError(Exception):
    """A problem that the user can fix: what happened and how to fix it, printed as one line. Keys and control
    characters are removed from both.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        # Long texts are usually names given by others.
        bounded = what if len(what) <= 2000 else f"{what[:1500]} … {what[-400:]}"
        what, fix = cleaned(bounded), cleaned(fix)
        super().__init__(what, fix)
        self.what, self.fix = what, fix

    def __str__(self) -> str:
        line = f"{self.what}: {self.fix}" if self.fix else self.what
        return " ".join(line.split())


class ConfigError(HarnessError): ...


class DataError(HarnessError): ...


class StoreError(HarnessError):
    """A run directory that is locked, damaged, of another schema, or not writable."""


class ModelUnavailable(HarnessError):
    """A missing provider, key, server or weight file. The run stops and can be resumed."""


class NoLogprobs(ModelUnavailable):
    """No log probabilities. `refused`: the server rejects the parameter, so no reply has any; otherwise one reply
    came without them.
    """

    def __init__(self, what: str, fix: str = "", *, refused: bool = False) -> None:
        super().__init__(what, fix)
        self.refused = refused


class ServiceUnavailable(HarnessError):
    """Another server that a system needs, such as a graph database: down, password refused, too old."""


class BudgetExhausted(HarnessError):
    """The next step would exceed the budget. Paid results are kept; a larger budget resumes the run."""

    def __init__(self, what: str, *, usd: float = 0.0, tokens: int = 0) -> None:
        """`usd`, `tokens`: the most that the rejected call could have cost."""
        super().__init__(what)
        self.usd, self.tokens = usd, tokens


class MissingDependency(HarnessError): ...


class RunInterrupted(Exception):
    """Ctrl-C or SIGTERM. Everything already paid for is kept."""


def install(extra: str) -> str:
    """The command that installs an extra of this distribution where this process runs."""
    own = Path(sys.prefix) / "bin" / "pip"
    found = shutil.which("pip")
    if not own.exists() or (found and Path(found).resolve().parent == own.parent.resolve()):
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    # The pip of a virtual environment that is not activated: another pip would install elsewhere.
    with suppress(OSError, ValueError):  # Of a deleted current folder, and of one elsewhere.
        own = own.relative_to(Path.cwd())
    return f"{shlex.quote(str(own))} install '{DISTRIBUTION}[{extra}]'"


def need(extra: str, *modules: str) -> None:
    """Raise MissingDependency if a module of an extra is not installed. Fast, because nothing is imported."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise MissingDependency(f"{', '.join(missing)} {verb} not installed", install(extra))


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the known word nearest to `name`, or with 20 of the known words."""
    words = sorted(known)
    close = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    more = f" and {len(words) - 20} more" if len(words) > 20 else ""
    return f"known: {', '.join(words[:20]) or 'none'}{more}"


def nearest_file(path: Path, otherwise: str) -> str:
    """A hint with the name nearest to a missing file or folder, in the folder where it was looked for."""
    try:
        names = [one.name for one in path.parent.iterdir()]
    except (OSError, ValueError):
        names = []
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.7)
    return f"did you mean '{path.parent / close[0]}'?" if close else otherwise


@contextmanager
def explained_io(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError (full disk, no permission) into a `StoreError` of one line."""
    try:
        yield
    except OSError as error:
        reason, fix = _OS_REASONS.get(error.errno or 0, (error.strerror or str(error), "check the path"))
        raise StoreError(f"cannot {doing} {path}: {reason}", fix) from error


def refusal_of_system(error: OSError | MemoryError) -> HarnessError | None:
    """A HarnessError for an unhandled system error; None if the user cannot fix it, so that it is a bug."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    if number not in _OS_REASONS:
        return None
    reason, fix = _OS_REASONS[number]
    path = getattr(error, "filename", None)
    # The number of a file descriptor would not help the user.
    named = "" if path is None or isinstance(path, int) else f" {os.fsdecode(path)}"
    return StoreError(f"cannot use{named}: {reason}" if named else reason, fix)


_RESUME = "then run the same command again, it resumes"
_OS_REASONS = {
    errno.ENOSPC: ("no space left on the disk", f"free some space, {_RESUME}"),
    errno.EDQUOT: ("the disk quota is used up", f"free some space, {_RESUME}"),
    errno.EFBIG: ("the file size limit is reached", f"raise the limit (ulimit -f), {_RESUME}"),
    errno.EACCES: ("permission denied", "make it writable or choose another folder"),
    errno.EPERM: ("not permitted", "make it writable or choose another folder"),
    errno.EROFS: ("the file system is read-only", "choose another folder"),
    errno.ENOTDIR: ("a part of the path is a file", "choose another folder"),
    errno.EEXIST: ("a file of that name is in the way", "choose another folder"),
    errno.EIO: ("input/output error", f"check the disk, {_RESUME}"),
    errno.ELOOP: ("it is a link", "put the file itself there"),
    errno.ENOENT: ("No such file or directory", "check the path, the current folder and TMPDIR"),
    errno.EISDIR: ("it is a folder", "name a file"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
    errno.EMFILE: ("too many open files", f"raise the limit (ulimit -n), {_RESUME}"),
    errno.ENFILE: ("too many open files on this machine", f"close some programs, {_RESUME}"),
    errno.ENOMEM: ("not enough memory", f"raise the limit (ulimit -v) or free some, {_RESUME}"),
    errno.EAGAIN: ("too many processes or threads", f"raise the limit (ulimit -u), {_RESUME}"),
}
