"""Who is charged, for what, and how much waiting was nobody's latency."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.models.metering import Meter, current_meter, metered, stage
from harness.records import Usage

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])))


@settings(deadline=None)
@given(SPANS)
def test_throttled_time_is_the_union_of_all_waits_and_fits_in_the_span(spans: list[tuple[int, int]]) -> None:
    meter = Meter("index")
    for start, end in spans:
        meter.add_throttled(start, end)
    union = {second for start, end in spans for second in range(start, end)}
    assert meter.throttled_s == len(union)
    assert meter.throttled_s <= max((end for _, end in spans), default=0) - min((s for s, _ in spans), default=0)


def test_waits_side_by_side_count_once_and_gaps_do_not_count() -> None:
    meter = Meter("index")
    for start, end in ((10.0, 12.0), (11.0, 13.0), (11.5, 11.6), (20.0, 21.0)):
        meter.add_throttled(start, end)
    assert meter.throttled_s == 4.0


def test_a_wait_that_ends_before_it_starts_is_none() -> None:
    meter = Meter("index")
    meter.add_throttled(2.0, 1.0)
    assert meter.throttled_s == 0.0


def test_a_call_outside_any_scope_is_a_bug() -> None:
    with pytest.raises(RuntimeError, match="nobody would be charged"):
        current_meter()
    with pytest.raises(RuntimeError, match="nobody would be charged"), stage("retrieve"):
        pass


def test_a_scope_ends_with_its_block_also_after_an_exception() -> None:
    outer = Meter("outer")
    with metered(outer):
        with pytest.raises(KeyError), metered(Meter("inner")):
            raise KeyError
        assert current_meter() is outer
    with pytest.raises(RuntimeError):
        current_meter()


def test_usage_is_kept_apart_by_role_and_a_replayed_call_counts_too() -> None:
    meter = Meter("index")
    meter.add_call("generator", Usage(calls=1, input_tokens=3))
    meter.add_call("generator", Usage(calls=1, input_tokens=4), paid_by="an earlier run")
    meter.add_call("embedder", Usage(calls=1, input_tokens=5))
    assert meter.usage == {
        "generator": Usage(calls=2, input_tokens=7),
        "embedder": Usage(calls=1, input_tokens=5),
    }
    assert meter.replayed_calls == 1
    assert meter.replayed_from == {"an earlier run": {"generator": Usage(calls=1, input_tokens=4)}}


def test_the_same_request_is_numbered_within_its_scope_and_role() -> None:
    meter = Meter("index")
    numbers = [meter.next_occurrence(role, digest) for role, digest in ("ga", "ga", "gb", "ea", "ga")]
    assert numbers == [0, 1, 0, 0, 2]
    assert Meter("index").next_occurrence("g", "a") == 0


def test_the_number_of_a_failed_call_goes_to_the_next_one_with_the_same_request() -> None:
    meter = Meter("index")
    assert [meter.next_occurrence("g", "a") for _ in range(3)] == [0, 1, 2]
    meter.give_back_occurrence("g", "a", 2)
    meter.give_back_occurrence("g", "a", 0)
    assert meter.next_occurrence("g", "b") == 0
    assert [meter.next_occurrence("g", "a") for _ in range(3)] == [0, 2, 3]


async def test_tasks_side_by_side_charge_their_own_meters() -> None:
    everyone_is_in = asyncio.Barrier(5)

    async def work(name: str) -> str:
        with metered(Meter(name)):
            await everyone_is_in.wait()
            async with asyncio.TaskGroup() as group:
                below = group.create_task(asyncio.sleep(0, current_meter))
            assert below.result()().scope == name
            return current_meter().scope

    names = [f"answer/q{n}/0/1" for n in range(5)]
    assert await asyncio.gather(*map(work, names)) == names


async def test_tasks_and_threads_started_inside_charge_the_meter_around_them() -> None:
    def in_a_thread() -> Meter:
        return current_meter()

    async def in_a_task() -> Meter:
        return await asyncio.to_thread(in_a_thread)

    with metered(Meter("index")) as meter:
        assert await asyncio.to_thread(in_a_thread) is meter
        assert await asyncio.create_task(in_a_task()) is meter


async def test_a_bare_thread_belongs_to_nobody_and_says_so() -> None:
    """A library with threads of its own would lose the scope: that is an error, never an uncounted call."""
    with metered(Meter("index")), ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="nobody"):
        pool.submit(current_meter).result()
    assert threading.active_count() >= 1


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
