"""Reads labels and scores from files."""

import math
from collections import Counter
from pathlib import Path

from harness.core.errors import DataError
from harness.datasets.local_files import ENV, find
from harness.datasets.row_fields import FIX


class MissingLabels:
    """Number of missing labels."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()

    def count(self, what: str) -> None:
        """Count one more of this kind."""
        self._found[what] += 1

    @property
    def notes(self) -> tuple[str, ...]:
        """A line per kind."""
        return tuple(f"{n:,} {what}" for what, n in sorted(self._found.items()))


def labelled_file(relative: str) -> Path:
    """Path of the file, compressed or not; raises DataError, one line, if it is missing."""
    if path := find(relative):
        return path
    what = f"the labelled set is not there: {relative} (or {relative}.gz)"
    raise DataError(what, f"put it into the data folder, and set {ENV} to that folder (docs/validity.md)")


def label_of(value: object, low: float, high: float, where: str) -> float | None:
    """A label within its scale, or None if it is missing; raises DataError, one line, for anything else."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise DataError(f"{where}: the label {str(value)[:40]!r} is not from {low:g} to {high:g}", FIX)
    return number


def score_of(value: object) -> float | None:
    """A stored score; None if the file has none."""
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
