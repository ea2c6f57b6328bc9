"""95 % confidence intervals. Nothing here depends on the order of the values or on the clock.

- proportions (every value 0 or 1): Wilson's score interval (Wilson 1927), as Newcombe (1998) writes it;
- other means: percentile bootstrap (Efron & Tibshirani 1993), 2,000 resamples, seeded;
- weighted means over strata: for proportions Wilson's limits combined by the square-and-add rule (Newcombe 1998;
  Zou & Donner 2008), since a bootstrap of strata that are all right or all wrong would claim certainty; otherwise
  the bootstrap within each stratum;
- quantiles: between two order statistics, exact by the binomial distribution (as scipy's `quantile_test`).

Samples of one size are resampled by the same draws, so many of them together cost little more than one: ask for
the intervals of many columns in one call.

No values: None. One value that is no proportion says nothing about spread: None too. Equal values give a bootstrap
interval of width zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from harness.errors import MissingDependency, install

LEVEL = 0.95
RESAMPLES = 2_000
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_Z = 1.959963984540054
"""The normal quantile of the upper tail."""
_BLOCK = 131_072
"""Draws at a time: they fit into a core's cache."""
_SEED = 0

Floats = Sequence[float]
Array = NDArray[np.float64]
T = TypeVar("T")


class Interval(NamedTuple):
    """Lower and upper limit; None for a limit that so few values cannot give."""

    low: float | None
    high: float | None


UNKNOWN = Interval(None, None)


class Stratum(NamedTuple):
    """One part of a weighted mean. Weights are relative: they need not sum to 1."""

    weight: float
    values: Floats


