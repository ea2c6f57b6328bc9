"""Tests and intervals of differences: hand-worked values, published limits, coverage."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.statistics.confidence_intervals import UNKNOWN
from harness.statistics.difference_tests import ALPHA, holm, holm_levels, mcnemar_p, share_difference_interval


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
