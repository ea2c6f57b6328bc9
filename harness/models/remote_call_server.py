"""Makes the model calls of workers on other machines: their requests go through the transport here.

See `harness.models.remote_calls`. A call whose worker is lost goes on: it is paid, so it is kept, and the query's
next try finds it in the journal.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2

from harness.config import ModelConfig
from harness.core.records import Usage
from harness.models.clients import access_of, open_transport
from harness.models.llama_server import ServerAccess
from harness.models.metering import Meter, OpenCall, Spans, charged
from harness.models.remote_calls import CallUpdate, RemoteCall, RemoteCallError
from harness.models.transport import CallContext, MeteredTransport
from harness.store import StoredCall

SendUpdate = Callable[[CallUpdate], None]


class RoleHandler(Protocol):
    async def send(self, call: RemoteCall) -> tuple[int, bytes]:
        """Status and body; exceptions are raised where the call was made."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class _ModelHandler:
    transport: MeteredTransport
    url: str
    key: str

    async def send(self, call: RemoteCall) -> tuple[int, bytes]:
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        times = dict.fromkeys(("connect", "read", "write", "pool"), call.timeout_s)
        request = httpx2.Request(
            "POST", f"{self.url}{call.path}", headers=headers, content=call.body, extensions={"timeout": times}
        )
        response = await self.transport.handle_async_request(request)
        return response.status_code, await response.aread()

    async def close(self) -> None:
        await self.transport.aclose()


class RemoteCallServer:
    """Makes the calls of one run's workers over one transport, within one event loop."""

    def __init__(
        self,
        call_context: CallContext,
        models: Mapping[str, ModelConfig],
        servers: Mapping[str, ServerAccess],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """`models` by role; `servers`: those that were started for them."""
        self._call_context, self._loop = call_context, loop
        self._handlers: dict[str, RoleHandler] = {
            role: _ModelHandler(
                open_transport(config, call_context, servers.get(role)), *access_of(config, servers.get(role))
            )
            for role, config in models.items()
        }
        self._under_way: set[asyncio.Task[None]] = set()

    def serve(self, role: str, handler: RoleHandler) -> None:
        """Handle the calls of a role that is not a model."""
        self._handlers[role] = handler

    def open(self, tell: SendUpdate) -> "RemoteCallSession":
        """A session for one worker, which receives updates by `tell`, called in the loop."""
        return RemoteCallSession(self._loop, self._begin, tell)

    def _begin(self, call: RemoteCall, meter: Meter, tell: SendUpdate) -> asyncio.Task[None]:
        task = self._loop.create_task(self._carry(call, meter, tell))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _carry(self, call: RemoteCall, meter: Meter, tell: SendUpdate) -> None:
        """Make one call, charged to `meter`."""

        def report(kind: Any, **fields: Any) -> None:
            tell(CallUpdate(number=call.number, kind=kind, **fields))

        try:
            with charged(_ForwardingMeter(meter, report)):
                status, content = await self._handlers[call.role].send(call)
        except asyncio.CancelledError as cut_off:
            report("failed", error=RemoteCallError.of(self._call_context.budget.refusal or cut_off))
        except Exception as error:
            report("failed", error=RemoteCallError.of(error))
        else:
            report("answered", status=status, content=content)

    async def close(self) -> None:
        """Cut off running calls, close connections and journal."""
        for task in tuple(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        for handler in self._handlers.values():
            with suppress(Exception):
                await handler.close()
        self._call_context.close()


class RemoteCallSession:
    """One worker's calls. Its meters count repeated requests of a query like a local process, so that a query
    retried by another worker finds the calls of its first try.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        begin: Callable[[RemoteCall, Meter, SendUpdate], asyncio.Task[None]],
        tell: SendUpdate,
    ) -> None:
        self._loop, self._begin, self._tell = loop, begin, tell
        self._meters: dict[tuple[str, int], Meter] = {}
        self._calls: dict[int, asyncio.Task[None]] = {}

    def take(self, call: RemoteCall) -> None:
        """Make or cancel the call; from any thread. The worker's calls begin in the order of `take`."""
        self._loop.call_soon_threadsafe(self._take, call)

    def _take(self, call: RemoteCall) -> None:
        if call.is_withdrawn:
            if task := self._calls.get(call.number):
                task.cancel()
            return
        block = (call.scope, call.block)
        if call.ends_block:
            self._meters.pop(block, None)
            return
        meter = self._meters.setdefault(block, Meter(*block))
        task = self._calls[call.number] = self._begin(call, meter, self._tell)
        task.add_done_callback(lambda _: self._calls.pop(call.number, None))


Report = Callable[..., None]
"""report(kind, **fields) tells the worker about its call."""


class _ForwardingMeter(Meter):
    """The meter of one remote call: the worker's own meter counts what is reported; repeated requests are counted
    by the query's meter here.
    """

    def __init__(self, query: Meter, report: Report) -> None:
        super().__init__(query.scope)
        self._query, self._report = query, report

    def next_occurrence(self, role: str, request_digest: str) -> int:
        return self._query.next_occurrence(role, request_digest)

    def give_back_occurrence(self, role: str, request_digest: str, occurrence: int) -> None:
        self._query.give_back_occurrence(role, request_digest, occurrence)

    def add_call(self, role: str, usage: Usage, *, paid_by: str | None = None) -> None:
        del role  # the worker knows it
        self._report("counted", usage=usage, paid_by=paid_by)

    def add_replayed(self, role: str, call: StoredCall) -> None:
        del role
        fields = {name: getattr(call, name) for name in ("usage", "paid_by", "started_at", "wall_s")}
        self._report("counted", **fields)

    @contextmanager
    def call(self) -> Iterator[OpenCall]:
        yield _ReportedCall(self._report)


class _ReportedCall(OpenCall):
    def __init__(self, report: Report) -> None:
        super().__init__(Spans(), Spans())
        self._report = report

    def turn(self, *, waits: bool) -> None:
        if waits != self._waits:
            self._report("waits" if waits else "goes_on")
        super().turn(waits=waits)

    def mark_waiting_since(self, moment_s: float) -> None:
        self._report("waited", seconds=max(0.0, time.monotonic() - moment_s))
