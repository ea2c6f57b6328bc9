"""A budget at the call context: never passed, nothing that was paid is lost, what was cut off counts."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from journals import usage_by_role

from harness.config import GeneratorConfig
from harness.core.errors import BudgetExhausted, HarnessError
from harness.core.records import Usage
from harness.models.budget import Allowance, Amount, Budget, Call
from harness.models.fake_model import FakeScript, FakeTransport
from harness.models.metering import Meter, metered
from harness.models.model_endpoint import Endpoint
from harness.models.rate_limits import AdaptiveLimiter
from harness.models.reply_parsing import UnreadableReply
from harness.models.transport import CallContext, MeteredTransport
from harness.store.call_journal import paid_by_runs

from .conftest import Lab, OpenSeam


class Price:
    """Input a dollar a thousand, output four."""

    def usd(self, usage: Usage) -> float:
        return usage.input_tokens / 1000 + usage.output_tokens / 250


class Serving(FakeTransport):
    """The fake with a latency of its own for each request, counting what is under way."""

    def __init__(self, draw: random.Random | None = None, **script: Any) -> None:
        super().__init__(FakeScript(**script))
        self._draw = draw
        self.served = self._model.served
        self.under_way = self.most_at_once = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            await asyncio.sleep(self._draw.uniform(0, 0.003) if self._draw else 0)
            return await super().handle_async_request(request)
        finally:
            self.under_way -= 1

    @property
    def usage(self) -> Usage:
        return Usage(input_tokens=self.served["input_tokens"], output_tokens=self.served["output_tokens"])


def limited(open_seam: OpenSeam, **allowance: Any) -> CallContext:
    call_context = open_seam()
    call_context.budget = Budget(Allowance(**allowance))
    return call_context


def transport(
    call_context: CallContext, inner: httpx2.AsyncBaseTransport, at_once: int = 8, max_retries: int = 0
) -> MeteredTransport:
    endpoint = Endpoint(GeneratorConfig(max_retries=max_retries), "", AdaptiveLimiter(at_once))
    return MeteredTransport(call_context, endpoint, inner)


async def ask(over: MeteredTransport, text: str, max_tokens: int | None = 20) -> httpx2.Response:
    limit = {} if max_tokens is None else {"max_tokens": max_tokens}
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **limit}
    request = httpx2.Request("POST", "http://fake.invalid/v1/chat/completions", json=body)
    return await over.handle_async_request(request)


async def ask_all(over: MeteredTransport, texts: list[str], workers: int = 8) -> tuple[int, int]:
    """(answered, refused) by so many at once; each ends at its first refusal."""
    waiting, answered, refused = iter(texts), 0, 0

    async def work() -> None:
        nonlocal answered, refused
        for text in waiting:
            try:
                await ask(over, text)
                answered += 1
            except BudgetExhausted:
                refused += 1
                return

    with metered(Meter("index")):
        await asyncio.gather(*(work() for _ in range(workers)))
    return answered, refused


def paid(tmp_path: Path) -> Usage:
    return sum(paid_by_runs(tmp_path / "calls.sqlite").values(), Usage())


def random_texts(draw: random.Random, n: int) -> list[str]:
    """From sparse to as dense as the fake counts: every character a token."""
    alphabets = ["abcdefgh", "a b c d ", "!?.,;:", "\u00e9\u4e2d "]
    return [
        "".join(draw.choices(draw.choice(alphabets), k=int(draw.paretovariate(0.7) * 8) % 900)) for _ in range(n)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limited", ["tokens", "usd"])
async def test_no_limit_is_ever_passed_and_most_of_it_is_used(lab: Lab, seed: int, limited: str) -> None:
    draw = random.Random(seed)
    limit = draw.choice([4_000, 9_000, 15_000])
    call_context, server = lab.open_seam(), Serving(draw)
    allowance = Allowance(tokens=limit) if limited == "tokens" else Allowance(usd=limit / 1000)
    call_context.budget = Budget(allowance, {"generator": Price()})
    answered, refused = await ask_all(transport(call_context, server), random_texts(draw, 2_000))
    assert answered > 0
    assert refused == 8
    spent = server.usage.input_tokens + server.usage.output_tokens
    if limited == "usd":
        spent = round(1000 * Price().usd(server.usage))
    # What is left at the end is less than the bound of one call: 900 characters of 3 bytes, what surrounds them.
    assert limit - 3_000 < spent <= limit
    assert server.most_at_once > 1
    # Nothing that was served is missing from the journal, and no reservation is left.
    assert (
        usage_by_role(lab.tmp_path / "calls.sqlite")["generator"].output_tokens == server.served["output_tokens"]
    )
    assert paid(lab.tmp_path).input_tokens == server.served["input_tokens"]
    assert (paid(lab.tmp_path).calls, call_context.budget.spent.tokens) == (answered, sum_tokens(server.usage))


def sum_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


async def test_what_was_paid_is_replayed_for_nothing_and_a_larger_budget_goes_on(open_seam: OpenSeam) -> None:
    texts = [f"question {number} " + "word " * 30 for number in range(30)]
    server, call_context = Serving(), limited(open_seam, tokens=900)
    answered, _ = await ask_all(transport(call_context, server), texts)
    assert 0 < answered < 30
    same = limited(open_seam, tokens=900 - call_context.budget.spent.tokens)
    assert (await ask_all(transport(same, server), texts))[0] == answered
    assert server.served["calls"] == answered
    larger = limited(open_seam, tokens=100_000)
    assert await ask_all(transport(larger, server), texts) == (30, 0)
    assert server.served["calls"] == 30


async def test_a_call_that_fits_once_another_has_ended_waits_for_it(open_seam: OpenSeam) -> None:
    # Two bounds do not fit at once, three real usages do.
    call_context, server = limited(open_seam, tokens=300), Serving(latency_s=0.01)
    assert await ask_all(
        transport(call_context, server), ["word " * 20 + str(n) for n in range(3)], workers=3
    ) == (3, 0)
    assert server.most_at_once == 1


async def test_what_is_under_way_ends_before_anybody_is_refused(open_seam: OpenSeam) -> None:
    call_context, server = limited(open_seam, tokens=400), Serving(latency_s=0.05)
    over = transport(call_context, server)
    with metered(Meter("index")):
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ask(over, "short"))
            await asyncio.sleep(0.01)
            with pytest.raises(BudgetExhausted, match="generator call may take up to 1,0"):
                await ask(over, "x" * 1000)
            assert server.under_way == 0
    assert first.result().status_code == 200
    assert isinstance(call_context.fatal, BudgetExhausted)


async def test_calls_to_retry_give_up_their_room_and_no_call_waits_for_ever(open_seam: OpenSeam) -> None:
    call_context, server = limited(open_seam, tokens=330), Serving(fault="http_500", fault_times=2)
    over = transport(call_context, server, at_once=2, max_retries=3)
    async with asyncio.timeout(5):
        answered, refused = await ask_all(over, [f"q{number}" for number in range(4)])
    assert (answered, refused) == (4, 0)


async def test_a_refused_request_costs_nothing(open_seam: OpenSeam, tmp_path: Path) -> None:
    call_context = limited(open_seam, tokens=1000)
    with metered(Meter("index")):
        assert (await ask(transport(call_context, Serving(fault="http_500")), "a")).status_code == 500
    assert (paid(tmp_path), call_context.budget.spent) == (Usage(), Amount())


@pytest.mark.parametrize("fault", ["no_usage", "malformed", "hang"])
async def test_an_answer_uncounted_or_cut_off_counts_with_its_upper_bound(lab: Lab, fault: str) -> None:
    call_context = limited(lab.open_seam, tokens=1000)
    with metered(Meter("index")), suppress(UnreadableReply, TimeoutError):
        async with asyncio.timeout(0.3):
            await ask(transport(call_context, Serving(fault=fault)), "a" * 100)
    assert 150 < sum_tokens(paid(lab.tmp_path)) == call_context.budget.spent.tokens < 250
    assert call_context.fatal is None


async def test_a_time_limit_that_ends_in_the_queue_stops_the_run_and_fails_no_query(
    open_seam: OpenSeam,
) -> None:
    call_context = limited(open_seam, tokens=350)
    over = transport(call_context, Serving(latency_s=0.2))
    with metered(Meter("index")):
        first = asyncio.create_task(ask(over, "one"))
        await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await ask(over, "two" * 80)
        assert isinstance(call_context.fatal, BudgetExhausted)
        await first


async def test_a_server_that_counts_more_than_bytes_is_reserved_for_accordingly() -> None:
    budget, call = Budget(Allowance(tokens=10**6)), Call("generator", "completions", {"max_tokens": 10}, 100)
    assert budget.at_most(call) == Usage(calls=1, input_tokens=100, output_tokens=10)
    budget.learn(call, Usage(input_tokens=30))
    assert budget.at_most(call).input_tokens == 100
    budget.learn(call, Usage(input_tokens=400))
    assert budget.at_most(call).input_tokens == 500


async def test_no_call_without_a_bound_on_its_output_is_made_under_a_budget(open_seam: OpenSeam) -> None:
    call_context, server = limited(open_seam, tokens=1000), Serving()
    with metered(Meter("index")), pytest.raises(HarnessError, match="sets no max_tokens"):
        await ask(transport(call_context, server), "a", max_tokens=None)
    assert server.served["calls"] == 0
    with metered(Meter("index")):
        assert (await ask(transport(open_seam(), server), "a", max_tokens=None)).status_code == 200


async def test_no_call_is_begun_after_the_time(open_seam: OpenSeam, monkeypatch: pytest.MonkeyPatch) -> None:
    call_context, server = limited(open_seam, begin_until=9.0), Serving()
    over = transport(call_context, server)
    with metered(Meter("index")):
        monkeypatch.setattr("harness.models.budget.monotonic", lambda: 8.0)
        await ask(over, "in time")
        monkeypatch.setattr("harness.models.budget.monotonic", lambda: 9.0)
        with pytest.raises(BudgetExhausted, match="the time is over"):
            await ask(over, "late")
    assert server.served["calls"] == 1
