"""How many requests at once and how fast, and how much of a provider's allowance is used.

In real time only orders and lower bounds are checked: a noisy machine may be slow. The rest is in virtual time.
"""

import asyncio
import itertools
import random
import time

import httpx2
import pytest
from virtual_time import run_in_virtual_time

from harness.config import GeneratorConfig
from harness.models.fake_faults import Arrival, FakeLimits
from harness.models.fake_model import FakeScript, FakeTransport
from harness.models.metering import Meter, OpenCall, Spans, metered
from harness.models.model_endpoint import Endpoint
from harness.models.rate_limits import AdaptiveLimiter, Pace
from harness.models.transport import CallContext, MeteredTransport

from .conftest import OpenSeam


class Crowd:
    """Requests that count how many of them are under way."""

    def __init__(self, limiter: AdaptiveLimiter) -> None:
        self.limiter = limiter
        self.active = self.most = 0
        self.starts: list[float] = []
        self.meter = Meter("index")

    async def request(self, takes_s: float = 0.001) -> None:
        with self.meter.call() as call:
            await self._request(call, takes_s)

    async def _request(self, call: OpenCall, takes_s: float) -> None:
        async with self.limiter.slot(call):
            self.starts.append(time.monotonic())
            self.active += 1
            self.most = max(self.most, self.active)
            assert self.active <= self.limiter.allowed
            await asyncio.sleep(takes_s)
            self.active -= 1


async def pass_through(limiter: AdaptiveLimiter, meter: Meter) -> None:
    with meter.call() as call:
        async with limiter.slot(call):
            pass


def refuse(limiter: AdaptiveLimiter, retry_after_s: float) -> None:
    """A request that was just made met a 429."""
    limiter.throttled(retry_after_s, refused_since=time.monotonic())


@pytest.mark.parametrize("allowed", [1, 3, 8])
async def test_never_more_than_allowed_are_under_way_and_all_come_through(allowed: int) -> None:
    crowd = Crowd(AdaptiveLimiter(allowed))
    await asyncio.gather(*(crowd.request() for _ in range(30)))
    assert crowd.most == allowed
    assert len(crowd.starts) == 30


def test_each_429_halves_the_allowance_and_a_round_of_successes_gives_about_one_back() -> None:
    limiter, halved = AdaptiveLimiter(8), []
    for _ in range(4):
        refuse(limiter, 0.0)
        halved.append(limiter.allowed)
    assert halved == [4, 2, 1, 1]
    seen = [limiter.allowed]
    for _ in range(60):
        limiter.succeeded()
        seen.append(limiter.allowed)
    assert seen == sorted(seen)
    assert set(seen) == set(range(1, 9))
    assert seen.count(4) >= 4, "a round of four requests gives back about one"


async def test_a_429_also_holds_back_those_that_were_already_waiting_for_their_start() -> None:
    crowd = Crowd(AdaptiveLimiter(4))
    refuse(crowd.limiter, 0.05)
    waiting = asyncio.create_task(crowd.request())
    await asyncio.sleep(0.01)
    began = time.monotonic()
    refuse(crowd.limiter, 0.2)
    await waiting
    assert crowd.starts[0] >= began + 0.2


async def test_a_rate_per_minute_spaces_the_starts() -> None:
    crowd = Crowd(AdaptiveLimiter(8, requests_per_minute=1200))
    began = time.monotonic()
    await asyncio.gather(*(crowd.request() for _ in range(5)))
    for n, start in enumerate(sorted(crowd.starts)):
        assert start >= began + n * 60 / 1200


async def test_a_place_is_given_back_after_an_error_and_after_a_cancelled_wait() -> None:
    crowd = Crowd(AdaptiveLimiter(1))
    call = OpenCall(Spans(), Spans())
    with pytest.raises(KeyError):
        async with crowd.limiter.slot(call):
            raise KeyError
    async with crowd.limiter.slot(call):
        queued = asyncio.create_task(crowd.request())
        await asyncio.sleep(0.01)
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
    refuse(crowd.limiter, 0.3)
    delayed = asyncio.create_task(crowd.request())
    await asyncio.sleep(0.01)
    delayed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delayed
    assert crowd.starts == []
    await asyncio.wait_for(crowd.request(), timeout=30)
    assert len(crowd.starts) == 1


# Whose doing a wait is


async def test_while_nothing_may_start_everybody_waits_for_the_provider_also_without_a_place() -> None:
    crowd = Crowd(AdaptiveLimiter(1))
    refuse(crowd.limiter, 0.2)
    began = time.monotonic()
    await asyncio.gather(*(crowd.request() for _ in range(5)))
    assert 0.15 <= crowd.meter.throttled_s <= time.monotonic() - began


async def test_a_place_that_the_provider_keeps_empty_is_waited_for_because_of_the_provider() -> None:
    """Two queries share a limiter that a 429 has halved to one place: the second one waits for the first."""
    limiter, first, second = AdaptiveLimiter(2), Meter("first"), Meter("second")
    refuse(limiter, 0.0)

    with first.call() as call:
        async with limiter.slot(call):
            waiting = asyncio.create_task(pass_through(limiter, second))
            await asyncio.sleep(0.1)
    await waiting
    assert first.throttled_s < 0.05
    assert second.throttled_s >= 0.09


async def test_who_waited_behind_a_request_that_was_refused_waited_for_the_provider() -> None:
    limiter, behind = AdaptiveLimiter(1), Meter("behind")

    with Meter("refused").call() as call:
        async with limiter.slot(call):
            began = time.monotonic()
            waiting = asyncio.create_task(pass_through(limiter, behind))
            await asyncio.sleep(0.1)
            limiter.throttled(0.0, refused_since=began)
    await waiting
    assert behind.throttled_s >= 0.09


