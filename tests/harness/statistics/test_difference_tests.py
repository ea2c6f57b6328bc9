"""Flips of signs: against every flip by hand, against McNemar, and how often they are wrong."""

import itertools
from collections.abc import Callable, Sequence
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from records import known
from scipy import stats

from harness.statistics.confidence_intervals import UNKNOWN, Interval
from harness.statistics.difference_tests import ALPHA, holm, holm_levels, mcnemar_p, share_difference_interval
from harness.statistics.permutation_test import flips_of, hidden_variance

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
    assert flipped.p_values[0] >= every_flip(values, weights) - 1e-12


@pytest.mark.parametrize("n", range(1, 6))
def test_fewer_than_6_units_give_no_limit_and_no_difference(n: int) -> None:
    found = flips_of(np.array([[0.1 * (place + 1)] for place in range(n)]))
    assert found.interval(0) == UNKNOWN
    assert found.p_values[0] > 0.05


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

    def tested(clusters: NDArray[np.int64] | None) -> tuple[list[float], Interval]:
        flipped = flips_of(values[:, None], clusters=clusters)
        return flipped.p_values, flipped.interval(0)

    assert tested(np.arange(50)) == tested(None)
    assert tested(np.zeros(50, np.int64)) == ([1.0], UNKNOWN)


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
    flipped = flips_of(differences[:, None], np.array([0.32 / 2] * 2 + [0.68 / 300] * 300))
    assert flipped.p_values[0] > 0.05
    low, high = flipped.interval(0)
    assert known(low) < 0.0 < known(high)


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


# Tests and intervals of differences: hand-worked values, published limits, coverage.


def test_mcnemar_of_5_against_15_by_hand() -> None:
    by_hand = 2 * sum(comb(20, k) for k in range(6)) / 2**20
    assert by_hand == pytest.approx(0.0414, abs=0.00005)
    assert mcnemar_p(5, 15) == pytest.approx(by_hand, rel=1e-12)
    assert mcnemar_p(15, 5) == mcnemar_p(5, 15)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_the_level_of_a_pair_is_that_of_the_step_that_decided_it() -> None:
    # 0.01 <= 0.05 / 3 is rejected; 0.03 > 0.05 / 2 is not, and neither is what comes after it.
    assert holm_levels([0.01, 0.04, 0.03]) == pytest.approx([0.05 / 3, 0.05 / 2, 0.05 / 2])
    assert holm_levels([0.2]) == [ALPHA]
    # Equal ones are decided together.
    assert holm_levels([0.001, 0.04, 0.001]) == pytest.approx([0.05 / 3, 0.05, 0.05 / 3])


@given(st.lists(st.sampled_from([0.001, 0.004, 0.01, 0.016, 0.02, 0.03, 0.05, 0.2]), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_p_is_at_most_its_level_exactly_where_holm_rejects(p_values: list[float]) -> None:
    for p, after, level in zip(p_values, holm(p_values), holm_levels(p_values), strict=True):
        assert (p <= level * (1 + 1e-12)) == (after <= ALPHA)


def test_tangos_interval_solves_the_score_equation() -> None:
    # Of 9 wins and 1 loss among 50 queries, by the closed form of the variance at either limit.
    wins, losses, n = 9, 1, 50
    low, high = share_difference_interval(wins, losses, n)
    for limit, z in ((low, 1.959964), (high, -1.959964)):
        assert limit is not None
        b = (2 * n - wins + losses) * limit - wins - losses
        lost = (np.sqrt(b * b + 8 * n * losses * limit * (1 - limit)) - b) / (4 * n)
        error = np.sqrt(n * (2 * lost + limit * (1 - limit)))
        assert (wins - losses - n * limit) / error == pytest.approx(z, abs=1e-5)


def test_queries_on_which_nobody_differs_bound_the_difference() -> None:
    # No discordant query of n: z^2 / (n + z^2) on either side.
    z2 = 1.959964**2
    assert share_difference_interval(0, 0, 40) == pytest.approx((-z2 / (40 + z2), z2 / (40 + z2)), abs=1e-6)
    assert share_difference_interval(0, 0, 0) == UNKNOWN


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60), st.sampled_from([0.05, 0.05 / 6, 0.05 / 36]))
@settings(max_examples=150, deadline=None)
def test_the_interval_excludes_0_exactly_where_mcnemars_p_is_at_most_its_level(
    wins: int, losses: int, alike: int, alpha: float
) -> None:
    n = wins + losses + alike
    low, high = share_difference_interval(wins, losses, n, alpha)
    if low is None or high is None:
        assert n == 0
        return
    assert (low > 0 or high < 0) == (mcnemar_p(wins, losses) <= alpha)
    assert -1 <= low <= (wins - losses) / n <= high <= 1
    assert share_difference_interval(losses, wins, n, alpha) == (0.0 - high, 0.0 - low)


@pytest.mark.parametrize(("n", "discordance"), [(30, 0.1), (30, 0.4), (200, 0.25), (200, 0.03)])
@pytest.mark.parametrize("difference", [0.0, 0.02])
def test_the_interval_holds_the_true_difference_in_92_of_100_cases(
    n: int, discordance: float, difference: float
) -> None:
    won, lost = (discordance + difference) / 2, (discordance - difference) / 2
    draws = np.random.default_rng(9).multinomial(n, [won, lost, 1 - won - lost], size=2_000)
    counts: dict[tuple[int, int], int] = {}
    for wins, losses, _ in draws.tolist():
        counts[wins, losses] = counts.get((wins, losses), 0) + 1
    held = sum(count for (wins, losses), count in counts.items() if _holds(wins, losses, n, difference))
    assert held >= 0.92 * len(draws)


def _holds(wins: int, losses: int, n: int, difference: float) -> bool:
    low, high = share_difference_interval(wins, losses, n)
    return low is not None and high is not None and low <= difference <= high
