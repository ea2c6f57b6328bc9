"""The number of CPU cores for this process."""

import os


def usable_cores() -> int:
    """The cores it may use, at least 1. All cores on systems without CPU affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
