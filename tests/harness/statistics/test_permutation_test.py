"""Flips of signs: against every flip by hand, against McNemar, and how often they are wrong."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.confidence_intervals import UNKNOWN, Interval
from harness.statistics.permutation_test import flip_test, flips_of, hidden_variance

GRADES = [-1.0, -0.5, -0.25, 0.0, 0.0, 0.25, 0.5, 1.0]


def excludes_0(interval: Interval) -> bool:
    low, high = interval
    return (low is not None and low > 0) or (high is not None and high < 0)


def every_flip(values: Sequence[float], weights: Sequence[float]) -> float:
    """Twice the smaller tail of the weighted sum over all flips, one by one."""
    terms = np.array(values) * np.array(weights)
    sums = np.array(list(itertools.product([1, -1], repeat=len(terms)))) @ terms
    seen = terms.sum()
    tails = min(np.mean(sums >= seen - 1e-9), np.mean(sums <= seen + 1e-9))
    return float(min(1.0, 2 * tails))


@given(
    st.lists(st.tuples(st.sampled_from(GRADES), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=9),
)
@settings(max_examples=40, deadline=None)
def test_few_units_are_flipped_in_every_way(rows: list[tuple[float, float]]) -> None:
    values, weights = zip(*rows, strict=True)
    flipped = flips_of(np.array(values)[:, None], np.array(weights))
    none = flipped.n_flips - len(flipped.means)
    tails = none + min((flipped.means <= 0).sum(), (flipped.means >= 0).sum())
    assert min(1.0, 2 * tails / flipped.n_flips) == pytest.approx(every_flip(values, weights))
    assert flip_test(values, weights).p >= every_flip(values, weights) - 1e-12


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_6_units_give_no_limit_and_no_difference(n: int) -> None:
    found = flip_test([0.1 * (place + 1) for place in range(n)])
    assert found.interval == UNKNOWN
    assert found.p > 0.05


@given(
    st.lists(
        st.tuples(st.sampled_from(GRADES), st.sampled_from([0.25, 1.0, 2.0]), st.integers(0, 30)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([0.05, 0.05 / 3, 0.05 / 36]),
)
@settings(max_examples=60, deadline=None)
def test_the_interval_excludes_0_exactly_where_p_is_at_most_its_level(
    rows: list[tuple[float, float, int]], alpha: float
) -> None:
    values, weights, clusters = (np.array(column) for column in zip(*rows, strict=True))
    flipped = flips_of(values[:, None], weights, clusters)
    (p,) = flipped.p_values
    assert excludes_0(flipped.interval(0, alpha)) == (p <= alpha)


def test_a_cluster_for_every_query_is_no_cluster_and_one_for_all_shows_nothing() -> None:
    values = np.random.default_rng(5).choice(GRADES, size=50) + 0.5
    alone, together = np.arange(50), np.zeros(50, dtype=int)
    assert flip_test(values, clusters=alone.tolist()) == flip_test(values)
    assert flip_test(values, clusters=together.tolist()) == (1.0, UNKNOWN)


DIFFERENCES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "graded": lambda rng, n: rng.choice(GRADES, size=n),
    "skewed": lambda rng, n: rng.lognormal(size=n) - np.exp(0.5),
    "mostly 0": lambda rng, n: rng.choice([0.5, -0.25, 0.0], p=[0.1, 0.2, 0.7], size=n),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DIFFERENCES)
def test_equal_means_are_rarely_called_different_whatever_their_shape(kind: str) -> None:
    rng, cases = np.random.default_rng(11), 300
    columns = np.stack([DIFFERENCES[kind](rng, 40) for _ in range(cases)], axis=1)
    rejected = np.mean(np.array(flips_of(columns).p_values) <= 0.05)
    assert rejected <= stats.binom.ppf(0.99, cases, 0.08) / cases


def test_a_type_of_which_few_queries_stand_for_many_makes_nobody_better() -> None:
    # Equal in the mix: better on a third of the data set, of which the two queries at hand show nothing.
    differences = np.array([0.0] * 2 + [-1.0] * 14 + [0.0] * 286)
    weights = [0.32 / 2] * 2 + [0.68 / 300] * 300
    assert flip_test(differences, weights).p > 0.05
    low, high = flip_test(differences, weights).interval
    assert low is not None
    assert high is not None
    assert low < 0.0 < high


def test_each_of_two_types_of_one_weight_may_hide_half_a_difference_more() -> None:
    """Three types of 300 queries each in the data set, of which 2, 2 and 20 are at hand."""
    types = np.repeat([0, 1, 2], [2, 2, 20])
    weights, differences = np.repeat([150.0, 150.0, 15.0], [2, 2, 20]), np.ones((24, 1))
    pooled = np.repeat([0, 0, 1], [2, 2, 20])
    of_each = hidden_variance(differences, weights, types)
    assert of_each == pytest.approx((2 * 150**2 + 15**2) / 900**2)
    assert hidden_variance(differences, weights) == pytest.approx((150**2 + 15**2) / 900**2)
    seen = np.array([1.0] * 20 + [0.0] * 4)[:, None]
    told, undecided = (flips_of(seen, weights, types=own).studentized.errors for own in (types, pooled))
    assert told > undecided


def test_types_of_which_each_query_stands_for_as_many_hide_nothing() -> None:
    assert not hidden_variance(np.ones((6, 1)), np.full(6, 2.0), np.repeat([0, 1], 3)).any()