def wilson(successes: int, n: int) -> Interval:
    """Wilson's score interval of a proportion; `UNKNOWN` for n = 0."""
    if n == 0:
        return UNKNOWN
    share = successes / n
    scale = 2 * (n + _Z**2)
    centre = (2 * n * share + _Z**2) / scale
    half = _Z / scale * sqrt(4 * n * share * (1 - share) + _Z**2)
    return Interval(0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


def bootstrap_mean(values: Floats) -> Interval:
    """Percentile bootstrap interval of a mean; `UNKNOWN` for fewer than two values."""
    return bootstrap_means([values])[0]


def bootstrap_means(columns: Sequence[Floats]) -> list[Interval]:
    """`bootstrap_mean` of each column."""
    return _bootstrapped([[Stratum(1.0, values)] for values in columns])


def mean_intervals(columns: Sequence[Floats], *, proportions: bool) -> list[Interval]:
    """Of each column Wilson's where `proportions` are asked for and every value is 0 or 1, else the bootstrap."""
    binary = [proportions and _all_binary(values) for values in columns]
    graded = iter(bootstrap_means(_others(columns, binary)))
    return [
        wilson(round(sum(values)), len(values)) if is_share else next(graded)
        for values, is_share in zip(columns, binary, strict=True)
    ]


def weighted_mean(strata: Sequence[Stratum]) -> float:
    """The mean of the strata's means by their weights; every stratum must hold a value."""
    total = sum(stratum.weight for stratum in strata)
    return sum(stratum.weight / total * float(np.mean(stratum.values)) for stratum in strata)


def weighted_mean_intervals(means: Sequence[Sequence[Stratum]], *, proportions: bool) -> list[Interval]:
    """The interval of each `weighted_mean`, see above; `UNKNOWN` where a stratum is too small to give one."""
    binary = [proportions and all(_all_binary(stratum.values) for stratum in strata) for strata in means]
    graded = iter(_bootstrapped(_others(means, binary)))
    return [
        _square_and_add(strata) if is_share else next(graded)
        for strata, is_share in zip(means, binary, strict=True)
    ]


def quantile_interval(values: Floats, p: float) -> Interval:
    """The order-statistic interval of the `p` quantile; None for a limit beyond the smallest or largest value."""
    if not values:
        return UNKNOWN
    ordered = sorted(values)
    low, high = _order_statistics(len(ordered), p)
    return Interval(
        ordered[low] if low >= 0 else None,
        ordered[high] if high < len(ordered) else None,
    )


@lru_cache(maxsize=512)
def _order_statistics(n: int, p: float) -> tuple[int, int]:
    """The places of the two values, from 0; -1 and `n` where there is none."""
    try:
        from scipy import special
    except ImportError as error:
        raise MissingDependency("confidence intervals need scipy", install("report")) from error
    tail, counts = _TAILS[0], np.arange(n + 1)
    low = int(np.argmax(special.bdtr(counts, n, p) >= tail)) - 1
    return low, int(np.argmax(special.bdtrc(counts, n, p) <= tail))


def percentiles(means: Array) -> Interval:
    """The interval that holds `LEVEL` of these bootstrap means."""
    low, high = np.quantile(means, _TAILS)
    return Interval(float(low), float(high))


def _square_and_add(strata: Sequence[Stratum]) -> Interval:
    total = sum(stratum.weight for stratum in strata)
    mean, below, above = 0.0, 0.0, 0.0
    for weight, values in strata:
        share, proportion = weight / total, float(np.mean(values))
        low, high = wilson(round(sum(values)), len(values))
        if low is None or high is None:
            return UNKNOWN
        mean += share * proportion
        below += (share * (proportion - low)) ** 2
        above += (share * (high - proportion)) ** 2
    return Interval(mean - sqrt(below), mean + sqrt(above))


def _bootstrapped(means: Sequence[Sequence[Stratum]]) -> list[Interval]:
    """The interval of each weighted mean; `UNKNOWN` where a stratum has fewer than two values."""
    found = [UNKNOWN] * len(means)
    alike: dict[tuple[int, ...], list[tuple[int, _Sample]]] = {}
    for place, strata in enumerate(means):
        if all(len(stratum.values) > 1 for stratum in strata):
            sample = _Sample.of(strata)
            alike.setdefault(tuple(len(one) for one in sample.columns), []).append((place, sample))
    for sizes, members in alike.items():
        resampled = _resampled(sizes, [sample for _, sample in members])
        for (place, _), own in zip(members, resampled, strict=True):
            found[place] = percentiles(own)
    return found


class _Sample(NamedTuple):
    """A weighted mean, ready to be resampled."""

    certain: float
    """What strata without spread add to it."""
    shares: tuple[float, ...]
    """Of each other stratum: its share of the weights."""
    columns: tuple[Array, ...]
    """Its values, sorted, so that the order of the queries does not move the interval."""

    @classmethod
    def of(cls, strata: Sequence[Stratum]) -> _Sample:
        total = sum(stratum.weight for stratum in strata)
        ordered = [(stratum.weight / total, np.sort(np.asarray(stratum.values, np.float64))) for stratum in strata]
        certain = sum(share * float(values[0]) for share, values in ordered if values[0] == values[-1])
        spread = [(share, values) for share, values in ordered if values[0] != values[-1]]
        return cls(certain, tuple(share for share, _ in spread), tuple(values for _, values in spread))


def _resampled(sizes: Sequence[int], samples: Sequence[_Sample]) -> Array:
    """A row of bootstrap means for each sample; `sizes` are those of the strata, the same in all of them."""
    rng = np.random.default_rng(_SEED)
    means = np.tile(np.array([[sample.certain] for sample in samples], np.float64), RESAMPLES)
    for place, size in enumerate(sizes):
        columns = np.stack([sample.columns[place] for sample in samples], axis=1)
        shares = np.array([[sample.shares[place]] for sample in samples])
        for start, counts in _draws(size, rng):
            means[:, start : start + len(counts)] += shares * ((counts @ columns) / size).T
    return means


def _draws(size: int, rng: np.random.Generator) -> Iterator[tuple[int, Array]]:
    """How often each of `size` values is drawn, a row for each resample; in blocks, to bound the memory."""
    step = max(1, _BLOCK // size)
    for start in range(0, RESAMPLES, step):
        rows = min(step, RESAMPLES - start)
        drawn = rng.integers(size, size=(rows, size), dtype=np.int32)
        places = drawn + np.arange(0, rows * size, size, dtype=np.int64)[:, None]
        counts = np.bincount(places.ravel(), minlength=rows * size)
        yield start, counts.reshape(rows, size).astype(np.float64)


def _others(given: Sequence[T], left_out: Sequence[bool]) -> list[T]:
    return [one for one, is_out in zip(given, left_out, strict=True) if not is_out]


def _all_binary(values: Floats) -> bool:
    return all(value in {0.0, 1.0} for value in values)
