"""A race, and the evidence below it that may be looked at after every query."""

from collections.abc import Iterable, Sequence
from math import log

import numpy as np
import pytest

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
        more = four.queries_until_elimination[step]
        assert n is not None
        assert more is not None
        assert more > n
    wider = expected_pace(RaceRules(margin=10.0, alpha=0.05), 2)
    assert wider.queries_until_elimination == two.queries_until_elimination
    assert wider.until_within is not None
    assert two.until_within is not None
    assert wider.until_within < two.until_within / 2


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
    expected = queries_until(values, chances, 0.0, 0.025)
    assert expected is not None
    rng, gains, taken = np.random.default_rng(0), log_gains(values, 0.0), []
    for _ in range(100):
        capital = log_capital(gains[rng.choice(3, 400, p=chances)].cumsum(axis=0))
        taken.append(1 + int(np.argmax(capital >= -log(0.025))))
    assert expected == pytest.approx(np.mean(taken), rel=0.2)


def test_what_is_true_takes_more_queries_than_anybody_has() -> None:
    assert queries_until(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.0, 0.025) is None
