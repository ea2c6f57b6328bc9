"""What so many queries can show: against every outcome, simulation, and what a plan is told."""

from collections.abc import Iterable, Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import known
from scipy import stats

from harness.statistics.confidence_intervals import ratio_of_sums
from harness.statistics.difference_tests import ALPHA, mcnemar_p
from harness.statistics.permutation_test import flips_of
from harness.statistics.power import (
    DifferenceSpread,
    _fewest_wins,
    graded_detectable,
    graded_power,
    most_discordant,
    queries_needed,
    share_power,
    spread_of,
)
from harness.statistics.race_test import (
    Race,
    RaceRules,
    anytime_interval,
    expected_pace,
    log_capital,
    log_evidence,
    log_gains,
    queries_until,
)


def by_every_outcome(n: int, difference: float, discordance: float, alpha: float) -> float:
    chances = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    return sum(
        float(stats.multinomial.pmf([wins, losses, n - wins - losses], n, chances))
        for wins in range(n + 1)
        for losses in range(min(wins, n - wins + 1))
        if mcnemar_p(wins, losses) <= alpha
    )


@given(
    st.integers(1, 25),
    st.sampled_from([0.0, 0.1, 0.2]),
    st.sampled_from([0.25, 0.5]),
    st.sampled_from([0.05, 0.05 / 6]),
)
@settings(max_examples=25, deadline=None)
def test_power_counts_every_outcome(n: int, difference: float, discordance: float, alpha: float) -> None:
    expected = by_every_outcome(n, difference, discordance, alpha)
    assert share_power(n, difference, discordance, alpha) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3, 0.05 / 36, 0.05 / 630, 1e-6])
def test_the_fewest_wins_that_are_significant_are_scipys(alpha: float) -> None:
    different = np.arange(1, 2001)
    expected = np.asarray(stats.binom.isf(alpha / 2, different, 0.5)) + 1
    assert _fewest_wins(alpha, 2000).tolist() == [1, *expected.tolist()]


@pytest.mark.parametrize("pairs", [1, 6, 36])
@pytest.mark.parametrize("difference", [0.05, 0.1, 0.2])
def test_so_many_queries_find_it_four_times_out_of_five_and_a_tenth_less_do_not(
    difference: float, pairs: int
) -> None:
    n = known(queries_needed(difference, pairs))
    assert share_power(n, difference, 0.25, ALPHA / pairs) >= 0.8
    assert share_power(int(0.9 * n), difference, 0.25, ALPHA / pairs) < 0.8


def test_what_needs_more_queries_than_anybody_asks_has_no_number() -> None:
    assert queries_needed(0.008, 36, 0.25) is None
    assert queries_needed(0.001, 6) is None
    assert DifferenceSpread(0.5).needed(0.0, 1) is None


@pytest.mark.parametrize("pairs", [1, 3, 6, 15, 36])
def test_what_graded_values_detect_falls_with_the_square_root_of_queries_whatever_scipy_gives(pairs: int) -> None:
    # At 300 queries and 6 pairs scipy's noncentral t is no number at 37 standard errors.
    found = [graded_detectable(n, pairs, sd=0.2, highest=1.0) for n in (200, 300, 600, 2000)]
    scaled = [one * n**0.5 for one, n in zip(found, (200, 300, 600, 2000), strict=True) if one is not None]
    assert scaled == pytest.approx([scaled[0]] * 4, rel=0.02)


def test_graded_power_is_that_of_the_noncentral_t() -> None:
    expected = stats.nct.sf(stats.t.isf(0.025, 29), 29, np.sqrt(30) * 0.5)
    assert graded_power(30, 0.2, 0.4, 0.05) == pytest.approx(float(expected), abs=1e-6)
    assert graded_power(10_000, 0.9, 0.4, 0.05) == 1.0
    n = known(DifferenceSpread(0.4).needed(0.05, 6))
    assert graded_power(n, 0.05, 0.4, ALPHA / 6) >= 0.8 > graded_power(n - 1, 0.05, 0.4, ALPHA / 6)


def test_a_pair_knows_how_widely_its_differences_may_scatter() -> None:
    differences = np.array([1.0] * 15 + [-1.0] * 5 + [0.0] * 20)
    found = known(spread_of(differences, binary=True))
    assert found.discordance == most_discordant(20, 40) > 0.5
    assert found.sd > float(np.std(differences, ddof=1))
    assert found.needed(0.1, 6) == queries_needed(0.1, 6, most_discordant(20, 40))
    assert spread_of(np.zeros(9)) is None
    assert spread_of(np.array([1.0])) is None


def test_one_difference_among_fifty_queries_plans_for_what_it_leaves_open() -> None:
    found = known(spread_of(np.array([1.0] + [0.0] * 49), binary=True))
    # Planned with the 2 % that were seen it would be 157, with a power of .5 where 8 % differ.
    assert (found.needed(0.05, 1) or 0) > 200
    graded = known(spread_of(np.array([0.5] + [0.0] * 49)))
    assert graded.sd > 1.9 * float(np.std([0.5] + [0.0] * 49, ddof=1))


@pytest.mark.parametrize("discordance", [0.06, 0.1, 0.25])
@pytest.mark.parametrize("n", [20, 50])
def test_the_queries_that_a_pilot_asks_for_have_the_power_nine_times_of_ten(n: int, discordance: float) -> None:
    enough = 0.0
    for different in range(1, n + 1):
        needed = queries_needed(0.05, 1, most_discordant(different, n))
        has_power = needed is None or share_power(needed, 0.05, discordance, ALPHA) >= 0.795
        enough += has_power * float(stats.binom.pmf(different, n, discordance))
    assert enough / (1 - (1 - discordance) ** n) >= 0.9


