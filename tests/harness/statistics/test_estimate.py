"""Calls x tokens x price and calls x seconds, as ranges that name their basis."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.records import Estimate, ExpectedCalls, PhaseEstimate, Range, Usage, Work
from harness.statistics.estimate import (
    SAME_PARAMETERS,
    Earlier,
    MeasuredCost,
    Rates,
    Task,
    covered_seconds,
    phases_left,
    predict,
    totals,
)

ASKED = Work(calls=(ExpectedCalls(calls=1, input_characters=4000, output_tokens_most=64),))
EMBEDDED = Work(embedded_texts=1000, embedded_characters=1_000_000)
SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=12)


def span(low: float, high: float | None = None) -> Range:
    return Range(low=low, high=low if high is None else high)


def a_dollar_a_token(usage: Mapping[str, Usage]) -> float:
    return float(sum(used.input_tokens + used.output_tokens for used in usage.values()))


def estimated(**wishes: Any) -> PhaseEstimate:
    plain: dict[str, Any] = {
        "units": 10,
        "work": ASKED,
        "rates": Rates(),
        "earlier": (),
        "price": a_dollar_a_token,
        "embedder_is_metered": False,
    }
    return predict(Task(**{**plain, **wishes}))


def ran(calls: int = 20, tokens: tuple[int, int] = (20_000, 40), closeness: int = 3, **wishes: Any) -> Earlier:
    usage = Usage(calls=calls, input_tokens=tokens[0], output_tokens=tokens[1])
    work = wishes.pop("work", ASKED)
    return Earlier(MeasuredCost(10, {"generator": usage}, **wishes), work, closeness)


@given(SPANS)
def test_covered_time_counts_parallel_work_once(spans: list[tuple[int, int]]) -> None:
    intervals = [(float(start), float(start + length)) for start, length in spans]
    covered = {second for start, length in spans for second in range(start, start + length)}
    assert covered_seconds(intervals) == pytest.approx(len(covered))


def test_without_any_measurement_tokens_are_a_range_and_seconds_are_unknown() -> None:
    found = estimated()
    assert (found.calls, found.input_tokens, found.output_tokens) == (10, span(8000, 40_000 / 3), span(40, 640))
    assert found.usd == span(8040, 13_973)
    assert found.seconds is None


def test_seconds_are_tokens_by_the_speed_of_the_model() -> None:
    rates = Rates(
        characters_per_token=4.0,
        reply_tokens={64: 10.0},
        prompt_tokens_per_s=span(100, 200),
        completion_tokens_per_s=span(10, 20),
    )
    found = estimated(rates=rates)
    assert found.input_tokens == span(10_000)
    assert found.seconds
    assert found.seconds.low == pytest.approx(10_000 / 200 + 80 / 20)
    assert found.seconds.high == pytest.approx(10_000 / 100 + 125 / 10)


def test_seconds_are_calls_by_seconds_per_call_where_no_speed_is_known() -> None:
    assert estimated(rates=Rates(call_s=span(1, 3))).seconds == span(10, 30)
    assert estimated(rates=Rates(call_s=span(1, 3)), is_most=True).seconds == span(2.5, 30)


def test_an_index_is_passages_by_the_speed_of_the_embedder() -> None:
    assert estimated(units=1, work=EMBEDDED, rates=Rates(passages_per_s=span(10, 50))).seconds == span(20, 100)
    assert estimated(units=1, work=EMBEDDED).seconds is None
    assert estimated(units=1, work=Work()).seconds == span(0)


def test_earlier_runs_of_the_same_configuration_are_measured_tokens_and_seconds() -> None:
    found = estimated(units=30, earlier=[ran(seconds=100.0)])
    assert found.calls == 60
    assert found.input_tokens
    assert found.input_tokens.low < 60_000 < found.input_tokens.high
    assert found.seconds
    assert found.seconds.low < 300 < found.seconds.high
    assert "1 earlier run" in found.basis


def test_other_parameters_count_only_where_there_are_none_with_the_same_and_widen_the_range() -> None:
    other = ran(calls=90, closeness=1, seconds=100.0)
    assert estimated(earlier=[ran(), other]).calls == 20
    near, far = (estimated(earlier=[ran(seconds=100.0, closeness=one)]).seconds for one in (SAME_PARAMETERS, 0))
    assert near
    assert far
    assert far.low < near.low < near.high < far.high


def test_a_run_whose_tokens_were_not_counted_gives_its_seconds_only() -> None:
    unmetered = MeasuredCost(10, {"generator": Usage(calls=20, unmetered_calls=20)}, seconds=100.0)
    found = estimated(earlier=[Earlier(unmetered, ASKED, closeness=3)])
    assert found.input_tokens == span(8000, 40_000 / 3)
    assert found.seconds == span(80, 125)


@pytest.mark.parametrize(
    ("limits", "least"),
    [({"requests_per_minute": 2}, 300), ({"tokens_per_minute": 804}, 600)],
)
def test_limits_per_minute_are_the_least_time(limits: dict[str, Any], least: float) -> None:
    found = estimated(rates=Rates(call_s=span(0.1), **limits)).seconds
    assert found
    assert found.low == pytest.approx(least)


def test_a_system_without_formula_and_without_a_run_is_unknown_and_not_zero() -> None:
    found = estimated(work=None)
    assert (found.calls, found.input_tokens, found.usd, found.seconds) == (None, None, None, None)
    assert found.notes
    assert totals([found])["calls"].value is None
    assert estimated(work=None, units=30, earlier=[ran(work=None)]).calls == 60


def test_dollars_are_unknown_without_a_price_and_count_an_embedder_only_if_it_is_metered() -> None:
    assert estimated(price=lambda _: None).usd is None
    assert estimated(units=1, work=EMBEDDED).usd == span(0)
    assert estimated(units=1, work=EMBEDDED, embedder_is_metered=True).usd == span(200_000, 333_333)


def test_the_low_end_is_that_of_the_fastest_earlier_run() -> None:
    """The others may have shared the machine."""
    runs = [ran(seconds=seconds, closeness=SAME_PARAMETERS) for seconds in (10.0, 30.0)]
    seconds = estimated(earlier=runs).seconds
    assert seconds == span(8, 30)


def test_a_run_without_the_same_kind_of_work_is_no_basis() -> None:
    """A search by words takes milliseconds, and says nothing of one that embeds."""
    by_words = ran(work=Work(), seconds=0.01, closeness=1)
    found = estimated(units=1, work=EMBEDDED, rates=Rates(passages_per_s=span(10)), earlier=[by_words])
    assert found.seconds == span(100)


def test_the_rest_is_the_index_unless_built_and_the_answers_without_a_record() -> None:
    phase = PhaseEstimate(calls=8, input_tokens=span(800), seconds=span(8, 16))

    def left(n_left: int, *, is_built: bool = False) -> list[float | None]:
        whole = Estimate(
            run_id="r", index=phase, answer=phase, index_is_built=is_built, n_answers=8, n_left=n_left
        )
        return [one.calls for one in phases_left(whole).values()]

    assert left(8) == [8, 8]
    assert left(2, is_built=True) == [2]
    assert left(0) == []


def test_a_sum_with_an_unknown_part_says_so_and_adds_the_start() -> None:
    summed = totals([PhaseEstimate(seconds=span(5, 6)), PhaseEstimate()], span(1, 2))["seconds"]
    assert (summed.value, summed.is_whole) == (span(6, 8), False)
