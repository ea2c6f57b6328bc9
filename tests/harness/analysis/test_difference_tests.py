"""Tests of a difference: hand-worked values, the libraries, how often chance alone is called a difference."""

import itertools
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from harness.analysis.difference_tests import (
    ALPHA,
    MOST_EXACT,
    detectable_difference,
    holm,
    leaning,
    mcnemar_p,
    wilcoxon_p,
)

Floats = NDArray[np.float64]
GRADES = np.array([0.0, 0.5, 1.0])


def most(n: int, chance: float = ALPHA) -> float:
    """The share that `n` draws of that chance stay under in 999 of 1,000 cases."""
    return float(stats.binom.ppf(0.999, n, chance)) / n


def test_mcnemar_of_5_against_15_by_hand() -> None:
    by_hand = 2 * sum(comb(20, k) for k in range(6)) / 2**20
    assert by_hand == pytest.approx(0.0414, abs=0.00005)
    assert mcnemar_p(5, 15) == pytest.approx(by_hand, rel=1e-12)
    assert mcnemar_p(15, 5) == mcnemar_p(5, 15)


def test_nothing_that_differs_gives_p_1_without_a_warning() -> None:
    assert mcnemar_p(0, 0) == 1.0
    assert wilcoxon_p([0.0, 0.0, 0.0]) == 1.0
    assert wilcoxon_p([]) == 1.0
    assert leaning([]) == 0


def test_an_even_split_gives_p_1() -> None:
    assert mcnemar_p(3, 3) == 1.0
    assert wilcoxon_p([1.0, -1.0]) == 1.0


def test_wilcoxon_of_few_values_by_hand() -> None:
    # Ranks 1 to 6, the smallest negative: W- = 1, so the tail holds {} and {1}: p = 2 * 2 / 2^6.
    assert wilcoxon_p([-0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == pytest.approx(4 / 64)
    # All of one size: the sign test. 1 of 8 negative: p = 2 * (1 + 8) / 2^8.
    assert wilcoxon_p([0.5] * 7 + [-0.5]) == pytest.approx(18 / 256)
    # Mean ranks 1.5, 1.5, 3.5, 3.5, W- = 1.5: {}, {1.5} and {1.5} of 16, doubled.
    assert wilcoxon_p([-0.5, 0.5, 1.0, 1.0]) == pytest.approx(6 / 16)


def test_equal_queries_change_nothing() -> None:
    differences = [-0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert wilcoxon_p([*differences, *[0.0] * 40]) == wilcoxon_p(differences)


def test_the_last_bits_are_neither_a_difference_nor_another_size() -> None:
    assert wilcoxon_p([0.1 + 0.2 - 0.3] * 9) == 1.0
    assert wilcoxon_p([0.1 + 0.2, -0.3, 0.3, 0.3]) == wilcoxon_p([0.3, -0.3, 0.3, 0.3])


@given(st.lists(st.integers(-10_000, 10_000).filter(bool), min_size=1, max_size=40, unique_by=abs))
@settings(max_examples=40, deadline=None)
def test_without_ties_wilcoxon_is_scipys_exact_test(values: list[int]) -> None:
    expected = stats.wilcoxon(values, method="exact").pvalue
    assert wilcoxon_p([float(value) for value in values]) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.25, 0.5, 1.0]), min_size=1, max_size=7))
@settings(max_examples=20, deadline=None)
def test_with_ties_wilcoxon_is_what_every_flip_of_signs_gives(values: list[float]) -> None:
    ranks = stats.rankdata(np.abs(values))
    centre = ranks.sum() / 2
    observed = abs(ranks[np.array(values) > 0].sum() - centre)
    flips = [ranks[np.array(signs)].sum() for signs in itertools.product([False, True], repeat=len(values))]
    expected = np.mean([abs(total - centre) >= observed for total in flips])
    assert wilcoxon_p(values) == pytest.approx(expected)


def test_many_differences_are_approximated_without_a_jump() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0.2, 1, MOST_EXACT + 1)
    beyond, exact = wilcoxon_p(values), stats.wilcoxon(values, method="exact").pvalue
    assert beyond == stats.wilcoxon(values, correction=True, method="approx").pvalue
    assert beyond == pytest.approx(exact, rel=0.05)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=130), st.randoms())
@settings(max_examples=40, deadline=None)
def test_order_changes_nothing_and_exchange_only_the_sign(values: list[float], rng: object) -> None:
    shuffled = [-value for value in values]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert wilcoxon_p(shuffled) == wilcoxon_p(values)
    assert leaning(shuffled) == -leaning(values)


def test_ranks_can_lean_against_the_mean() -> None:
    assert leaning([-100.0, 1.0, 2.0, 3.0, 4.0]) == 1
    assert sum([-100.0, 1.0, 2.0, 3.0, 4.0]) < 0


def test_holm_by_hand() -> None:
    # Sorted .01 .03 .04 times 3, 2, 1 = .03 .06 .04, and never less than the one before.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.04]) == pytest.approx([0.04])
    assert holm([]) == []


def test_the_detectable_difference_is_that_of_the_normal_theory_for_many_queries() -> None:
    values = np.random.default_rng(1).normal(0.1, 0.4, 1_000)
    closed_form = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * values.std(ddof=1) / sqrt(1_000)
    assert detectable_difference(values) == pytest.approx(closed_form, rel=0.002)


