"""How long calls took that shared a server, and what a line through them says of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.estimates.timing import covered_seconds, fit_seconds, own_seconds

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=12)


def test_calls_one_after_the_other_took_as_long_as_they_took() -> None:
    assert own_seconds([(10, 12), (15, 18)]) == [2, 3]


def test_two_at_once_share_the_time_in_which_both_were_under_way() -> None:
    assert own_seconds([(0, 10), (5, 10)]) == [7.5, 2.5]


@given(SPANS)
def test_own_seconds_sum_to_the_time_that_is_covered(spans: list[tuple[int, int]]) -> None:
    intervals = [(float(start), float(start + length)) for start, length in spans]
    covered = {second for start, length in spans for second in range(start, start + length)}
    assert covered_seconds(intervals) == pytest.approx(len(covered))


def test_a_fit_finds_the_rates_that_made_the_seconds() -> None:
    rows = [(read, written, 0.5 + 0.01 * read + 0.1 * written) for read in (0, 100, 700) for written in (1, 60)]
    fit = fit_seconds(rows)
    assert fit is not None
    assert (fit.per_call, fit.per_input_token, fit.per_output_token) == pytest.approx((0.5, 0.01, 0.1))
    assert fit.seconds(2, 100, 10) == pytest.approx(3.0)


def test_no_rate_is_below_zero_however_the_calls_were_measured() -> None:
    fit = fit_seconds([(100, 1, 3.0), (200, 1, 2.0), (300, 1, 1.0)])
    assert fit is not None
    assert min(fit.per_call, fit.per_input_token, fit.per_output_token) >= 0
    assert fit.seconds(1, 200, 1) == pytest.approx(2.0, rel=0.2)


def test_without_a_call_there_is_no_fit() -> None:
    assert fit_seconds([]) is None
