"""The seam: an HTTP transport under every OpenAI-compatible client (httpx2, as openai 3 uses).

One request passes: journal look-up -> limiter -> budget -> server, with retries -> journal -> meter. Headers, and
so keys, are never stored. See ARCHITECTURE.md, "Model calls".
"""

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from weakref import WeakValueDictionary

import httpx2

from harness.errors import HarnessError, ModelUnavailable
from harness.identity import digest
from harness.models.budget import Budget, Call, Hold
from harness.models.heard import without_key
from harness.models.limiter import AdaptiveLimiter
from harness.models.metering import Meter, OpenCall, current_meter
from harness.records import Usage
from harness.store import CallKey, Journal, StoredCall

_RETRIED_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})
_MAX_BACKOFF_S = 60.0
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass
class Seam:
    """What every call of one worker process shares."""

    journal: Journal
    servers: Mapping[str, str] = field(default_factory=dict)
    """Role -> what its server is (provider, URL, weights), where the journal is shared by runs that may differ in
    it: the same request to another server is another call."""
    fatal: HarnessError | None = None
    """Set when no further query can succeed. A system may swallow the exception; the runner looks here."""
    budget: Budget = field(default_factory=Budget)
    """What may still be paid; by default no limit."""
    backoff: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - jitter, no secret
    _flights: WeakValueDictionary[CallKey, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def flight(self, key: CallKey) -> asyncio.Lock:
        """Held while that call is under way, so that two judgements that ask the same at once pay once."""
        return self._flights.setdefault(key, asyncio.Lock())


@dataclass(frozen=True)
class Endpoint:
    """One role's way to its server."""

    role: str
    base_url: str
    max_retries: int
    limiter: AdaptiveLimiter
    fix: str
    """What the user can do when it cannot be reached, such as the command that starts the server."""


class MeteredTransport(httpx2.AsyncBaseTransport):
    """Sends requests through `inner`, once each: what the journal holds is answered from there."""

    def __init__(self, seam: Seam, endpoint: Endpoint, inner: httpx2.AsyncBaseTransport) -> None:
        self._seam = seam
        self._endpoint = endpoint
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The server's response, or the journal's; counted on the current meter either way."""
        try:
            return await self._carry(request)
        except HarnessError as error:
            # Also a full disk under the journal: a client may wrap it, a system may swallow it.
            self._seam.fatal = error
            raise
        except asyncio.CancelledError:
            self._seam.fatal = self._seam.fatal or self._seam.budget.refusal
            raise

    async def _carry(self, request: httpx2.Request) -> httpx2.Response:
        meter = current_meter()
        body = await request.aread()
        parsed = _parse_request(body)
        role = self._endpoint.role
        asked = [request.url.path.rsplit("/", 1)[-1], parsed]
        server = self._seam.servers.get(role)
        request_digest = digest([*asked, server] if server else asked)
        key = CallKey(meter.scope, role, request_digest, meter.next_occurrence(role, request_digest))
        async with self._seam.flight(key):
            if stored := self._seam.journal.find(key):
                meter.add_replayed(role, stored)
                return _response(200, stored.response, request)
            if self._seam.fatal:
                raise self._seam.fatal
            call = Call(role, request.url.path.rsplit("/", 1)[-1], parsed, len(body))
            with self._seam.budget.hold(call, self._seam.journal) as hold:
                return await self._pay(key, request, meter, hold)

    async def _pay(self, key: CallKey, request: httpx2.Request, meter: Meter, hold: Hold) -> httpx2.Response:
        """Make the call, keep its answer in the journal and count it."""
        started_at, start = datetime.now(UTC).isoformat(), time.monotonic()
        body, answered = await request.aread(), False
        try:
            with meter.call() as call:
                response = await self._send(request, meter, call, hold)
                content = await response.aread()
            # A garbled body is no answer: in the journal it would garble every resumed build too.
            answered = response.status_code == 200 and _is_json(content)
        finally:
            if not answered:
                meter.give_back_occurrence(key.role, key.request_digest, key.occurrence)
        if response.status_code == 200:
            usage = read_usage(content)
            paid = StoredCall(hold.call.model, body, content, usage, time.monotonic() - start, started_at)
            meter.add_call(key.role, usage)
            if answered:
                content = self._seam.journal.add(key, paid, reservation=hold.note).response
                hold.paid(usage)
        return _response(response.status_code, content, request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _send(self, request: httpx2.Request, meter: Meter, call: OpenCall, hold: Hold) -> httpx2.Response:
        """Try until the server answers for good; `call` hears when it waits for a limit of the provider."""
        limiter = self._endpoint.limiter
        for attempt in range(self._endpoint.max_retries + 1):
            last = attempt == self._endpoint.max_retries
            async with limiter.slot(call):
                await hold.take()
                began = time.monotonic()
                try:
                    reply = without_key(await self._try(request, hold))
                except asyncio.CancelledError:
                    # Cut off by a time limit: it was made, and nobody knows what it used.
                    meter.add_call(self._endpoint.role, Usage(calls=1, unmetered_calls=1))
                    raise
                wait_s = self._wait_s(reply, attempt) if _is_fault(reply) else 0.0
                if is_limit := isinstance(reply, httpx2.Response) and reply.status_code == 429:
                    # Without the limit the request that was refused would not have been made either.
                    limiter.throttled(wait_s, refused_since=began)
                    call.waited_since(began)
            if isinstance(reply, httpx2.Response):
                await self._refuse_hopeless(reply)
                if not _is_fault(reply):
                    limiter.succeeded()
                if last or not _is_fault(reply):
                    return reply
            elif last:
                raise self._give_up(reply)
            reason = f"HTTP {reply.status_code}" if isinstance(reply, httpx2.Response) else type(reply).__name__
            self._seam.journal.add_fault(
                datetime.now(UTC).isoformat(), meter.scope, self._endpoint.role, reason, wait_s
            )
            call.turn(waits=is_limit)
            await asyncio.sleep(wait_s)
            call.turn(waits=False)
        raise AssertionError("the last try returns or raises")

    async def _try(self, request: httpx2.Request, hold: Hold) -> httpx2.Response | httpx2.TransportError:
        # What is not answered gives up its reservation here: while it waits to be tried again, calls that wait for
        # that room may hold every slot of the limiter.
        try:
            response = await self._inner.handle_async_request(request)
            await response.aread()
        except _NEVER_SENT as error:
            hold.unpaid()
            return error
        except httpx2.TransportError as error:
            hold.lost()
            return error
        if response.status_code != 200:
            hold.unpaid()
        return response

    async def _refuse_hopeless(self, response: httpx2.Response) -> None:
        """Raise where no other query could succeed either: wrong key, unknown model, no money left."""
        status = response.status_code
        if status not in {401, 403, 404, 429}:
            return
        message, code = read_error(await response.aread())
        where = f"{self._endpoint.role} at {self._endpoint.base_url}"
        if status in {401, 403}:
            raise ModelUnavailable(f"{where} refused the key (HTTP {status}: {message})", "set a valid key")
        if status == 404:
            raise ModelUnavailable(f"{where} has no such model or path (HTTP 404: {message})", self._endpoint.fix)
        if code in _OUT_OF_MONEY:
            raise ModelUnavailable(
                f"{where} refused: the quota is used up ({message})", "add credit, then run again"
            )

    def _give_up(self, error: httpx2.TransportError) -> Exception:
        if not isinstance(error, httpx2.ConnectError | httpx2.RemoteProtocolError | httpx2.ReadError):
            return error
        where = f"the {self._endpoint.role} at {self._endpoint.base_url}"
        return ModelUnavailable(
            f"cannot reach {where} ({error or 'it closed the connection'})", self._endpoint.fix
        )

    def _wait_s(self, fault: httpx2.Response | httpx2.TransportError, attempt: int) -> float:
        if isinstance(fault, httpx2.Response):
            asked = retry_after_s(fault.headers.get("retry-after"))
            if asked is not None:
                return asked
        # Full jitter (Brooker, "Exponential Backoff And Jitter", 2015): clients that failed together part ways.
        return self._seam.backoff.uniform(0.1, min(_MAX_BACKOFF_S, 0.5 * 2.0**attempt))


def _is_fault(reply: httpx2.Response | httpx2.TransportError) -> bool:
    """Whether it may go well when it is tried again."""
    return not isinstance(reply, httpx2.Response) or reply.status_code in _RETRIED_STATUS


def read_usage(content: bytes) -> Usage:
    """The usage block of an OpenAI-compatible answer; without one, a call whose tokens are unknown."""
    try:
        usage = json.loads(content)["usage"]
        details = usage.get("prompt_tokens_details") or {}
        return Usage(
            calls=1,
            input_tokens=int(usage["prompt_tokens"]),
            output_tokens=int(usage.get("completion_tokens") or 0),
            cached_tokens=int(details.get("cached_tokens") or 0),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return Usage(calls=1, unmetered_calls=1)


def read_error(content: bytes) -> tuple[str, str]:
    """(message, code) of an OpenAI-compatible error body, whatever its shape; the message in 200 characters."""
    try:
        error = json.loads(content)["error"]
        message, code = (error["message"], error.get("code")) if isinstance(error, dict) else (error, "")
    except (ValueError, TypeError, KeyError):
        message, code = content.decode(errors="replace"), ""
    return " ".join(str(message).split())[:200], str(code)


def retry_after_s(header: str | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """Seconds from a Retry-After header (RFC 9110 10.2.3: a number or a date); None if absent or unreadable."""
    if not header:
        return None
    try:
        seconds = float(header)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - now()).total_seconds())
    except (ValueError, TypeError):
        return None


def _parse_request(body: bytes) -> dict[str, Any]:
    parsed = json.loads(body or b"{}")
    if not isinstance(parsed, dict):
        raise TypeError("a model request must be a JSON object")
    if parsed.get("stream"):
        raise TypeError("the seam does not carry streamed calls: their usage would not be counted")
    return parsed


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def _response(status: int, content: bytes, request: httpx2.Request) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=content, request=request)
