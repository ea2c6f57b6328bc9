"""How many requests at once and how fast. Only orders and lower bounds: a noisy machine may be slow."""

import asyncio
import time

import pytest

from harness.models.limiter import AdaptiveLimiter


class Crowd:
    """Requests that count how many of them are under way."""

    def __init__(self, limiter: AdaptiveLimiter) -> None:
        self.limiter = limiter
        self.active = self.most = 0
        self.starts: list[float] = []

    async def request(self, takes_s: float = 0.001) -> None:
        async with self.limiter.slot():
            self.starts.append(time.monotonic())
            self.active += 1
            self.most = max(self.most, self.active)
            assert self.active <= self.limiter.allowed
            await asyncio.sleep(takes_s)
            self.active -= 1


@pytest.mark.parametrize("allowed", [1, 3, 8])
async def test_never_more_than_allowed_are_under_way_and_all_come_through(allowed: int) -> None:
    crowd = Crowd(AdaptiveLimiter(allowed))
    await asyncio.gather(*(crowd.request() for _ in range(30)))
    assert crowd.most == allowed
    assert len(crowd.starts) == 30


def test_each_429_halves_the_allowance_down_to_one() -> None:
    limiter, seen = AdaptiveLimiter(8), []
    for _ in range(5):
        limiter.throttled(0.0)
        seen.append(limiter.allowed)
    assert seen == [4, 2, 1, 1, 1]


async def test_successes_give_the_allowance_back_about_one_more_per_round_and_never_beyond_the_start() -> None:
    limiter = AdaptiveLimiter(8)
    for _ in range(3):
        limiter.throttled(0.0)
    seen = [limiter.allowed]
    for _ in range(60):
        await limiter.succeeded()
        seen.append(limiter.allowed)
    assert seen == sorted(seen)
    assert set(seen) == set(range(1, 9))
    assert seen.count(4) >= 4, "a round of four requests gives back about one"


async def test_after_a_429_nothing_starts_before_retry_after_has_passed() -> None:
    crowd = Crowd(AdaptiveLimiter(4))
    began = time.monotonic()
    crowd.limiter.throttled(0.15)
    await asyncio.gather(*(crowd.request() for _ in range(3)))
    assert min(crowd.starts) >= began + 0.15


async def test_a_429_also_holds_back_those_that_were_already_waiting_for_their_start() -> None:
    crowd = Crowd(AdaptiveLimiter(4))
    crowd.limiter.throttled(0.05)
    waiting = asyncio.create_task(crowd.request())
    await asyncio.sleep(0.01)
    began = time.monotonic()
    crowd.limiter.throttled(0.2)
    await waiting
    assert crowd.starts[0] >= began + 0.2


async def test_a_shorter_wait_does_not_cut_a_longer_one() -> None:
    crowd = Crowd(AdaptiveLimiter(4))
    began = time.monotonic()
    crowd.limiter.throttled(0.15)
    crowd.limiter.throttled(0.0)
    await crowd.request()
    assert crowd.starts[0] >= began + 0.15


async def test_after_a_429_only_the_smaller_number_is_under_way() -> None:
    crowd = Crowd(AdaptiveLimiter(8))
    crowd.limiter.throttled(0.0)
    await asyncio.gather(*(crowd.request() for _ in range(20)))
    assert crowd.most == 4


async def test_a_rate_per_minute_spaces_the_starts() -> None:
    crowd = Crowd(AdaptiveLimiter(8, requests_per_minute=1200))
    began = time.monotonic()
    await asyncio.gather(*(crowd.request() for _ in range(5)))
    for n, start in enumerate(sorted(crowd.starts)):
        assert start >= began + n * 60 / 1200


async def test_a_place_is_given_back_after_an_error_and_after_a_cancelled_wait() -> None:
    crowd = Crowd(AdaptiveLimiter(1))
    with pytest.raises(KeyError):
        async with crowd.limiter.slot():
            raise KeyError
    async with crowd.limiter.slot():
        queued = asyncio.create_task(crowd.request())
        await asyncio.sleep(0.01)
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
    crowd.limiter.throttled(0.3)
    delayed = asyncio.create_task(crowd.request())
    await asyncio.sleep(0.01)
    delayed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delayed
    assert crowd.starts == []
    await asyncio.wait_for(crowd.request(), timeout=30)
    assert len(crowd.starts) == 1
