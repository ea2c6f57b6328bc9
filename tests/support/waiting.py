"""Waits for what another thread or process does."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(holds: Callable[[], T | None], within_s: float = 120.0) -> T:
    """What it returns once that is true. AssertionError if it never is."""
    ends = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < ends, "it never became true"
        time.sleep(0.01)
    return found
