"""Hardware, package versions and commit of a run. They are recorded, and not part of the run id."""

import platform
import subprocess
from collections.abc import Mapping
from email import message_from_string
from email.message import Message
from functools import lru_cache
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import psutil

from harness.core.current_process import usable_cores


def describe_machine() -> dict[str, Any]:
    """Processor, usable cores, RAM and operating system, without host or user name."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": usable_cores(),
        "ram_bytes": psutil.virtual_memory().total,
    }


@lru_cache(maxsize=1)
def package_versions() -> Mapping[str, str]:
    """Name -> version of every distribution that was installed at the first call."""
    heads = map(_short_metadata, distributions())
    return dict(sorted((head["Name"], head["Version"]) for head in heads if head["Name"]))


def _short_metadata(found: Distribution) -> Message:
    """The metadata without the description, which is long and slow to parse."""
    text = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""
    return message_from_string(text.partition("\n\n")[0])


def git_commit() -> str:
    """The commit of the checkout, with `-dirty` if it has changes. Empty outside a checkout."""
    here = Path(__file__).resolve().parent
    try:
        commit = _git(here, "rev-parse", "HEAD")
        changes = _git(here, "status", "--porcelain", "--untracked-files=no")
        return f"{commit}-dirty" if changes else commit
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *words: str) -> str:
    # Without locks, `git status` never writes to the checkout, even if it is killed.
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(folder), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
