"""Intervals against published values, and where they refuse to claim anything."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.analysis.intervals import (
    RESAMPLES,
    UNKNOWN,
    Interval,
    Stratum,
    bootstrap_mean,
    mean_intervals,
    quantile_interval,
    weighted_mean,
    weighted_mean_intervals,
    wilson,
)


def mean_interval(values: Sequence[float], *, proportions: bool) -> Interval:
    return mean_intervals([values], proportions=proportions)[0]


def weighted_mean_interval(strata: Sequence[Stratum], *, proportions: bool) -> Interval:
    return weighted_mean_intervals([strata], proportions=proportions)[0]


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # By hand: centre (8 + z^2/2) / (10 + z^2) = 0.7167, half width 0.2266, with z = 1.95996.
        (8, 10, 0.4902, 0.9433),
        # The figure of the recorded gpt-4o-mini answers.
        (308, 426, 0.6786, 0.7634),
    ],
)
def test_wilsons_interval_has_its_published_values(successes: int, n: int, low: float, high: float) -> None:
    assert list(wilson(successes, n)) == pytest.approx([low, high], abs=0.00006)


def test_no_value_gives_no_interval() -> None:
    assert wilson(0, 0) == UNKNOWN
    assert mean_interval([], proportions=True) == UNKNOWN
    assert mean_interval([], proportions=False) == UNKNOWN
    assert quantile_interval([], 0.5) == UNKNOWN


def test_one_answer_is_a_wide_proportion_and_one_time_says_nothing_about_spread() -> None:
    assert mean_interval([1.0], proportions=True) == pytest.approx((0.2065, 1.0), abs=0.0001)
    assert mean_interval([1.0], proportions=False) == UNKNOWN
    assert mean_interval([0.5], proportions=True) == UNKNOWN


def test_graded_values_are_bootstrapped_even_where_proportions_are_allowed() -> None:
    assert mean_interval([0.5, 1.0, 0.0], proportions=True) == bootstrap_mean([0.5, 1.0, 0.0])


def test_the_bootstrap_agrees_with_the_normal_theory_for_many_values() -> None:
    # 0..99 uniform: standard error = sqrt((100^2 - 1) / 12 / 100) = 2.8866, so 49.5 +- 5.66.
    low, high = bootstrap_mean([float(value) for value in range(100)])
    assert [low, high] == pytest.approx([49.5 - 5.66, 49.5 + 5.66], abs=0.5)


@given(st.lists(st.floats(0, 1000), min_size=2, max_size=40), st.randoms())
@settings(max_examples=20, deadline=None)
def test_the_bootstrap_is_repeatable_and_blind_to_the_order_of_queries(values: list[float], rng: object) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    interval = bootstrap_mean(values)
    assert interval == bootstrap_mean(shuffled)
    assert interval.low is not None
    assert interval.high is not None
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_equal_values_give_an_interval_of_width_zero() -> None:
    assert bootstrap_mean([3.0, 3.0, 3.0]) == (3.0, 3.0)


def test_a_weighted_mean_weighs_strata_and_not_their_sizes() -> None:
    strata = [Stratum(3, [1.0, 0.0]), Stratum(1, [1.0] * 50)]
    assert weighted_mean(strata) == pytest.approx(0.75 * 0.5 + 0.25 * 1.0)


def test_one_stratum_has_the_interval_of_its_mean() -> None:
    values = [1.0] * 8 + [0.0] * 2
    assert weighted_mean_interval([Stratum(7, values)], proportions=True) == pytest.approx(wilson(8, 10))


def test_strata_that_are_all_right_claim_no_certainty() -> None:
    low, high = weighted_mean_interval([Stratum(1, [1.0] * 5), Stratum(1, [1.0] * 5)], proportions=True)
    # By hand: Wilson 5/5 is [0.5655, 1], so 1 - sqrt(2 * (0.5 * 0.4345)^2) = 0.6928.
    assert low == pytest.approx(0.6928, abs=0.0001)
    assert high == 1.0


def test_the_square_and_add_rule_by_hand() -> None:
    # Wilson 8/10 [0.4902, 0.9433] with weight 1/4, Wilson 15/148 [0.0624, 0.1605] with weight 3/4.
    strata = [Stratum(1, [1.0] * 8 + [0.0] * 2), Stratum(3, [1.0] * 15 + [0.0] * 133)]
    assert weighted_mean(strata) == pytest.approx(0.2760, abs=0.0001)
    assert weighted_mean_interval(strata, proportions=True) == pytest.approx((0.1931, 0.3330), abs=0.0002)


def test_a_graded_stratum_of_one_query_gives_no_interval() -> None:
    assert weighted_mean_interval([Stratum(1, [0.5]), Stratum(1, [0.2, 0.4])], proportions=True) == UNKNOWN


def test_graded_strata_are_resampled_within_themselves() -> None:
    # No spread within the strata, so none of their weighted mean, however far apart they are.
    strata = [Stratum(1, [0.25] * 9), Stratum(1, [100.0] * 9)]
    assert weighted_mean_interval(strata, proportions=False) == pytest.approx((50.125, 50.125))


def test_the_median_lies_between_the_order_statistics_of_the_binomial() -> None:
    # n = 10: ranks 2 and 9 cover the median with 97.85 % (Conover 1999, table A3).
    assert quantile_interval([float(value) for value in range(1, 11)], 0.5) == (2.0, 9.0)


def test_a_limit_beyond_the_largest_value_is_unknown() -> None:
    low, high = quantile_interval([float(value) for value in range(20)], 0.99)
    assert low is not None
    assert high is None


def test_many_columns_at_once_have_the_intervals_of_each_alone() -> None:
    columns = [[0.1, 0.4, 0.9], [1.0, 0.0, 1.0], [0.3, 0.2, 0.7], [5.0], [2.0, 2.0], []]
    for proportions in (True, False):
        together = mean_intervals(columns, proportions=proportions)
        for values, interval in zip(columns, together, strict=True):
            alone = mean_interval(values, proportions=proportions)
            assert interval == (alone if alone == UNKNOWN else pytest.approx(alone, rel=1e-12))


def test_the_bootstrap_draws_whole_samples_with_replacement_from_one_seed() -> None:
    values = np.sort(np.random.default_rng(7).random(300))
    drawn = np.random.default_rng(0).integers(300, size=(RESAMPLES, 300), dtype=np.int32)
    expected = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
    assert bootstrap_mean(values.tolist()) == pytest.approx(tuple(expected), rel=1e-12)


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
