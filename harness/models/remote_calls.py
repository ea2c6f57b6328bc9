"""Model calls that another process makes: the process that runs a benchmark makes those of workers on other
machines.

So they share one journal, one budget and one limiter, no key leaves that process, and a call is kept in the
journal even if its worker is lost. A worker's transport sends a `RemoteCall` and receives `CallUpdate`s until it
is answered; `harness.models.remote_call_server` is the other side.
"""

import asyncio
import builtins
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

import httpx2
from pydantic import ConfigDict

from harness.core import errors
from harness.core.errors import BudgetExhausted, HarnessError
from harness.core.records import Record, Usage
from harness.models.metering import Meter, OpenCall, current_meter
from harness.models.reply_parsing import UnreadableReply
from harness.models.transport import response_of
from harness.store import StoredCall

_PLAIN = ("TypeError", "ValueError", "RuntimeError", "TimeoutError")


class RemoteCallError(Record):
    name: str
    what: str
    fix: str = ""
    usd: float = 0.0
    tokens: int = 0
    """For `BudgetExhausted`."""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        fields: dict[str, Any] = {"what": str(error)}
        if isinstance(error, HarnessError):
            fields = {name: getattr(error, name) for name in cls.model_fields if hasattr(error, name)}
        return cls(**{**fields, "name": type(error).__name__})

    def as_raised(self, request: httpx2.Request) -> Exception:
        """The exception to raise there: one of our classes, of the HTTP library's or a builtin, otherwise a
        RuntimeError that names it.
        """
        if self.name == BudgetExhausted.__name__:
            return BudgetExhausted(self.what, usd=self.usd, tokens=self.tokens)
        if self.name == UnreadableReply.__name__:
            return UnreadableReply(self.what)
        if self.name in _PLAIN:
            plain: type[Exception] = getattr(builtins, self.name)
            return plain(self.what)
        ours, http = getattr(errors, self.name, None), getattr(httpx2, self.name, None)
        if isinstance(ours, type) and issubclass(ours, HarnessError):
            return ours(self.what, self.fix)
        if isinstance(http, type) and issubclass(http, httpx2.TransportError):
            return http(self.what, request=request)
        return RuntimeError(f"{self.name}: {self.what}")


_USAGE_WAIT_S = 5.0
"""How long to wait for the usage of a call that its time limit cut off."""


class RelayLine(Record):
    """Base of both directions: one JSON line each, bodies in base64."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


class RemoteCall(RelayLine):
    """A request for a model call, or for its cancellation."""

    number: int
    """Number among this worker's calls."""
    scope: str = ""
    """Scope of the meter that pays: see `harness.store.CallKey`."""
    block: int = 0
    """`number` of that meter."""
    role: str = ""
    path: str = ""
    """Below the server's URL."""
    body: bytes = b""
    timeout_s: float | None = None
    is_withdrawn: bool = False
    """Cancel it, because its query has reached its time limit."""
    ends_block: bool = False
    """Not a call: no further calls follow in that block."""


class CallUpdate(RelayLine):
    """An update of a call; the last one is `answered` or `failed`."""

    number: int
    kind: Literal["waits", "goes_on", "waited", "counted", "answered", "failed"]
    seconds: float = 0.0
    """waited: the past seconds that were spent waiting for a limit of the provider."""
    usage: Usage = Usage()
    """counted."""
    paid_by: str | None = None
    """counted, for a replayed call: the run that paid."""
    started_at: str = ""
    wall_s: float = 0.0
    """counted, for a replayed call: its original start and duration."""
    status: int = 0
    content: bytes = b""
    """answered."""
    error: RemoteCallError | None = None

    @property
    def is_last(self) -> bool:
        return self.kind in {"answered", "failed"}


_Updates = tuple[asyncio.AbstractEventLoop, "asyncio.Queue[CallUpdate]"]


