"""A race of systems whose values are made up: who leaves when, and what that rests on."""

from collections.abc import Iterable, Sequence

import numpy as np

from harness.statistics.race_test import Race, RaceRules, expected_pace

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


def test_it_goes_on_with_the_rest_when_one_has_left() -> None:
    race = run(drawn(400, {"a": 0.75, "b": 0.7, "c": 0.2}), names="abc")
    assert [drop.name for drop in race.dropped] == ["c"]
    assert race.active == ["a", "b"]
    assert not race.is_decided
    assert race.n_queries == 400
    low, high = race.interval("a", "b")
    assert low < 0 < high


def test_two_that_always_agree_are_within_the_margin_after_so_many_queries() -> None:
    race = run([{"a": 1.0, "b": 1.0}] * 300)
    assert race.is_decided
    assert race.active == ["a", "b"]
    assert not race.dropped


def test_less_is_better_where_the_measure_says_so() -> None:
    rules = RaceRules(margin=5.0, alpha=0.05, higher_is_better=False)
    assert run(drawn(400, {"a": 0.8, "b": 0.5}), rules).leader == "b"


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


def test_the_same_rows_give_the_same_race_and_it_stops_asking_where_it_is_decided() -> None:
    rows = drawn(400, {"a": 0.8, "b": 0.5, "c": 0.5})
    one, other = run(rows, names="abc"), run(rows, names="abc")
    assert one.dropped == other.dropped
    assert one.n_queries == other.n_queries < 400


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


def test_leaving_out_what_is_hard_eliminates_nobody() -> None:
    rows = [{"a": float(place % 3 > 0), "b": 1.0 if place % 3 else None} for place in range(300)]
    race = run(rows)
    assert race.active == ["a", "b"]
    low, high = race.interval("a", "b")
    assert low < 0 < high
