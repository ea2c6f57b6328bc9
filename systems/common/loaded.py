"""What load() opens."""

from typing import TypeVar

T = TypeVar("T")


def loaded(part: T | None) -> T:
    """The part; RuntimeError before load()."""
    if part is None:
        raise RuntimeError("answer() was called before load()")
    return part
