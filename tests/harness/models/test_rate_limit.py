"""How much of a provider's allowance is used, and how much of what is asked is refused: in virtual time, through
the whole seam.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Callable

import httpx2
import pytest
from virtual_time import run_in_virtual_time

from harness.models.fake_model import FakeScript, FakeTransport
from harness.models.fake_rate_limits import Arrival, FakeLimits
from harness.models.limiter import AdaptiveLimiter
from harness.models.metering import Meter, metered
from harness.models.model_endpoint import Endpoint
from harness.models.rate_limit import Pace
from harness.models.transport import CallContext, MeteredTransport

OpenSeam = Callable[[], CallContext]

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
    endpoint = Endpoint("generator", "", 6, AdaptiveLimiter(at_once), "")
    over, failed, began = MeteredTransport(call_context, endpoint, inner), list[int](), time.monotonic()
    tasks = [asyncio.create_task(_ask(over, worker, words, failed)) for worker in range(at_once)]
    await asyncio.wait(tasks, timeout=60 * MINUTES)
    assert inner.limit is not None
    return [one for one in inner.limit.seen if one.at_s >= began + 60], len(failed)


def _used(seen: list[Arrival]) -> float:
    through = [one for one in seen if one.was_let_through]
    return max(len(through) / REQUESTS, sum(one.tokens for one in through) / TOKENS) / (MINUTES - 1)


CASES = [
    (kind, says, at_once, words)
    for kind in ("sliding", "bucket")
    for says in ("nothing", "retry-after", "headers", "both")
    for at_once in (1, 8, 64)
    for words in (LARGE, SMALL)
    if words == LARGE or (at_once == 8 and says == "nothing")
]
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


def test_how_long_a_server_has_let_nothing_through_ends_with_an_answer() -> None:
    async def refused_then_answered() -> list[float]:
        limiter, found = AdaptiveLimiter(1), []
        for _ in range(2):
            limiter.throttled(0.0, refused_since=time.monotonic())
            await asyncio.sleep(30)
        found.append(limiter.refused_s)
        limiter.succeeded(began=time.monotonic())
        return [*found, limiter.refused_s]

    assert run_in_virtual_time(refused_then_answered()) == [60.0, 0.0]


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