@pytest.mark.parametrize("n", [2, 5, 20, 100])
def test_the_detectable_difference_has_power_80_by_the_noncentral_t(n: int) -> None:
    values = np.arange(n, dtype=float)
    found = detectable_difference(values)
    assert found is not None
    effect = found / values.std(ddof=1) * sqrt(n)
    limit = stats.t.ppf(0.975, n - 1)
    power = stats.nct.sf(limit, n - 1, effect) + stats.nct.cdf(-limit, n - 1, effect)
    assert power == pytest.approx(0.80, abs=1e-4)


@pytest.mark.parametrize("values", [[], [0.5], [0.0] * 50, [0.1] * 50])
def test_without_spread_nothing_is_known_of_what_is_detectable(values: list[float]) -> None:
    assert detectable_difference(values) is None


def alike(rng: np.random.Generator, shape: tuple[int, ...], keep: float, values: Floats) -> Floats:
    """Systems that are equally good: each repeats what a query deserves, or draws anew."""
    deserved = rng.choice(values, size=(shape[0], 1, shape[2]))
    drawn = rng.choice(values, size=shape)
    return np.where(rng.random(shape) < keep, deserved, drawn)


def test_two_systems_of_one_accuracy_rarely_differ_by_mcnemar() -> None:
    answers = alike(np.random.default_rng(11), (2_000, 2, 100), 0.5, np.array([0.0, 1.0]))
    differences = answers[:, 0] - answers[:, 1]
    counts = zip((differences > 0).sum(axis=1).tolist(), (differences < 0).sum(axis=1).tolist(), strict=True)
    known = {pair: mcnemar_p(*pair) for pair in set(counts)}
    rejected = np.mean([known[int((row > 0).sum()), int((row < 0).sum())] <= ALPHA for row in differences])
    assert 0.01 < rejected <= most(2_000)


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_two_systems_of_one_quality_rarely_differ_by_wilcoxon(keep: float) -> None:
    grades = alike(np.random.default_rng(12), (600, 2, 60), keep, GRADES)
    rejected = np.mean([wilcoxon_p(row) <= ALPHA for row in grades[:, 0] - grades[:, 1]])
    assert 0.01 < rejected <= most(600)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "keep"), [(100, 0.5), (100, 0.9), (300, 0.3)])
def test_two_systems_of_one_quality_differ_in_5_percent_of_2000_comparisons(n: int, keep: float) -> None:
    grades = alike(np.random.default_rng(13), (2_000, 2, n), keep, GRADES)
    rejected = np.mean([wilcoxon_p(row) <= ALPHA for row in grades[:, 0] - grades[:, 1]])
    assert 0.03 < rejected <= most(2_000)


def test_wilcoxons_level_is_5_percent_where_no_sizes_tie() -> None:
    values = np.random.default_rng(14).normal(size=(1_000, 40))
    rejected = np.mean([wilcoxon_p(row) <= ALPHA for row in values])
    assert stats.binom.ppf(0.001, 1_000, 0.05) / 1_000 <= rejected <= most(1_000)


@pytest.mark.slow
def test_among_four_systems_of_one_quality_any_difference_is_rare() -> None:
    grades = alike(np.random.default_rng(15), (800, 4, 60), 0.5, GRADES)
    pairs = list(itertools.combinations(range(4), 2))
    raw = [[wilcoxon_p(one[a] - one[b]) for a, b in pairs] for one in grades]
    before = [min(p_values) <= ALPHA for p_values in raw]
    # What was no difference before is none after; statsmodels takes a tenth of a second for each.
    after = [found and min(holm(p_values)) <= ALPHA for found, p_values in zip(before, raw, strict=True)]
    any_before, any_after = np.mean(before), np.mean(after)
    assert any_after <= most(800)
    assert any_before > most(800)


@pytest.mark.slow
def test_a_difference_of_the_detectable_size_is_found_four_times_out_of_five() -> None:
    rng, spread, n = np.random.default_rng(16), 0.4, 100
    size = detectable_difference(
        rng.permutation(np.linspace(-1, 1, n)) * spread / np.linspace(-1, 1, n).std(ddof=1)
    )
    assert size is not None
    samples = rng.normal(size, spread, (2_000, n))
    by_t = np.mean(stats.ttest_1samp(samples, 0, axis=1).pvalue <= ALPHA)
    by_wilcoxon = np.mean([wilcoxon_p(row) <= ALPHA for row in samples])
    assert by_t == pytest.approx(0.80, abs=0.03)
    # On normal differences Wilcoxon's test needs 1 / 0.955 as many (Lehmann 1975).
    assert by_wilcoxon == pytest.approx(0.78, abs=0.03)


def test_a_real_gain_in_accuracy_of_the_detectable_size_is_usually_found() -> None:
    # 30 % of 200 queries differ; b wins `extra` more of them than a.
    rng, n, discordant = np.random.default_rng(17), 200, 0.3
    size = detectable_difference([1.0] * 30 + [-1.0] * 30 + [0.0] * 140)
    assert size is not None
    chances = [(discordant + size) / 2, (discordant - size) / 2, 1 - discordant]
    draws = rng.multinomial(n, chances, size=1_000)
    found = np.mean([mcnemar_p(int(wins), int(losses)) <= ALPHA for wins, losses, _ in draws])
    assert 0.72 <= found <= 0.83
