"""Evidence that may be looked at after every query, held against closed forms."""

from math import exp, log

import numpy as np
import pytest

from harness.statistics.anytime_valid import (
    anytime_interval,
    anytime_p,
    log_capital,
    log_evidence,
    log_gains,
    queries_until,
)


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (7, 0), (12, 5), (60, 41), (300, 200)])
def test_bettors_on_wins_and_losses_own_together_what_the_mixture_says(wins: int, losses: int) -> None:
    values = np.array([1.0] * wins + [-1.0] * losses + [0.0] * 9)
    ahead, behind = (log_capital(log_gains(side, 0.0).sum(axis=0)) for side in (values, -values))
    assert float(np.logaddexp(ahead, behind) - log(2)) == pytest.approx(log_evidence(wins, losses), abs=1e-6)


def test_the_interval_excludes_what_the_evidence_refutes_and_nothing_else() -> None:
    values = np.array([1.0] * 30 + [-1.0] * 8 + [0.0] * 60)
    low, high = anytime_interval(values, 0.05)
    assert 0 < low < values.mean() < high < 1
    for mean, against in ((low - 0.01, True), (low + 0.01, False)):
        assert (float(log_capital(log_gains(values, mean).sum(axis=0))) >= log(2 / 0.05)) is against


def test_an_interval_of_nothing_but_wins_ends_at_one_and_one_value_says_next_to_nothing() -> None:
    low, high = anytime_interval(np.ones(50), 0.05)
    assert low > 0.5
    assert high == pytest.approx(1.0)
    assert anytime_interval(np.array([0.3]), 0.05) == pytest.approx((-1.0, 1.0), abs=0.05)


def test_the_chance_is_at_most_one_and_turned_round_the_same() -> None:
    assert anytime_p(0, 0) == 1.0
    assert anytime_p(9, 2) == anytime_p(2, 9) == pytest.approx(exp(-log_evidence(2, 9)))


def test_the_expected_queries_are_those_that_made_up_values_take_in_the_mean() -> None:
    values, chances = np.array([-1.0, 0.0, 1.0]), np.array([0.05, 0.75, 0.2])
    expected = queries_until(values, chances, 0.0, 0.025)
    assert expected is not None
    rng, gains, taken = np.random.default_rng(0), log_gains(values, 0.0), []
    for _ in range(100):
        capital = log_capital(gains[rng.choice(3, 400, p=chances)].cumsum(axis=0))
        taken.append(1 + int(np.argmax(capital >= -log(0.025))))
    assert expected == pytest.approx(np.mean(taken), rel=0.2)


def test_what_is_true_takes_more_queries_than_anybody_has() -> None:
    assert queries_until(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.0, 0.025) is None
