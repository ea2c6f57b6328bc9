"""Who is charged, for what, and how much waiting was nobody's latency."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.records import Usage
from harness.models.metering import Meter, OpenCall, Spans, covered_s, current_meter, metered, stage

CALLS = st.lists(st.lists(st.sampled_from([None, True, False]), max_size=15), max_size=5)
"""Of each call and second: whether it waits for its provider; None: it is not open."""


class Clock:
    """The meter's time, which a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("harness.models.metering.time.monotonic", lambda: self.now)


def play(meter: Meter, clock: Clock, calls: list[list[bool | None]]) -> None:
    """Open, turn and close calls as `calls` says, one second after the other."""
    under_way: dict[int, tuple[ExitStack, OpenCall]] = {}
    for second in range(max(map(len, calls), default=0) + 1):
        clock.now = float(second)
        for number, states in enumerate(calls):
            waits = states[second] if second < len(states) else None
            if waits is None and number in under_way:
                under_way.pop(number)[0].close()
            elif waits is not None:
                if number not in under_way:
                    stack = ExitStack()
                    under_way[number] = stack, stack.enter_context(meter.call())
                under_way[number][1].turn(waits=waits)


@settings(deadline=None)
@given(CALLS)
def test_throttled_are_the_seconds_in_which_all_open_calls_wait(
    calls: list[list[bool | None]],
) -> None:
    meter, at_once = Meter("index"), list(zip_longest(*calls))
    with pytest.MonkeyPatch.context() as monkeypatch:
        play(meter, Clock(monkeypatch), calls)
    is_open = [[waits for waits in second if waits is not None] for second in at_once]
    assert meter.throttled_s == sum(bool(waiting) and all(waiting) for waiting in is_open)


def test_an_evaluation_waits_while_all_its_open_judgements_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, clock = Meter("evaluation"), Clock(monkeypatch)
    judgements: list[list[bool | None]] = [
        [True, True, True, False],
        [None, True, False, None],
        [None, None, None, None, True],
    ]
    for waits in judgements:
        play(judgement := Meter("judgement"), clock, [waits])
        whole.absorb(judgement)
    assert whole.throttled_s == 3.0


def test_waiting_found_out_later_is_throttled_and_an_open_call_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meter, clock = Meter("index"), Clock(monkeypatch)
    with meter.call() as call:
        clock.now = 3.0
        call.mark_waiting_since(1.0)
        clock.now = 4.0
        call.turn(waits=True)
        clock.now = 6.0
        assert meter.throttled_s == 4.0
        clock.now = 7.0
    assert meter.throttled_s == 5.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-5, 20)).map(lambda pair: (pair[0], sum(pair)))))
def test_spans_side_by_side_count_once_and_the_gaps_between_them_do_not(spans: list[tuple[int, int]]) -> None:
    assert covered_s(spans) == len({second for start, end in spans for second in range(start, end)})


def test_spans_that_meet_take_no_more_memory_than_one() -> None:
    spans = Spans()
    for number in range(100_000):
        spans.add(number, number + 1)
    assert covered_s(spans.list()) == 100_000
    assert len(spans.list()) < 2_000


def test_what_cached_vectors_took_counts_as_usage_and_as_no_call_of_a_journal() -> None:
    """A latency would else be blamed on an interruption."""
    meter, total = Meter("index"), Meter("total")
    meter.add_cached({"a": "one", "b": "one", "c": "two"}, 3.0)
    used = {"one": Usage(calls=2, input_tokens=40), "two": Usage(calls=1, input_tokens=9)}
    for payer, usage in used.items():
        meter.add_cached_usage(payer, "embedder", usage)
    total.absorb(meter)
    for each in (meter, total):
        assert each.usage == {"embedder": Usage(calls=3, input_tokens=49)}
        assert each.cached_usage == {payer: {"embedder": usage} for payer, usage in used.items()}
        assert each.replayed_from == {}
        assert (each.replayed_calls, each.saved_s, each.paid) == (0, 3.0, {})


def test_the_number_of_a_failed_call_goes_to_the_next_one_with_the_same_request() -> None:
    meter = Meter("index")
    assert [meter.next_occurrence("g", "a") for _ in range(3)] == [0, 1, 2]
    meter.give_back_occurrence("g", "a", 2)
    meter.give_back_occurrence("g", "a", 0)
    assert meter.next_occurrence("g", "b") == 0
    assert [meter.next_occurrence("g", "a") for _ in range(3)] == [0, 2, 3]


async def test_tasks_and_threads_started_inside_charge_the_meter_around_them() -> None:
    def in_a_thread() -> Meter:
        return current_meter()

    async def in_a_task() -> Meter:
        return await asyncio.to_thread(in_a_thread)

    with metered(Meter("index")) as meter:
        assert await asyncio.to_thread(in_a_thread) is meter
        assert await asyncio.create_task(in_a_task()) is meter


async def test_a_bare_thread_belongs_to_no_query() -> None:
    """A library with threads of its own would lose the scope: an error, never an uncounted call."""
    with metered(Meter("index")), ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="nobody"):
        pool.submit(current_meter).result()


def test_the_time_of_a_stage_adds_up_also_when_it_fails() -> None:
    with metered(Meter("index")) as meter:
        with stage("retrieve"):
            time.sleep(0.01)
        first = meter.stages_s["retrieve"]
        with pytest.raises(KeyError), stage("retrieve"):
            time.sleep(0.01)
            raise KeyError
        with stage("generate"):
            pass
    assert first >= 0.01
    assert meter.stages_s["retrieve"] >= first + 0.01
    assert set(meter.stages_s) == {"retrieve", "generate"}
