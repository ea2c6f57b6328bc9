"""Shared by the benches: machine, tables, JSON file; also exports the helpers of the research scripts."""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from harness.runner.machine_info import describe_machine, git_commit

sys.path.append(str(Path(__file__).resolve().parents[1] / "research"))

from common import command_line, import_from_tests, machine, print_table, started

__all__ = [
    "add_json",
    "command_line",
    "ended",
    "import_from_tests",
    "keep_json",
    "machine",
    "print_table",
    "said_of_machine",
    "spread",
    "started",
]


def said_of_machine() -> str:
    """The machine, its load and the time of measurement."""
    machine = describe_machine()
    return (
        f"{machine['processor']}, {machine['cores']} cores, load {os.getloadavg()[0]:.1f}, "
        f"Python {machine['python']}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    )


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


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json FILE`."""

    def place(text: str) -> Path:
        # Fail before anything is measured.
        if not (path := Path(text)).parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {path.parent}: create it first")
        return path

    parser.add_argument("--json", type=place, help="also write the measurements to this file")


def keep_json(path: Path | None, measured: Mapping[str, Any]) -> None:
    """Write the measurements, with the machine and the commit, if a path is given."""
    if path is None:
        return
    about = {"machine": describe_machine(), "commit": git_commit(), "at": datetime.now(UTC).isoformat()}
    path.write_text(json.dumps({**about, **measured}, indent=1) + "\n", encoding="utf-8")


def ended(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> tuple[str, float]:
    """(standard output, CPU seconds of the command and of the child processes that it waited for)."""
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout  # noqa: S101 - a pipe was asked for
    with process.stdout as printed:
        said = printed.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: {' '.join(command[:4])} ... ended with {process.returncode}")
    return said, usage.ru_utime + usage.ru_stime
