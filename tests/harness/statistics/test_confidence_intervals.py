"""Intervals against published values, and where they refuse to claim anything."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.confidence_intervals import (
    UNKNOWN,
    Stratum,
    mean_interval,
    pooled_share_interval,
    quantile_interval,
    weighted_mean,
    weighted_mean_interval,
    wilson,
)


def test_one_answer_is_a_wide_proportion_and_one_time_says_nothing_about_spread() -> None:
    assert mean_interval([1.0], proportion=True) == pytest.approx((0.2065, 1.0), abs=0.0001)
    assert mean_interval([1.0], proportion=False) == UNKNOWN
    assert mean_interval([0.5], proportion=True) == UNKNOWN


def test_the_interval_of_a_mean_is_that_of_normal_theory_for_many_values() -> None:
    # 0..99 uniform: standard error sqrt(100 * 101 / 12 / 100) = 2.9011, t(99) = 1.9842, so 49.5 +- 5.757.
    low, high = mean_interval([float(value) for value in range(100)])
    assert [low, high] == pytest.approx([49.5 - 5.757, 49.5 + 5.757], abs=0.02)


def test_a_long_tail_reaches_further_on_its_side_as_halls_transformation_says() -> None:
    values = [0.0] * 27 + [1.0, 2.0, 6.0]
    low, high = mean_interval(values)
    assert low is not None
    assert high is not None
    mean, n = 0.3, 30
    residuals = np.array(values) - mean
    error = np.sqrt((residuals**2).sum() / n / (n - 1))
    skew = (residuals**3).sum() / (residuals**2).sum() ** 1.5
    t = (mean - high) / error
    # Of the limit itself, the transformed statistic is the lower quantile of t.
    assert t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6 == pytest.approx(stats.t.ppf(0.025, n - 1))
    assert mean - low == pytest.approx(stats.t.ppf(0.975, n - 1) * error)


@given(st.lists(st.floats(0, 1000), min_size=2, max_size=40), st.randoms())
@settings(max_examples=20, deadline=None)
def test_an_interval_is_blind_to_the_order_of_queries(values: list[float], rng: object) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    interval = mean_interval(values)
    assert interval == mean_interval(shuffled)
    if interval != UNKNOWN:
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= np.mean(values) <= interval.high


@pytest.mark.parametrize("values", [[3.0] * 40, [0.1] * 9, [0.0] * 200])
def test_equal_values_say_nothing_of_what_was_not_seen(values: list[float]) -> None:
    assert mean_interval(values) == UNKNOWN


def test_fewer_than_six_graded_values_give_no_interval() -> None:
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5]) == UNKNOWN
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) != UNKNOWN


SKEWED: dict[str, Callable[[np.random.Generator, int], tuple[list[float], float]]] = {
    "times": lambda rng, n: (rng.lognormal(size=n).tolist(), float(np.exp(0.5))),
    "mostly 0": lambda rng, n: ((rng.random(n) * (rng.random(n) < 0.2)).tolist(), 0.1),
    "mostly 1": lambda rng, n: (rng.choice([1, 0.5, 0], p=[0.9, 0.07, 0.03], size=n).tolist(), 0.935),
}


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("kind", SKEWED)
def test_an_interval_of_skewed_values_holds_their_mean_in_92_of_100_cases(kind: str, n: int) -> None:
    rng, held, cases = np.random.default_rng(8), 0, 600
    for _ in range(cases):
        values, true = SKEWED[kind](rng, n)
        low, high = mean_interval(values)
        held += low is None or high is None or low <= true <= high
    assert held >= stats.binom.ppf(0.01, cases, 0.92)


def test_the_square_and_add_rule_by_hand() -> None:
    # Wilson 8/10 [0.4902, 0.9433] with weight 1/4, Wilson 15/148 [0.0624, 0.1605] with weight 3/4.
    strata = [Stratum(1, [1.0] * 8 + [0.0] * 2), Stratum(3, [1.0] * 15 + [0.0] * 133)]
    assert weighted_mean(strata) == pytest.approx(0.2760, abs=0.0001)
    assert weighted_mean_interval(strata, proportion=True) == pytest.approx((0.1931, 0.3330), abs=0.0002)


def test_graded_strata_spread_within_themselves() -> None:
    # However far apart they are: the means are certain but for what each spreads.
    near = [Stratum(1, [0.1, 0.2, 0.3] * 10), Stratum(1, [0.4, 0.5, 0.6] * 10)]
    far = [Stratum(1, [0.1, 0.2, 0.3] * 10), Stratum(1, [100.4, 100.5, 100.6] * 10)]
    widths = [high - low for low, high in map(limits, (near, far))]
    assert widths[0] == pytest.approx(widths[1])


def limits(strata: list[Stratum]) -> tuple[float, float]:
    low, high = weighted_mean_interval(strata)
    assert low is not None
    assert high is not None
    return low, high


@given(st.integers(1, 3000), st.data())
@settings(max_examples=40, deadline=None)
def test_wilsons_limits_are_scipys_to_the_last_bit(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    limits = stats.binomtest(successes, n).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(successes, n) == (limits.low, limits.high)


@given(st.integers(1, 400), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
@settings(max_examples=40, deadline=None)
def test_the_limits_of_a_quantile_are_scipys(n: int, p: float) -> None:
    limits = np.asarray(stats.quantile_test(range(n), q=0, p=p).confidence_interval(confidence_level=0.95))
    expected = tuple(None if np.isnan(limit) else limit for limit in limits)
    assert quantile_interval([float(value) for value in range(n)], p) == expected


def test_a_share_of_parts_that_are_each_alone_or_of_one_size_is_a_proportion() -> None:
    alone = [1.0] * 8 + [0.0] * 2
    assert pooled_share_interval(alone, [1] * 10) == pooled_share_interval([3 * one for one in alone], [3] * 10)
    assert pooled_share_interval(alone, [1] * 10) == wilson(8, 10)


def test_a_share_of_parts_of_many_sizes_that_are_all_of_them_is_that_of_as_many_as_weigh_the_same() -> None:
    # 6 x 10 and 60 of 120: (60 + 60)^2 / (6 * 100 + 3600) = 3.4.
    assert pooled_share_interval([10.0] * 6 + [60.0], [10] * 6 + [60]) == wilson(3, 3)


def test_a_share_of_few_parts_or_of_parts_that_all_have_the_same_part_of_it_has_no_interval() -> None:
    assert pooled_share_interval([], []) == UNKNOWN
    assert pooled_share_interval([1.0, 1.0, 2.0], [2, 1, 3]) == UNKNOWN
    assert pooled_share_interval([1.0, 2.0] * 10, [2, 4] * 10) == UNKNOWN


def test_the_interval_of_a_share_holds_it_where_parts_are_alike_and_of_many_sizes() -> None:
    rng, cases, held = np.random.default_rng(21), 400, 0
    for _ in range(cases):
        sizes = rng.integers(1, 6, 30)
        low, high = pooled_share_interval(rng.binomial(sizes, rng.beta(2.8, 1.2, 30)).tolist(), sizes.tolist())
        held += low is not None and high is not None and low <= 0.7 <= high
    assert held >= stats.binom.ppf(0.01, cases, 0.95)


def test_no_value_gives_no_interval() -> None:
    assert wilson(0, 0) == UNKNOWN
    assert mean_interval([], proportion=True) == UNKNOWN
    assert mean_interval([], proportion=False) == UNKNOWN
    assert quantile_interval([], 0.5) == UNKNOWN
