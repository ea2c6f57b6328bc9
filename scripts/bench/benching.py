"""Shared by the benches: measured commands and processes, ways in turn, numbers of the command line."""

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

from harness.core.errors import HarnessError

# So that the benches can import `common`.
sys.path.append(str(Path(__file__).resolve().parents[1] / "research"))

T = TypeVar("T")
HARNESS = str(Path(sys.executable).with_name("rag-harness"))


class Ended(NamedTuple):
    """A command that ended well; it and the child processes that it waited for."""

    printed: str
    wall_s: float
    cpu_s: float
    peak_bytes: float
    """Of the largest of these processes."""


def ended(
    command: Sequence[object], folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> Ended:
    """Run a command in a folder, with these variables besides those of this process; an error ends the bench."""
    words, began = [*map(str, command)], time.monotonic()
    process = subprocess.Popen(
        words, cwd=folder, env={**os.environ, **(variables or {})}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout  # noqa: S101 - a pipe was asked for
    with process.stdout as printed:
        said = printed.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: {' '.join(words[:4])} ... ended with {process.returncode}")
    return Ended(said, wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024.0)


def set_keys(values: Mapping[str, object]) -> list[str]:
    """`--set KEY=VALUE` for each."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def in_own_process(work: Callable[..., T], *given: object) -> T:
    """work(*given) in a new process, whose memory and threads are its own. HarnessError: it was killed."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(work, *given).result()
        except BrokenProcessPool:
            what = f"{work.__name__} ended without a result"
            raise HarnessError(what, "see what it printed above") from None


def in_turn(ways: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """The results of each way, one a round: in turn, so that other load of the machine affects all ways."""
    found: dict[str, list[T]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(way())
    return found


def spread(values: Sequence[float]) -> str:
    """The median, with minimum and maximum if there are several values: `1.20 (1.10 to 1.40)`."""
    around = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{median(values):.2f}{around}"


def counted(text: str) -> int:
    """A count on the command line, at least 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a count: write a number of 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """Seconds on the command line, 0 or more."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write seconds, 0 or more")
    return found
