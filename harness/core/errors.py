"""Every way a run can go wrong, as one tree.

```
HarnessError              the user can fix it: one line (what and how), exit 2
├── ConfigError           a key, value, name or flag that cannot be
├── DataError             a data directory or file that is missing, truncated or not what it says
├── StoreError            a run directory that is locked, damaged, newer, or not writable
├── ModelUnavailable      a provider, key, server or weight file that is not there
├── ServiceUnavailable    another server that a system needs, such as a graph database, is not there or not fit
├── BudgetReached         what comes next would pass the budget: the run stops before it and stays resumable
└── MissingDependency     an optional package that this choice needs
RunInterrupted            Ctrl-C or SIGTERM: exit 130, the run is resumable
```
A failure of one query is not an exception here: it is a `RunRecord`. Anything else that escapes is a bug
and shows its traceback, exit 1.
"""

import difflib
import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from harness.core.sanitize import cleaned

DISTRIBUTION = "rag-bench-harness"
"""What a package index calls it; the command is `rag-harness`."""
EXIT_DONE, EXIT_BUG, EXIT_USER, EXIT_TOLERANCE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130


def _bounded(text: str) -> str:
    """Both ends of it: what is long is a name that somebody else gave."""
    return text if len(text) <= 2000 else f"{text[:1500]} … {text[-400:]}"


class HarnessError(Exception):
    """Something the user can fix. `what` happened and `fix` are printed as one line, exit 2; whatever they quote,
    no key stands in them and nothing that a terminal obeys.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        what, fix = cleaned(_bounded(what)), cleaned(fix)
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        line = f"{self.what}: {self.fix}" if self.fix else self.what
        return " ".join(line.split())


class ConfigError(HarnessError):
    """A key, value, name or flag that cannot be."""


class DataError(HarnessError):
    """A data directory or file that is missing, truncated or not what it says."""


class StoreError(HarnessError):
    """A run directory that is locked, damaged, newer than this version, or not writable."""


class ModelUnavailable(HarnessError):
    """A provider, key, server or weight file that is not there; the run stops and stays resumable."""


class ServiceUnavailable(HarnessError):
    """Another server that a system needs, such as a graph database: down, refusing the password, too old."""


class BudgetReached(HarnessError):
    """What comes next would pass the budget of the config; what was paid is kept, a larger budget goes on."""

    def __init__(self, what: str, *, usd: float = 0.0, tokens: int = 0) -> None:
        """`usd`, `tokens`: what the call that did not fit may take."""
        super().__init__(what)
        self.usd = usd
        self.tokens = tokens


class MissingDependency(HarnessError):
    """An optional package that this choice needs."""


class RunInterrupted(Exception):
    """Ctrl-C or SIGTERM: nothing already paid for is lost."""


def install(extra: str) -> str:
    """The command that brings what an extra of this distribution lists."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def need(extra: str, *modules: str) -> None:
    """Raise MissingDependency where a module that an extra brings is not installed; quick, it imports nothing."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise MissingDependency(f"{', '.join(missing)} {verb} not installed", install(extra))


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint naming the known word nearest to `name`, or the list of known words."""
    words = sorted(known)
    close = difflib.get_close_matches(name, words, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(words) or 'none'}"


@contextmanager
def explained_io(doing: str, path: Path) -> Iterator[None]:
    """Turn what the operating system refuses (full disk, no permission) into one `StoreError` line."""
    try:
        yield
    except OSError as error:
        reason, fix = _OS_REASONS.get(error.errno or 0, (error.strerror or str(error), "check the path"))
        raise StoreError(f"cannot {doing} {path}: {reason}", fix) from error


def refusal_of_system(error: OSError | MemoryError) -> HarnessError | None:
    """The line for what nobody explained nearer to its cause; None: the user cannot fix it, so it is a bug."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    if number not in _OS_REASONS:
        return None
    reason, fix = _OS_REASONS[number]
    path = getattr(error, "filename", None)
    # A descriptor is a file too, and its number helps nobody.
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
