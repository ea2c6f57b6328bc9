"""Which run is recommended, and how sure that is."""

import numpy as np
import pytest
from records import known
from scipy import stats

from harness.extensions.routing.gains import (
    RecordedResults,
    best_of_types,
    halves,
    learnt_table,
    routing_gains,
    spread_over,
)
from harness.statistics.non_inferior import MARGIN, as_good, cheapest_as_good
from harness.statistics.race_test import anytime_p
from harness.statistics.recommendation import best_of, leads_of, probability_within, ranked_places

from .conftest import compared, right


def test_the_best_mean_comes_first() -> None:
    one = compared(right(50), right(80), right(60))
    assert ranked_places(one) == [1, 2, 0]
    assert ranked_places(compared(right(50), right(80), right(60), higher=False)) == [0, 2, 1]


def test_each_lead_is_tested_alone_so_that_more_rivals_take_no_power() -> None:
    best, second = right(70), right(55)
    (alone,) = leads_of(compared(best, second), 0)
    among = leads_of(compared(best, second, *(right(count) for count in (20, 25, 30, 35))), 0)
    assert alone.is_shown
    assert among[0] == alone


def test_leads_are_in_order_and_turn_where_less_is_better() -> None:
    found = leads_of(compared(right(20), right(60), right(40), higher=False), 0)
    assert [lead.place for lead in found] == [2, 1]
    assert [lead.difference for lead in found] == pytest.approx([0.2, 0.4])


def test_a_lead_of_a_few_documents_is_shown_on_these_documents_only() -> None:
    documents = [f"d{place // 25}" for place in range(100)]
    (lead,) = leads_of(compared(right(60), right(40), documents=documents), 0)
    assert lead.is_shown_here
    assert not lead.is_shown


def test_a_lead_that_missing_values_may_undo_is_not_shown() -> None:
    gappy: list[float | None] = [1.0] * 61 + [None] * 39
    (lead,) = leads_of(compared(gappy, right(30)), 0)
    assert lead.is_shown
    (lead,) = leads_of(compared(right(64), gappy), 0)
    assert not lead.is_shown
    assert lead.n_missing == 39


def test_equal_runs_on_many_queries_are_within_the_margin() -> None:
    rng = np.random.default_rng(3)
    runs = [(rng.random(2000) < 0.6).astype(float).tolist() for _ in range(2)]
    probability = known(probability_within(compared(*runs), 0, 0.05))
    assert probability > 0.9


def test_a_run_that_is_far_behind_is_not() -> None:
    one = compared(right(90), right(40))
    assert known(probability_within(one, 0, 0.05)) == 1.0
    probability = known(probability_within(one, 1, 0.05))
    assert probability < 0.01


def test_fewer_queries_make_it_less_sure() -> None:
    few, many = (
        known(probability_within(compared(*(right(int(share * n), n) for share in (0.7, 0.6, 0.6, 0.6))), 0, 0.05))
        for n in (20, 200)
    )
    assert few < many


def test_of_one_run_nothing_is_said() -> None:
    one = compared(right(10))
    assert leads_of(one, 0) == []
    assert probability_within(one, 0, 0.05) is None


# As good as, the best of many, and looking again: by hand, and how often each is wrong.


def test_what_is_merely_not_told_apart_is_not_as_good() -> None:
    # 4 of 40 queries fewer: p is 0.125, and it may well be 20 points worse.
    found = compared(right(26, 40), right(30, 40))
    assert found.verdict(found.pairs[0]) == "tie"
    assert as_good(found, 0, [1], MARGIN) is None
    chosen = known(cheapest_as_good(found, [1.0, 9.0]))
    assert chosen.place == 1


def test_the_cheapest_that_is_shown_to_be_within_the_margin_is_as_good() -> None:
    found = compared(right(1990, 2000), right(1992, 2000), right(1200, 2000))
    chosen = known(cheapest_as_good(found, [2.0, 9.0, 1.0]))
    assert chosen.place == 0
    assert 0 < chosen.at_most_worse < 0.05


def test_where_a_run_that_is_no_candidate_may_be_the_best_every_candidate_can_be_chosen_wrongly() -> None:
    found = compared(right(1990, 2000), right(1992, 2000), right(1991, 2000))
    for costs, n_tried in (([1.0, 2.0, 3.0], 2), ([1.0, 2.0, None], 2), ([1.0, None, None], 1)):
        chosen, held = cheapest_as_good(found, costs), as_good(found, 0, [1, 2], MARGIN, n_tried)
        assert known(chosen) == held
    assert as_good(found, 0, [1, 2], MARGIN, 1) != as_good(found, 0, [1, 2], MARGIN, 2)


def test_less_may_be_better() -> None:
    found = compared(right(100, 2000), right(102, 2000), higher=False)
    chosen = known(cheapest_as_good(found, [2.0, 1.0]))
    assert chosen.place == 1


def test_no_margin_no_direction_and_no_query_show_nothing() -> None:
    seconds = compared([1.0, 2.0] * 30, [1.0, 2.1] * 30, higher=False, is_cost=True)
    assert cheapest_as_good(seconds, [1.0, 2.0]) is None
    assert cheapest_as_good(seconds, [1.0, 2.0], margin=0.5) is not None
    assert cheapest_as_good(compared(right(5, 10), right(5, 10), higher=None), [1.0, 2.0]) is None
    assert cheapest_as_good(compared([0.5], [0.5], ends=(0.0, 1.0)), [1.0, 2.0]) is None


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 200])
def test_a_run_that_is_worse_by_the_margin_is_rarely_called_as_good(n: int) -> None:
    rng, cases, false = np.random.default_rng(31), 200, 0
    for _ in range(cases):
        worse, good, best = (rng.random((3, n)) < np.array([[0.65], [0.7], [0.7]])).astype(float).tolist()
        chosen = cheapest_as_good(compared(worse, good, best), [1.0, 2.0, 3.0])
        false += chosen is not None and chosen.place == 0
    assert false <= stats.binom.ppf(0.99, cases, 0.03)


