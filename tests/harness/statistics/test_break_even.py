"""When an index pays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.break_even import (
    CostLine,
    QueryRange,
    cheaper,
    crossing,
    crossing_interval,
)
from harness.statistics.confidence_intervals import UNKNOWN, Interval

LINES = st.builds(CostLine, st.integers(0, 10**6), st.integers(0, 10**4))


def test_the_index_is_paid_once_and_shared_by_the_queries() -> None:
    line = CostLine(1_000, 20, Interval(18, 25))
    assert line.total(10) == 1_200
    assert line.amortised(10) == 120
    assert line.band(10) == Interval(118, 125)
    assert CostLine(1_000, 20).band(10) == UNKNOWN


@pytest.mark.parametrize(
    ("one", "other", "span"),
    [
        # 1,000 more for the index, 10 less a query: equal at 100, cheaper from 101 on.
        (CostLine(1_000, 20), CostLine(0, 30), QueryRange(101, None)),
        (CostLine(0, 30), CostLine(1_000, 20), QueryRange(1, 99)),
        (CostLine(995, 20), CostLine(0, 30), QueryRange(100, None)),
        (CostLine(0, 30), CostLine(995, 20), QueryRange(1, 99)),
        (CostLine(0, 20), CostLine(0, 30), QueryRange(1, None)),
        (CostLine(0, 30), CostLine(0, 20), None),
        (CostLine(5, 20), CostLine(9, 20), QueryRange(1, None)),
        (CostLine(9, 20), CostLine(5, 20), None),
        (CostLine(5, 20), CostLine(5, 20), None),
        # Cheaper for less than one query is never.
        (CostLine(0, 30), CostLine(5, 20), None),
    ],
)
def test_when_one_is_cheaper(one: CostLine, other: CostLine, span: QueryRange | None) -> None:
    assert cheaper(one, other) == span


@given(one=LINES, other=LINES, n=st.integers(1, 10**7))
def test_a_span_holds_exactly_the_numbers_at_which_the_total_is_lower(
    one: CostLine, other: CostLine, n: int
) -> None:
    span = cheaper(one, other)
    inside = span is not None and span.first <= n and (span.last is None or n <= span.last)
    assert inside == (one.total(n) < other.total(n))


def test_means_that_differ_in_the_last_bit_do_not_cross() -> None:
    one, other = CostLine(1_000, 0.1 + 0.2), CostLine(0, 0.3)
    assert cheaper(one, other) is None
    assert crossing(one, other) is None


def test_the_crossing_is_less_certain_than_the_means() -> None:
    one, other = CostLine(1_000, 20, Interval(17, 23)), CostLine(0, 30, Interval(26, 34))
    # The saving is 10 with limits 5 away: hypot(3, 4).
    assert crossing(one, other) == 100
    assert crossing_interval(one, other) == pytest.approx((1_000 / 15, 200))
    assert crossing_interval(other, one) == crossing_interval(one, other)


def test_where_the_saving_may_be_none_the_crossing_has_no_upper_limit() -> None:
    one, other = CostLine(1_000, 20, Interval(10, 30)), CostLine(0, 30, Interval(20, 40))
    assert crossing_interval(one, other).high is None
    assert crossing_interval(one, CostLine(0, 30)) == UNKNOWN
    lopsided = CostLine(1_000, 20, Interval(19, 80))
    assert crossing_interval(lopsided, CostLine(0, 30, Interval(29, 31))).low == pytest.approx(
        1_000 / (10 + 2**0.5)
    )
