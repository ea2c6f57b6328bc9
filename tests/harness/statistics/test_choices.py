"""As good as, the best of many, and looking again: by hand, and how often each is wrong."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from harness.statistics.best_of_many import best_of
from harness.statistics.non_inferior import MARGIN, as_good, cheapest_as_good
from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, compare_measure
from harness.statistics.query_values import QueryValues
from harness.statistics.race_test import anytime_p


def compared(
    *runs: Sequence[float],
    higher: bool | None = True,
    is_cost: bool = False,
    ends: tuple[float, float] | None = None,
) -> MeasureComparison:
    ids = [f"q{place:04d}" for place in range(len(runs[0]))]
    own = tuple(QueryValues(dict(zip(ids, run, strict=True)), frozenset(ids)) for run in runs)
    places = itertools.combinations(range(len(runs)), 2)
    measure = PairedMeasure("m", higher, own, is_cost=is_cost, range=ends)
    return compare_measure(measure, dict.fromkeys(places, frozenset(ids)))


def share(right: int, n: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


def test_what_is_merely_not_told_apart_is_not_as_good() -> None:
    # 4 of 40 queries fewer: p is 0.125, and it may well be 20 points worse.
    found = compared(share(26, 40), share(30, 40))
    assert found.verdict(found.pairs[0]) == "tie"
    assert as_good(found, 0, [1], MARGIN) is None
    chosen = cheapest_as_good(found, [1.0, 9.0])
    assert chosen is not None
    assert chosen.place == 1


def test_the_cheapest_that_is_shown_to_be_within_the_margin_is_as_good() -> None:
    found = compared(share(1990, 2000), share(1992, 2000), share(1200, 2000))
    chosen = cheapest_as_good(found, [2.0, 9.0, 1.0])
    assert chosen is not None
    assert (chosen.place, chosen.margin, chosen.against) == (0, 0.05, 1)
    assert 0 < chosen.at_most_worse < 0.05


def test_where_a_run_that_is_no_candidate_may_be_the_best_every_candidate_can_be_chosen_wrongly() -> None:
    found = compared(share(1990, 2000), share(1992, 2000), share(1991, 2000))
    for costs, n_tried in (([1.0, 2.0, 3.0], 2), ([1.0, 2.0, None], 2), ([1.0, None, None], 1)):
        chosen, held = cheapest_as_good(found, costs), as_good(found, 0, [1, 2], MARGIN, n_tried)
        assert chosen is not None
        assert chosen == held
    assert as_good(found, 0, [1, 2], MARGIN, 1) != as_good(found, 0, [1, 2], MARGIN, 2)


def test_less_may_be_better() -> None:
    found = compared(share(100, 2000), share(102, 2000), higher=False)
    chosen = cheapest_as_good(found, [2.0, 1.0])
    assert chosen is not None
    assert chosen.place == 1


def test_no_margin_no_direction_and_no_query_show_nothing() -> None:
    seconds = compared([1.0, 2.0] * 30, [1.0, 2.1] * 30, higher=False, is_cost=True)
    assert cheapest_as_good(seconds, [1.0, 2.0]) is None
    assert cheapest_as_good(seconds, [1.0, 2.0], margin=0.5) is not None
    assert cheapest_as_good(compared(share(5, 10), share(5, 10), higher=None), [1.0, 2.0]) is None
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
    assert np.mean([one.optimism for one in known]) == pytest.approx(0.09, abs=0.03)
    assert all(one.n_tried == 9 for one in known)


def test_a_run_that_is_best_on_any_half_keeps_its_mean() -> None:
    found = best_of(compared([0.9, 0.8] * 20, [0.1, 0.3] * 20))
    assert found is not None
    assert (found.place, found.n_chosen) == (0, 1.0)
    assert found.mean == pytest.approx(0.85, abs=0.005)
    fewer = best_of(compared([0.9, 0.8] * 20, [0.1, 0.3] * 20, higher=False))
    assert fewer is not None
    assert fewer.place == 1
    assert fewer.looked == pytest.approx(0.2)


def test_too_few_queries_are_not_split() -> None:
    assert best_of(compared(share(3, 7), share(4, 7))) is None
    assert best_of(compared(share(3, 9), share(4, 9), higher=None)) is None


def test_evidence_is_the_mixture_over_the_coin_by_hand() -> None:
    # Beta(1/2, 1/2): 5 wins of 5 have the likelihood 63/256, a coin 1/32.
    assert anytime_p(5, 0) == pytest.approx((1 / 32) / (63 / 256))
    assert anytime_p(0, 5) == anytime_p(5, 0)
    assert anytime_p(0, 0) == anytime_p(3, 3) == 1.0