@pytest.mark.slow
def test_the_best_of_nine_equal_systems_is_no_better_than_they_are() -> None:
    rng, n = np.random.default_rng(32), 60
    found = [best_of(compared(*(rng.random((9, n)) < 0.5).astype(float).tolist())) for _ in range(60)]
    known = [one for one in found if one is not None]
    assert np.mean([one.looked for one in known]) > 0.57
    assert np.mean([one.mean for one in known]) == pytest.approx(0.5, abs=0.02)
    assert len(known) == 60


def test_a_run_that_is_best_on_any_half_keeps_its_mean() -> None:
    found = known(best_of(compared([0.9, 0.8] * 20, [0.1, 0.3] * 20)))
    assert found.mean == pytest.approx(0.85, abs=0.005)
    fewer = known(best_of(compared([0.9, 0.8] * 20, [0.1, 0.3] * 20, higher=False)))
    assert fewer.looked == pytest.approx(0.2)


def test_too_few_queries_are_not_split() -> None:
    assert best_of(compared(right(3, 7), right(4, 7))) is None
    assert best_of(compared(right(3, 9), right(4, 9), higher=None)) is None


def test_evidence_is_the_mixture_over_the_coin_by_hand() -> None:
    # Beta(1/2, 1/2): 5 wins of 5 have the likelihood 63/256, a coin 1/32.
    assert anytime_p(5, 0) == pytest.approx((1 / 32) / (63 / 256))
    assert anytime_p(0, 5) == anytime_p(5, 0)
    assert anytime_p(0, 0) == anytime_p(3, 3) == 1.0


TOLD = "labels"


def recorded(n: int = 80, *, apart: bool) -> RecordedResults:
    """Two systems: each right on its own type, or both on half of everything."""
    rng = np.random.default_rng(0)
    types = ["comparison", "temporal"] * (n // 2)
    first = np.array([float(name == "comparison") for name in types]) if apart else rng.integers(2, size=n)
    second = 1.0 - first if apart else rng.integers(2, size=n)
    return RecordedResults(np.stack([first, second], axis=1).astype(np.float64), np.ones(n), types)


def test_each_type_goes_to_the_system_that_serves_it() -> None:
    table = learnt_table(recorded(apart=True))
    assert dict(table.systems) == {"comparison": 0, "temporal": 1}
    assert table.choices(["temporal", "unheard of"]).tolist() == [1, 0]


def test_a_type_stays_with_the_best_single_system_where_another_is_ahead_by_no_more_than_its_standard_error() -> (
    None
):
    worth = np.array([[1, 0]] * 20 + [[1, 0], [0, 1], [1, 1], [0, 0], [0, 1], [1, 0], [0, 1]], dtype=np.float64)
    types = ["comparison"] * 20 + ["temporal"] * 7
    assert set(learnt_table(RecordedResults(worth, np.ones(27), types)).systems.values()) == {0}
    assert best_of_types(RecordedResults(worth, np.ones(27), types)).systems["temporal"] == 1


@pytest.mark.parametrize("sizes", [[1] * 40, [10, 10, 10, 10], [37, 1, 1, 1]])
def test_queries_of_one_document_never_stand_on_both_sides_and_both_sides_have_some(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    for split in halves(clusters, 30):
        assert 0 < split.teaches.sum() < len(clusters)
        for name in range(len(sizes)):
            assert len(set(split.teaches[clusters == name].tolist())) == 1


def test_where_types_decide_the_table_gains_what_the_best_of_each_type_gains() -> None:
    own, clusters = recorded(apart=True), np.arange(80)
    splits = list(halves(clusters, 20))
    gains = routing_gains(own, clusters, {TOLD: own.types}, splits)
    assert np.allclose(gains.learnt[TOLD].values, 1.0)
    assert np.allclose(gains.learnt[TOLD].gains, gains.by_type.gains)
    found = spread_over(gains.learnt[TOLD].gains, splits, gains.n_clusters)
    assert known(found.interval.low) > 0.2


def test_where_types_say_nothing_the_table_gains_nothing_and_the_best_of_each_query_seems_to() -> None:
    own, clusters = recorded(apart=False), np.arange(80)
    splits = list(halves(clusters, 40))
    gains = routing_gains(own, clusters, {TOLD: own.types}, splits)
    low, high = spread_over(gains.learnt[TOLD].gains, splits, 80).interval
    assert known(low) < 0.0 < known(high)
    assert gains.by_query.gains.mean() > 0.1
    assert gains.by_query.by_luck == pytest.approx(gains.by_query.gains.mean(), abs=0.05)


@pytest.mark.parametrize(("n", "n_clusters"), [(29, 29), (80, 14)])
def test_few_queries_or_documents_give_no_interval(n: int, n_clusters: int) -> None:
    splits = list(halves(np.arange(n) % n_clusters, 10))
    assert spread_over(np.linspace(0, 1, 10), splits, n_clusters).interval == (None, None)