async def test_a_call_that_is_cancelled_while_it_waits_keeps_what_it_waited() -> None:
    crowd = Crowd(AdaptiveLimiter(1))
    refuse(crowd.limiter, 5.0)
    waiting = [asyncio.create_task(crowd.request()) for _ in range(3)]
    await asyncio.sleep(0.1)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert 0.09 <= crowd.meter.throttled_s < 5.0


REQUESTS, TOKENS = 60, 20_000
LARGE, SMALL = (200, 800), (50, 250)
"""Words of a prompt: with the large ones tokens are the limit, with the small ones requests."""
MINUTES = 6


async def _ask(over: MeteredTransport, worker: int, words: tuple[int, int], failed: list[int]) -> None:
    draw = random.Random(worker)
    for number in itertools.count():
        text = f"{worker} {number} " + "word " * draw.randint(*words)
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 9}
        with metered(Meter(f"answer/{worker}-{number}/0/1")):
            request = httpx2.Request("POST", "http://fake.invalid/v1/chat/completions", json=body)
            reply = await over.handle_async_request(request)
        failed += [reply.status_code] if reply.status_code != 200 else []


async def _asked(
    call_context: CallContext, limits: FakeLimits, at_once: int, words: tuple[int, int]
) -> tuple[list[Arrival], int]:
    """What the server saw from the second minute on, and how many calls failed."""
    inner = FakeTransport(FakeScript(reply="yes", latency_s=0.1, limits=limits))
    endpoint = Endpoint(GeneratorConfig(), "", AdaptiveLimiter(at_once))
    over, failed, began = MeteredTransport(call_context, endpoint, inner), list[int](), time.monotonic()
    tasks = [asyncio.create_task(_ask(over, worker, words, failed)) for worker in range(at_once)]
    await asyncio.wait(tasks, timeout=60 * MINUTES)
    assert inner.limit is not None
    return [one for one in inner.limit.seen if one.at_s >= began + 60], len(failed)


def _used(seen: list[Arrival]) -> float:
    through = [one for one in seen if one.was_let_through]
    return max(len(through) / REQUESTS, sum(one.tokens for one in through) / TOKENS) / (MINUTES - 1)


CASES = [
    (("sliding", "bucket")[(row + column) % 2], says, at_once, LARGE)
    for row, says in enumerate(("nothing", "retry-after", "headers", "both"))
    for column, at_once in enumerate((8, 1, 64))
] + [("sliding", "nothing", 8, SMALL), ("bucket", "nothing", 8, SMALL)]
"""Every two of the properties of a server and its client together."""
QUICK = [("sliding", "nothing", 8, LARGE)]


@pytest.mark.parametrize(
    ("kind", "says", "at_once", "words"),
    [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow) for case in CASES],
)
def test_most_of_an_allowance_is_used_hardly_anything_refused_and_nothing_lost(
    open_seam: OpenSeam, kind: str, says: str, at_once: int, words: tuple[int, int]
) -> None:
    limits = FakeLimits(
        requests=REQUESTS,
        tokens=TOKENS,
        kind="bucket" if kind == "bucket" else "sliding",
        says_retry_after=says in {"retry-after", "both"},
        says_headers=says in {"headers", "both"},
    )
    call_context = open_seam()
    call_context.backoff = random.Random(0)
    seen, failed = run_in_virtual_time(_asked(call_context, limits, at_once, words))
    refused = sum(not one.was_let_through for one in seen)
    assert _used(seen) >= 0.9
    assert refused / len(seen) < 0.02
    assert failed == 0


async def _starts(pace: Pace, amount: float, number: int) -> list[float]:
    """When so many began, each as soon as it could."""
    began, found = time.monotonic(), list[float]()
    for _ in range(number):
        await asyncio.sleep(max(0.0, pace.next_s - time.monotonic()))
        found.append(time.monotonic() - began)
        pace.begin(amount, waited=True)
        pace.end(amount)
    return found


def test_no_minute_holds_more_than_the_user_set_wherever_it_begins() -> None:
    starts = run_in_virtual_time(_starts(Pace(60), 1, 300))
    assert max(sum(start <= other < start + 60 for other in starts) for start in starts) <= 60
    assert starts[-1] <= 1.05 * 300


def test_a_server_that_says_that_much_is_left_is_asked_faster_than_one_that_says_little() -> None:
    gaps = []
    for left in (60, 30, 0):
        pace = Pace()
        pace.update_limit(60, left)
        starts = run_in_virtual_time(_starts(pace, 1, 3))
        gaps.append(starts[-1] - starts[0])
    assert gaps[0] < 0.1 < gaps[1] < gaps[2]
    assert gaps[2] > 1.9


def test_a_limit_that_cannot_be_makes_nobody_slower_than_one_start_a_minute() -> None:
    pace = Pace()
    pace.update_limit(1e-9, 0.0)
    assert run_in_virtual_time(_starts(pace, 1, 2))[1] == 60.0


def test_a_single_refusal_after_a_few_answers_is_no_limit() -> None:
    async def refused_once() -> float:
        limiter, meter = AdaptiveLimiter(1), Meter("index")
        for number in range(12):
            with meter.call() as call:
                async with limiter.slot(call):
                    began = time.monotonic()
                    if number == 2:
                        limiter.throttled(6.0, refused_since=began)
                    else:
                        await asyncio.sleep(0.1)
                        limiter.succeeded(began)
        return meter.throttled_s

    assert 6.0 <= run_in_virtual_time(refused_once()) < 6.5