class RemoteCallClient:
    """A worker's calls in progress, each in the event loop that requested it; updates come from any thread."""

    def __init__(self, send: Callable[[RemoteCall], None]) -> None:
        self._send = send
        self._numbers = itertools.count()
        self._open: dict[int, _Updates] = {}

    @contextmanager
    def request(self, call: RemoteCall) -> "Iterator[tuple[int, asyncio.Queue[CallUpdate]]]":
        """Request the call; yields its number and the queue of its updates."""
        number, updates = next(self._numbers), asyncio.Queue[CallUpdate]()
        self._open[number] = (asyncio.get_running_loop(), updates)
        try:
            self._send(call.model_copy(update={"number": number}))
            yield number, updates
        finally:
            del self._open[number]

    def withdraw(self, number: int) -> None:
        self._send(RemoteCall(number=number, is_withdrawn=True))

    def end_block(self, scope: str, number: int) -> None:
        """Report that the meter of that number makes no more calls."""
        self._send(RemoteCall(number=0, scope=scope, block=number, ends_block=True))

    def handle(self, update: CallUpdate) -> None:
        """Deliver an update of a call; ignored if nothing waits for it."""
        if waiting := self._open.get(update.number):
            loop, updates = waiting
            loop.call_soon_threadsafe(updates.put_nowait, update)


@dataclass
class RemoteCallContext:
    """Replaces a `CallContext` if another process makes the calls."""

    client: RemoteCallClient
    fatal: HarnessError | None = None
    """As a `CallContext`'s."""

    budget_error: BudgetExhausted | None = None
    """Set if the budget refused a call."""

    def stop(self, error: HarnessError) -> None:
        """As a `CallContext`'s."""
        self.fatal = self.fatal or error
        if isinstance(error, BudgetExhausted):
            self.budget_error = error

    def close(self) -> None:
        """There is no journal here."""


class RemoteTransport(httpx2.AsyncBaseTransport):
    """Has another process send a role's requests, and charges their usage to the current meter."""

    def __init__(self, call_context: RemoteCallContext, role: str, base_path: str) -> None:
        self._call_context, self._role, self._base_path = call_context, role, base_path

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response; raises the error of the call."""
        meter, client = current_meter(), self._call_context.client
        call = RemoteCall(
            number=0,
            scope=meter.scope,
            block=meter.number,
            role=self._role,
            path=request.url.path.removeprefix(self._base_path),
            body=await request.aread(),
            timeout_s=request.extensions.get("timeout", {}).get("read"),
        )
        try:
            with meter.call() as under_way, client.request(call) as (number, updates):
                try:
                    last = await self._last_of(updates, under_way, meter)
                except asyncio.CancelledError:
                    client.withdraw(number)
                    # The time limit is reported, whatever the result of the call.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_USAGE_WAIT_S):
                            last = await self._last_of(updates, under_way, meter)
                            if last.error and isinstance(stopped := last.error.as_raised(request), HarnessError):
                                self._call_context.stop(stopped)
                    raise
                if last.error is not None:
                    raise last.error.as_raised(request)
                return response_of(last.status, last.content, request)
        except HarnessError as error:
            # A client may wrap the error, and a system may ignore it.
            self._call_context.stop(error)
            raise

    async def _last_of(
        self, updates: "asyncio.Queue[CallUpdate]", under_way: OpenCall, meter: Meter
    ) -> CallUpdate:
        """The last update of a call; the others are counted."""
        while not (update := await updates.get()).is_last:
            if update.kind == "waited":
                under_way.mark_waiting_since(time.monotonic() - update.seconds)
            elif update.kind != "counted":
                under_way.turn(waits=update.kind == "waits")
            elif update.paid_by is None:
                meter.add_call(self._role, update.usage)
            else:
                made = (update.wall_s, update.started_at, update.paid_by)
                meter.add_replayed(self._role, StoredCall("", b"", b"", update.usage, *made))
        return update
