"""Single tests and what corrects them: hand-worked values, and that levels and adjusted p values say the same."""

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.statistics.difference_tests import ALPHA, holm, holm_levels, mcnemar_p


def test_mcnemar_of_5_against_15_by_hand() -> None:
    by_hand = 2 * sum(comb(20, k) for k in range(6)) / 2**20
    assert by_hand == pytest.approx(0.0414, abs=0.00005)
    assert mcnemar_p(5, 15) == pytest.approx(by_hand, rel=1e-12)
    assert mcnemar_p(15, 5) == mcnemar_p(5, 15)


def test_nothing_that_differs_and_an_even_split_give_p_1() -> None:
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(3, 3) == 1.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_holms_p_is_the_least_level_at_which_step_by_step_rejection_reaches_it(p_values: list[float]) -> None:
    found, n = holm(p_values), len(p_values)
    for level in (0.01, 0.05, 0.2, 0.5):
        rejected: set[int] = set()
        for rank, place in enumerate(sorted(range(n), key=p_values.__getitem__)):
            if p_values[place] * (n - rank) > level:
                break
            rejected.add(place)
        assert {place for place, p in enumerate(found) if p <= level} == rejected


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