def test_unequal_weights_make_a_mean_less_sure() -> None:
    differences = np.array([1.0, -1.0, 0.0, 0.5] * 10)
    even, uneven = np.ones(40), np.repeat([0.1, 1.9], 20)
    plain, same, less = (spread_of(differences, weights) for weights in (None, even, uneven))
    assert known(same).sd == pytest.approx(known(plain).sd)
    assert known(less).sd > 1.2 * known(plain).sd


def test_a_plan_in_the_natural_mix_counts_what_its_test_adds_for_queries_of_one_weight() -> None:
    differences = np.array(([1 / 3, -1 / 3, 1 / 3] + [0.0] * 17) * 3)
    weights = np.array(([2.0] * 10 + [0.5] * 10) * 3)
    found = known(spread_of(differences, weights))
    tested = flips_of(differences[:, None], weights).studentized.errors[0]
    plain = ratio_of_sums((differences * weights)[:, None], weights).errors[0]
    assert found.hidden / 60**2 == pytest.approx(tested**2 - plain**2)
    needed, without = found.needed(0.05, 3), DifferenceSpread(found.sd).needed(0.05, 3)
    assert known(needed) > known(without)
    shown, told = found.detectable(60, 3, 1.0), graded_detectable(60, 3, found.sd, 1.0)
    assert known(shown) > known(told)


# A race, and the evidence below it that may be looked at after every query.


RULES = RaceRules(margin=5.0, alpha=0.05)
Values = dict[str, float | None]


def drawn(n: int, shares: dict[str, float], seed: int = 0) -> list[Values]:
    """Right with these chances, each system for itself."""
    rng = np.random.default_rng(seed)
    return [{name: float(rng.random() < share) for name, share in shares.items()} for _ in range(n)]


def run(
    rows: Iterable[Values],
    rules: RaceRules = RULES,
    names: Sequence[str] = ("a", "b"),
    heavy: Sequence[float] = (),
) -> Race:
    rows = list(rows)
    race = Race(names, rules, {str(place): heavy[place] if heavy else 1.0 for place in range(len(rows))})
    for place, row in enumerate(rows):
        if not race.is_decided:
            race.take(str(place), row)
    return race


def test_who_is_worse_leaves_and_the_race_is_decided() -> None:
    race = run(drawn(400, {"a": 0.8, "b": 0.5}))
    assert (race.active, race.leader, race.is_decided) == (["a"], "a", True)
    (drop,) = race.dropped
    assert (drop.name, drop.against) == ("b", "a")
    assert drop.after == race.n_queries < 200
    assert 0 < drop.low < drop.high


def test_two_that_always_agree_are_within_the_margin_after_so_many_queries() -> None:
    race = run([{"a": 1.0, "b": 1.0}] * 300)
    assert race.is_decided
    assert race.active == ["a", "b"]
    assert not race.dropped


def test_values_between_count_and_the_span_is_what_points_are_hundredths_of() -> None:
    rng = np.random.default_rng(0)
    rows: list[Values] = [{"a": 5 + 2 * x, "b": 4 + 2 * y} for x, y in rng.random((400, 2))]
    race = run(rows, RaceRules(margin=5.0, alpha=0.05, span=10.0))
    (drop,) = race.dropped
    assert drop.low < 10 < drop.high
    assert drop.after < 200


def test_a_query_that_does_not_apply_or_that_one_has_no_value_of_parts_nobody() -> None:
    rows = drawn(60, {"a": 1.0, "b": 0.0})
    unknown: list[Values] = [{"a": None, "b": 0.0}] * 60
    assert run(unknown).active == ["a", "b"]
    race = Race("ab", RULES, {})
    for place, row in enumerate(rows):
        race.take(str(place), row)
    assert (race.active, race.n_queries) == (["a", "b"], 60)


def test_a_query_that_stands_for_more_weighs_more() -> None:
    rows: list[Values] = [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}] * 100
    heavy = [1.6, 0.4] * 100
    assert run(rows).interval("a", "b")[0] < 0
    race = run(rows, heavy=heavy)
    (drop,) = race.dropped
    assert drop.name == "b"
    assert drop.low < 60 < drop.high


def test_a_race_takes_longer_for_smaller_differences_narrower_margins_and_more_pairs() -> None:
    two, four = expected_pace(RULES, 2), expected_pace(RULES, 4)
    assert [*two.queries_until_elimination] == [0.05, 0.10, 0.20]
    queries = [n for n in two.queries_until_elimination.values() if n is not None]
    assert queries == sorted(queries, reverse=True)
    for step, n in two.queries_until_elimination.items():
        more = known(four.queries_until_elimination[step])
        assert more > known(n)
    wider = expected_pace(RaceRules(margin=10.0, alpha=0.05), 2)
    assert wider.queries_until_elimination == two.queries_until_elimination
    assert known(wider.until_within) < known(two.until_within) / 2


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


def test_the_expected_queries_are_those_that_made_up_values_take_in_the_mean() -> None:
    values, chances = np.array([-1.0, 0.0, 1.0]), np.array([0.05, 0.75, 0.2])
    expected = known(queries_until(values, chances, 0.0, 0.025))
    rng, gains, taken = np.random.default_rng(0), log_gains(values, 0.0), []
    for _ in range(100):
        capital = log_capital(gains[rng.choice(3, 400, p=chances)].cumsum(axis=0))
        taken.append(1 + int(np.argmax(capital >= -log(0.025))))
    assert expected == pytest.approx(np.mean(taken), rel=0.2)


def test_what_is_true_takes_more_queries_than_anybody_has() -> None:
    assert queries_until(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.0, 0.025) is None
