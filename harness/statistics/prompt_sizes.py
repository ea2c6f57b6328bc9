"""The one size, of a prompt or of a ranking, at which systems with contexts of different length are compared."""

from collections.abc import Iterable


def equal_size(medians: Iterable[float], sizes: Iterable[float]) -> float | None:
    """The largest of `sizes` that every median reaches; None where the smallest reaches none.

    `medians`: of how much each system's generator saw, such as characters. At a larger size the smallest system
    would be compared at a prompt that it never had.
    """
    smallest = min(medians, default=0.0)
    return max((size for size in sizes if size <= smallest), default=None)
