"""What every script here needs; the helpers of the research scripts are theirs too."""

import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "research"))

from common import command_line, import_from_tests, machine, print_table, started

__all__ = ["command_line", "import_from_tests", "machine", "measured_here", "print_table", "started"]


def measured_here() -> None:
    """Print what the figures below depend on besides the work: when, on what, and how busy it was at the start."""
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {_processor()}, Python {platform.python_version()}, {machine()}",
        flush=True,
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
