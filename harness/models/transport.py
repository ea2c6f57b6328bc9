"""The metered HTTP transport under every OpenAI-compatible client (httpx2, as in openai 3).

A request: journal look-up -> limiter -> budget -> server, with retries -> journal -> meter. Headers, and so keys,
are never stored. See ARCHITECTURE.md, "A model call".
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

import httpx2

from harness.core.errors import HarnessError
from harness.core.hashing import digest
from harness.core.records import Usage
from harness.models.budget import Budget, BudgetReservation, Call, RolePrices
from harness.models.metering import Meter, OpenCall, current_meter
from harness.models.model_endpoint import LIMIT, Endpoint, Outcome, fault
from harness.models.parameter_adapter import with_body
from harness.models.rate_limits import Limiters
from harness.models.reply_parsing import (
    ACCEPTED_CODINGS,
    SanitizedReply,
    UnreadableReply,
    allowances,
    is_cut_prompt,
    read_usage,
    sanitize_reply,
    without_key,
)
from harness.models.template_tokens import without_template_tokens
from harness.store import CallKey, Dialect, Dialects, Journal, StoredCall

_MAX_BACKOFF_S = 60.0
_MAX_PROBE_S = 8.0
"""Maximum wait before a server that refuses without a hint is tried again."""
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


@dataclass
class CallContext:
    """State that all calls of one worker process share."""

    journal: Journal
    servers: Mapping[str, str] = field(default_factory=dict)
    """Role -> identity of its server (provider, URL, weights), if runs with different servers share the journal:
    the same request to another server is another call."""
    fatal: HarnessError | None = None
    """Set if no further query can succeed. A system may ignore the exception; the runner checks this."""
    dialects: Dialects = field(default_factory=Dialects)
    begun_in: Mapping[str, Dialect] = field(default_factory=dict)
    """Role -> the dialect at the start of the run."""
    noted: Callable[[str, Dialect], None] = lambda _role, _dialect: None
    """noted(role, dialect) is called with changes to a model's requests."""
    budget: Budget = field(default_factory=Budget)
    """The remaining budget; unlimited by default."""
    prices: RolePrices | None = None
    """The prices of this run, if runs with other prices share the budget."""
    limiters: Limiters = field(default_factory=Limiters)
    backoff: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - jitter, no secret
    say: Callable[[str], None] = lambda _line: None
    _flights: WeakValueDictionary[CallKey, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def stop(self, error: HarnessError) -> None:
        """Record the reason why no further query can succeed; the first one counts."""
        self.fatal = self.fatal or error

    def close(self) -> None:
        self.journal.close()

    def flight(self, key: CallKey) -> asyncio.Lock:
        """Held while that call is in progress, so that two simultaneous equal judgements pay once."""
        return self._flights.setdefault(key, asyncio.Lock())


class MeteredTransport(httpx2.AsyncBaseTransport):
    """Sends requests through `inner`, once each: those in the journal are answered from there."""

    def __init__(self, call_context: CallContext, endpoint: Endpoint, inner: httpx2.AsyncBaseTransport) -> None:
        self._call_context = call_context
        self._endpoint = endpoint
        self._inner = inner
        self._has_said = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the server or the journal; counted on the current meter either way."""
        try:
            return await self._carry(request)
        except HarnessError as error:
            # Also if the journal's disk is full. A client may wrap the error, and a system may ignore it.
            self._call_context.stop(error)
            raise
        except asyncio.CancelledError:
            self._call_context.fatal = self._call_context.fatal or self._call_context.budget.refusal
            raise

    async def _carry(self, request: httpx2.Request) -> httpx2.Response:
        meter = current_meter()
        body = await request.aread()
        parsed = _parse_request(body)
        if (plain := without_template_tokens(parsed)) is not parsed:
            parsed, request = plain, with_body(request, plain)
            body = await request.aread()
        role, path = self._endpoint.role, request.url.path.rsplit("/", 1)[-1]
        asked = [path, parsed]
        server = self._call_context.servers.get(role)
        request_digest = digest([*asked, server] if server else asked)
        key = CallKey(meter.scope, role, request_digest, meter.next_occurrence(role, request_digest))
        async with self._call_context.flight(key):
            if stored := self._call_context.journal.find(key):
                # The journal stores only the tokens of the usage.
                kept = read_usage(stored.response).model_dump(include={"cut_calls", "reasoning_tokens"})
                usage = _with_cut_prompt(stored.usage.model_copy(update=kept), parsed, stored.response)
                meter.add_replayed(role, replace(stored, usage=usage))
                return response_of(200, stored.response, request)
            if self._call_context.fatal:
                raise self._call_context.fatal
            room = self._endpoint.reasoning_tokens
            call = Call(role, path, parsed, len(body), room)
            with self._call_context.budget.hold(
                call, self._call_context.journal, self._call_context.prices
            ) as hold:
                reply = await self._pay(key, request, meter, hold)
            return response_of(reply.status, reply.content, request)

    async def _pay(
        self, key: CallKey, request: httpx2.Request, meter: Meter, hold: BudgetReservation
    ) -> SanitizedReply:
        started_at, start = datetime.now(UTC).isoformat(), time.monotonic()
        body, answered = await request.aread(), False
        try:
            with meter.call() as call:
                reply = await self._send(request, meter, call, hold)
            # A damaged body is no answer: from the journal it would damage every resumed build too.
            answered = reply.status == 200 and not reply.damage
        finally:
            if not answered:
                meter.give_back_occurrence(key.role, key.request_digest, key.occurrence)
        if not answered:
            return reply
        wall_s = time.monotonic() - start
        paid = StoredCall(hold.call.model, body, reply.content, reply.usage, wall_s, started_at)
        usage = _with_cut_prompt(reply.usage, hold.call.request, reply.content)
        meter.add_call(key.role, usage)
        kept = self._call_context.journal.add(key, paid, reservation=hold.note).response
        hold.paid(reply.usage)
        return reply if kept is reply.content else replace(reply, content=kept)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _send(
        self, request: httpx2.Request, meter: Meter, call: OpenCall, hold: BudgetReservation
    ) -> SanitizedReply:
        """Try until there is a final answer; `call` is told when it waits for a limit of the provider.

        A 429 is no failure: it is retried as long as the server answers any request.
        """
        failures = 0
        while True:
            async with self._endpoint.limiter.slot(call, hold.call.n_bytes):
                await hold.take()
                began = time.monotonic()
                try:
                    reply = await self._try(request, meter, hold)
                except asyncio.CancelledError:
                    # Cut off by a time limit: the call was made, at unknown cost.
                    meter.add_call(self._endpoint.role, Usage(calls=1, unmetered_calls=1))
                    raise
                is_limit = isinstance(reply, SanitizedReply) and reply.status == 429
                wait_s = self._update_limiter(reply, began, hold, failures)
                if is_limit:
                    # Without the limit, the refused request would not have been made.
                    call.mark_waiting_since(began)
            if isinstance(reply, SanitizedReply):
                self._endpoint.raise_if_permanent(reply)
            failures += not is_limit
            if not (reason := fault(reply)) or failures > self._endpoint.config.max_retries:
                if not isinstance(reply, SanitizedReply):
                    raise self._endpoint.final_error(reply)
                if reason and reply.status == 200:
                    raise UnreadableReply(f"the {self._endpoint.role} answers with {reason}")
                return reply
            self._call_context.journal.add_fault(
                datetime.now(UTC).isoformat(), meter.scope, self._endpoint.role, reason, wait_s
            )
            if is_limit:
                self._endpoint.check_throttled_time()
            else:
                await asyncio.sleep(wait_s)

    async def _try(self, request: httpx2.Request, meter: Meter, hold: BudgetReservation) -> Outcome:
        """One try: a reply or an error, without keys."""
        # Give up the reservation of an unanswered call: while it waits to be tried again, calls that wait for that
        # room may hold every slot of the limiter.
        status, limit_s = 0, request.extensions.get("timeout", {}).get("read")
        request.headers["accept-encoding"] = ACCEPTED_CODINGS
        try:
            async with asyncio.timeout(limit_s) as limit:
                response = await self._inner.handle_async_request(request)
                status = response.status_code
                reply: Outcome = await sanitize_reply(response, request.url.path)
        except _NEVER_SENT as error:
            hold.release()
            return without_key(error)
        except (httpx2.TransportError, UnreadableReply) as error:
            reply = without_key(error)
        except TimeoutError:
            if not limit.expired():
                raise
            reply = httpx2.ReadTimeout(f"no whole reply within {limit_s:g} s", request=request)
        if isinstance(reply, SanitizedReply) and status != 200:
            hold.release()
        elif fault(reply):
            hold.charge_upper_bound()
            if status == 200:
                # It was answered, so it was paid, at unknown cost.
                meter.add_call(self._endpoint.role, Usage(calls=1, unmetered_calls=1))
        return reply

    def _update_limiter(self, reply: Outcome, began: float, hold: BudgetReservation, failures: int) -> float:
        """Report the result to the limiter; returns the seconds to wait before the next try, if there is one."""
        limiter, n_bytes = self._endpoint.limiter, hold.call.n_bytes
        if isinstance(reply, SanitizedReply):
            limiter.update_limits(allowances(reply.headers))
        if not (reason := fault(reply)):
            usage = reply.usage if isinstance(reply, SanitizedReply) else Usage()
            known = None if usage.unmetered_calls else usage.input_tokens + usage.output_tokens
            limiter.succeeded(began, n_bytes, known)
            return 0.0
        wait_s = self._endpoint.requested_wait_s(reply, self._say_once)
        if reason != LIMIT:
            # Full jitter (Brooker, "Exponential Backoff And Jitter", 2015): spreads calls that failed together.
            backoff_s = self._call_context.backoff.uniform(0.1, min(_MAX_BACKOFF_S, 0.5 * 2.0**failures))
            return backoff_s if wait_s is None else wait_s
        if wait_s is None:
            cap_s = self._endpoint.config.max_retry_after_s
            longest_s = min(_MAX_PROBE_S, cap_s, 2.0 ** min(10, limiter.refusals))
            wait_s = self._call_context.backoff.uniform(0.5 * longest_s, longest_s)
        limiter.throttled(wait_s, began, n_bytes)
        return wait_s

    def _say_once(self, line: str) -> None:
        if not self._has_said:
            self._has_said = True
            self._call_context.say(line)


def _with_cut_prompt(usage: Usage, request: Mapping[str, Any], content: bytes) -> Usage:
    is_cut = is_cut_prompt(request, usage, content)
    return usage.model_copy(update={"cut_prompts": 1}) if is_cut else usage


def _parse_request(body: bytes) -> dict[str, Any]:
    parsed = json.loads(body or b"{}")
    if not isinstance(parsed, dict):
        raise TypeError("a model request must be a JSON object")
    if parsed.get("stream"):
        raise TypeError("streamed calls are not supported: their usage would not be counted")
    return parsed


def response_of(status: int, content: bytes, request: httpx2.Request) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=content, request=request)
