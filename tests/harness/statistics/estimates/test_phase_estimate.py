"""Formulas, measured rates and earlier runs to one estimate that says what it is from."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.core.records import Estimate, ExpectedCalls, PhaseEstimate, Usage, Work
from harness.statistics.estimates import Allowed, Earlier, MeasuredCost, Rates, SecondsFit, Task, predict
from harness.statistics.estimates.rates import Replies
from harness.statistics.estimates.remaining_cost import phases_left, totals

ASKED = Work(calls=(ExpectedCalls(calls=1, input_characters=4000, output_tokens_most=64),))
MEASURED = Rates(
    n_calls=9,
    characters_per_token=5.0,
    replies={64: Replies(output_tokens=3.0, cached_share=0.5)},
    seconds=SecondsFit(per_call=1.0, per_input_token=0.01, per_output_token=0.1),
)


def a_dollar_a_token(usage: Mapping[str, Usage]) -> float:
    return float(sum(used.input_tokens + used.output_tokens for used in usage.values()))


def task(**wishes: Any) -> Task:
    plain: dict[str, Any] = {
        "units": 10,
        "work": ASKED,
        "rates": Rates(),
        "earlier": (),
        "price": a_dollar_a_token,
        "embedder_is_metered": False,
        "size": 10,
    }
    return Task(**{**plain, **wishes})


def ran(calls: int = 20, tokens: tuple[int, int] = (20_000, 40), closeness: int = 3, **wishes: Any) -> Earlier:
    usage = Usage(calls=calls, input_tokens=tokens[0], output_tokens=tokens[1])
    work = wishes.pop("work", ASKED)
    return Earlier(MeasuredCost(10, {"generator": usage}, **wishes), work, size=10, closeness=closeness)


def test_without_any_run_tokens_are_four_characters_and_replies_their_longest() -> None:
    estimate = predict(task())
    assert (estimate.calls, estimate.input_tokens, estimate.output_tokens) == (10, 10_000, 640)
    assert estimate.usd == 10_640
    assert estimate.seconds is None
    assert estimate.basis == "formula"
    assert estimate.notes == (
        "4 characters per token are assumed",
        "replies without an earlier measurement are assumed to have their maximum length",
    )


def test_measured_rates_replace_the_assumptions() -> None:
    estimate = predict(task(rates=MEASURED))
    assert (estimate.input_tokens, estimate.output_tokens, estimate.cached_tokens) == (8000, 30, 4000)
    # 10 calls, 4,000 tokens that no cache held, 30 tokens written.
    assert estimate.seconds == pytest.approx(10 + 40 + 3)
    assert estimate.basis == "formula, at the model's measured rates"
    assert estimate.notes == ("seconds are those of model calls only: no other time was measured yet",)
    assert predict(task(rates=MEASURED, timed=[(5.0, 20.0)])).seconds == pytest.approx(53 + 40)


def test_an_earlier_run_of_the_same_size_is_what_is_expected() -> None:
    estimate = predict(task(earlier=[ran()], rates=MEASURED))
    assert (estimate.calls, estimate.input_tokens, estimate.output_tokens) == (20, 20_000, 40)
    assert estimate.basis == "formula, corrected by 1 run"


def test_runs_with_other_parameters_count_only_where_there_is_none_with_the_same() -> None:
    other = ran(calls=90, closeness=1)
    assert predict(task(earlier=[ran(), other])).calls == 20
    alone = predict(task(earlier=[other]))
    assert alone.calls == 90
    assert "the runs that correct the formula had other parameters" in alone.notes


def test_a_run_whose_tokens_nobody_counted_corrects_nothing() -> None:
    unmetered = Earlier(MeasuredCost(10, {"generator": Usage(calls=20, unmetered_calls=20)}), ASKED, closeness=3)
    assert predict(task(earlier=[unmetered])).basis == "formula"


def test_a_slower_run_makes_the_next_one_slower() -> None:
    rates, quick = MEASURED, predict(task(rates=MEASURED, earlier=[ran()])).seconds
    slow = predict(task(rates=rates, earlier=[ran(seconds=900.0)])).seconds
    assert slow == pytest.approx(900.0)
    assert quick is not None
    assert quick < 900.0


def test_a_limit_of_tokens_a_minute_is_the_least_that_it_takes_for_either_model() -> None:
    # 8,000 tokens are read and 30 written.
    assert predict(task(rates=MEASURED, generator=Allowed(tokens=803))).seconds == pytest.approx(600)
    assert predict(task(rates=MEASURED, generator=Allowed(requests=2, tokens=803))).seconds == pytest.approx(600)
    assert predict(task(rates=MEASURED, generator=Allowed(tokens=10**9))).seconds == pytest.approx(53)
    after = predict(task(rates=MEASURED, generator=Allowed(tokens=803), timed=[(5.0, 20.0)])).seconds
    assert after == pytest.approx(640)
    embedding = Work(embedded_texts=10, embedded_characters=4000)
    timed = {"units": 10, "work": embedding, "size": 10, "timed": [(10.0, 3.0)], "embedder_is_metered": True}
    assert predict(task(**timed)).seconds == pytest.approx(3)
    assert predict(task(**timed, embedder=Allowed(tokens=1000))).seconds == pytest.approx(600)


def test_the_least_that_limits_allow_is_said_where_no_call_was_timed_yet() -> None:
    estimate = predict(task(generator=Allowed(tokens=1064)))
    assert estimate.seconds is None
    assert any("at least 10.0 min" in note for note in estimate.notes)


def test_a_system_without_a_formula_is_its_own_earlier_runs() -> None:
    estimate = predict(task(work=None, units=30, earlier=[ran(work=None)], rates=MEASURED))
    assert (estimate.calls, estimate.input_tokens) == (60, 60_000)
    assert estimate.basis == "1 earlier run"


def test_a_system_without_a_formula_and_without_a_run_is_unknown_and_not_nothing() -> None:
    estimate = predict(task(work=None))
    assert (estimate.calls, estimate.input_tokens, estimate.usd, estimate.seconds) == (None, None, None, None)
    assert estimate.basis == "unknown"
    assert totals([estimate])["calls"].value is None


def test_a_model_without_a_price_has_no_dollars() -> None:
    estimate = predict(task(price=lambda _: None))
    assert estimate.usd is None
    assert any("no price" in note for note in estimate.notes)


def test_seconds_outside_of_calls_follow_a_line_where_several_sizes_were_timed() -> None:
    embedding = Work(embedded_texts=1000)
    timed = [(10.0, 3.0), (110.0, 13.0)]
    estimate = predict(task(units=1, work=embedding, size=1000, timed=timed))
    assert estimate.seconds == pytest.approx(2 + 100)
    one_size = predict(task(units=1, work=embedding, size=1000, timed=timed[:1]))
    assert one_size.seconds == pytest.approx(300)
    assert any("probably too high" in note for note in one_size.notes)


def test_only_an_embedder_that_counts_tokens_is_paid_for_them() -> None:
    embedding = Work(embedded_texts=5, embedded_characters=400)
    assert predict(task(units=1, work=embedding)).usd == 0
    assert predict(task(units=1, work=embedding, embedder_is_metered=True)).usd == 100


def estimate_of(n_left: int, *, is_built: bool = False) -> Estimate:
    phase = PhaseEstimate(calls=8, input_tokens=800, output_tokens=80, usd=8.0, seconds=None, basis="formula")
    return Estimate(
        run_id="r", index=phase, answer=phase, index_is_built=is_built, n_answers=8, n_left=n_left, judging={}
    )


def test_what_is_left_is_the_index_unless_built_and_the_answers_without_a_record() -> None:
    assert [phase.calls for phase in phases_left(estimate_of(8))] == [8, 8]
    assert [phase.calls for phase in phases_left(estimate_of(2, is_built=True))] == [2]
    assert phases_left(estimate_of(0)) == []


def test_a_sum_with_an_unknown_part_says_so() -> None:
    known = PhaseEstimate(seconds=5.0)
    summed = totals([known, PhaseEstimate()])["seconds"]
    assert (summed.value, summed.is_whole) == (5.0, False)
