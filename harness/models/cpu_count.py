"""How many cores there are for this process."""

import os


def usable_cores() -> int:
    """Those it may run on, 1 at least. Not every system can keep a process to some of its cores: there, all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
