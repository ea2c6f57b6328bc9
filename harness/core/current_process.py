"""Facts about this process from the operating system: memory, time, user, usable cores, suspension."""

import getpass
import os
import re
import resource
import signal
import sys
import threading
import time
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def user_name() -> str | None:
    """The login name; None if the system has no name for the user, as in containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # OSError from Python 3.13 on.
        return None


def peak_rss_bytes() -> int:
    """Peak resident memory of this process since its program started. Not `ru_maxrss` on Linux, which a new
    program inherits from its parent, such as a large notebook.
    """
    if _STATUS.exists() and (peak := _PEAK.search(_STATUS.read_text())):
        return 1024 * int(peak[1])
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


_LONGEST_START_S = 60.0


def start_up_s() -> float:
    """Seconds since this process started; 0 after more than a minute: then a program calls the command."""
    import psutil

    age_s = time.time() - psutil.Process().create_time()
    return age_s if 0 <= age_s <= _LONGEST_START_S else 0.0


_CONTINUED = {signal.SIGCONT}
_counting = threading.Lock()
_stops = 0


def count_stops() -> None:
    """Start counting how often this process is suspended (SIGSTOP, Ctrl-Z). Call it before any thread starts."""
    # A blocked signal stays pending until queried. A handler may run in another thread, after the first answers.
    signal.pthread_sigmask(signal.SIG_BLOCK, _CONTINUED)


def n_stops() -> int:
    """How often this process was suspended since `count_stops`."""
    global _stops  # noqa: PLW0603 - there is one process
    with _counting:
        if signal.SIGCONT in signal.sigpending():
            signal.sigwait(_CONTINUED)
            _stops += 1
        return _stops


class Stopwatch:
    def __init__(self) -> None:
        self._began, self._cpu, self._n_stops = time.monotonic(), time.process_time(), n_stops()

    @property
    def wall_s(self) -> float | None:
        """Wall time; None if the process was suspended, for an unknown time."""
        return None if n_stops() != self._n_stops else time.monotonic() - self._began

    @property
    def cpu_s(self) -> float:
        return time.process_time() - self._cpu


def usable_cores() -> int:
    """The cores it may use, at least 1. All cores on systems without CPU affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
