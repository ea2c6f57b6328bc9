"""The time limit of a query is one of latency: it stands while its provider lets nothing through."""

import asyncio
import time

from virtual_time import run_in_virtual_time

from harness.models.metering import Meter
from harness.runner.executing.query_time_limit import latency_limit


async def _work(meter: Meter, stretches: list[tuple[bool, float]]) -> None:
    """Calls of the model, one after another: whether it waits for its provider, and how long it takes."""
    for waits, seconds in stretches:
        with meter.call() as call:
            call.turn(waits=waits)
            await asyncio.sleep(seconds)


async def _took_s(limit_s: float, stretches: list[tuple[bool, float]], told: list[float]) -> tuple[float, bool]:
    """Seconds until the query ended, and whether its time limit ended it."""
    meter, began = Meter("answer/q/0/1"), time.monotonic()
    try:
        async with latency_limit(limit_s, meter, told.append):
            await _work(meter, stretches)
    except TimeoutError:
        return time.monotonic() - began, True
    return time.monotonic() - began, False


def test_a_query_that_waits_for_its_provider_has_all_its_time_left_afterwards() -> None:
    told: list[float] = []
    took_s, is_late = run_in_virtual_time(_took_s(10.0, [(False, 4.0), (True, 3600.0), (False, 5.9)], told))
    assert (round(took_s, 3), is_late) == (3609.9, False)
    assert min(told) >= 4.0, "who watches it hears how long it may go on at least"


def test_a_query_that_works_longer_than_its_limit_ends_at_its_limit_beside_what_it_waited() -> None:
    took_s, is_late = run_in_virtual_time(_took_s(10.0, [(False, 4.0), (True, 100.0), (False, 60.0)], []))
    assert is_late
    assert 110.0 <= took_s <= 110.1


def test_without_any_wait_the_limit_is_wall_time() -> None:
    told: list[float] = []
    assert run_in_virtual_time(_took_s(10.0, [(False, 60.0)], told)) == (10.0, True)
    assert told == []
