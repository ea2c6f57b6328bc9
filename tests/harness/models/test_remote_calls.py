"""Calls that a worker asks for and another process makes: counted and refused as if it made them itself."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from journals import usage_by_role

from harness.config import GeneratorConfig
from harness.core.errors import BudgetExhausted, HarnessError, ModelUnavailable
from harness.core.records import Usage
from harness.models.clients import OpenAIChat, build_chat
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.models.metering import Meter, metered
from harness.models.remote_call_server import RemoteCallServer, RemoteCallSession
from harness.models.remote_calls import (
    CallUpdate,
    RemoteCall,
    RemoteCallClient,
    RemoteCallContext,
    RemoteCallError,
)
from harness.models.transport import CallContext
from harness.protocols import Message

from .conftest import OpenSeam, Serve

OpenFar = Callable[..., "Far"]


class Far:
    """A desk and the workers for which it calls, in one loop; every line between them is JSON on the way."""

    def __init__(self, call_context: CallContext, config: GeneratorConfig) -> None:
        self.call_context, self.config = call_context, config
        self.desk = RemoteCallServer(call_context, {"generator": config}, {}, asyncio.get_running_loop())
        self.heard: list[CallUpdate] = []
        self.chats: list[OpenAIChat] = []

    def worker(self) -> tuple[OpenAIChat, RemoteCallContext]:
        client: RemoteCallClient

        def tell(update: CallUpdate) -> None:
            self.heard.append(CallUpdate.model_validate_json(update.model_dump_json()))
            client.handle(self.heard[-1])

        session: RemoteCallSession = self.desk.open(tell)
        client = RemoteCallClient(
            lambda call: session.take(RemoteCall.model_validate_json(call.model_dump_json()))
        )
        call_context = RemoteCallContext(client)
        chat = build_chat(self.config, call_context)
        assert chat is not None
        self.chats.append(chat)
        return chat, call_context

    async def close(self) -> None:
        for chat in self.chats:
            await chat.close()
        await self.desk.close()


@pytest.fixture
async def afar(open_seam: OpenSeam, no_tls: None) -> AsyncIterator[OpenFar]:
    """afar(server, seam=None, **config) -> a desk over the journal of this test, closed with it."""
    async with AsyncExitStack() as stack:

        def start(server: FakeServer, call_context: CallContext | None = None, **settings: Any) -> Far:
            fields = {"provider": "openai-compatible", "model": "m", "base_url": server.base_url, **settings}
            far = Far(call_context or open_seam(), GeneratorConfig(**fields))
            stack.push_async_callback(far.close)
            return far

        yield start


def ask(text: str = "Which river?") -> list[Message]:
    return [Message("user", text)]


async def test_the_same_request_twice_is_two_calls_and_in_a_second_try_the_same_two(
    serve: Serve, afar: OpenFar
) -> None:
    server = serve()
    far = afar(server)
    for n_paid in (2, 2):
        chat, _ = far.worker()
        with metered(Meter("answer/q/0/1")):
            await chat.complete(ask())
            await chat.complete(ask())
        assert server.model.served["calls"] == n_paid


async def test_a_call_that_a_time_limit_ends_is_withdrawn_and_counts_as_made(serve: Serve, afar: OpenFar) -> None:
    far = afar(serve(FakeScript(fault="hang")))
    chat, _ = far.worker()
    with metered(Meter("answer/q/0/1")) as meter, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await chat.complete(ask())
    assert meter.usage["generator"] == Usage(calls=1, unmetered_calls=1)
    assert far.heard[-1].kind == "failed"


async def test_a_refused_key_stops_the_worker_with_the_line_of_any_run(serve: Serve, afar: OpenFar) -> None:
    far = afar(serve(key="another"))
    chat, call_context = far.worker()
    with metered(Meter("answer/q/0/1")), pytest.raises(ModelUnavailable, match="refused the key"):
        await chat.complete(ask())
    assert isinstance(call_context.fatal, ModelUnavailable)
    assert call_context.fatal.fix == "set a valid key"


class Failing:
    """A `RoleHandler` that raises these errors, one after another."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = iter(errors)

    async def send(self, call: RemoteCall) -> tuple[int, bytes]:
        raise next(self._errors)

    async def close(self) -> None:
        """Nothing is open."""


async def test_the_first_of_two_errors_stops_the_worker_and_a_budget_is_kept(serve: Serve, afar: OpenFar) -> None:
    far = afar(serve())
    far.desk.serve(
        "generator", Failing(ModelUnavailable("gone", "start it"), BudgetExhausted("no room", tokens=7))
    )
    chat, call_context = far.worker()
    with metered(Meter("answer/q/0/1")):
        for error in (ModelUnavailable, BudgetExhausted):
            with pytest.raises(error):
                await chat.complete(ask())
    assert isinstance(call_context.fatal, ModelUnavailable)
    assert call_context.budget_error is not None
    assert call_context.budget_error.tokens == 7


async def test_waiting_for_a_provider_is_throttled_time_at_the_worker_too(serve: Serve, afar: OpenFar) -> None:
    script = FakeScript(fault="http_429", fault_times=1, retry_after_s=0.4)
    far = afar(serve(script))
    chat, _ = far.worker()
    with metered(Meter("answer/q/0/1")) as meter:
        await chat.complete(ask())
    assert 0.3 <= meter.throttled_s <= 2.0
    assert {update.kind for update in far.heard} >= {"waits", "waited", "goes_on", "answered"}


async def test_what_is_paid_stands_in_the_journal_of_the_desk(serve: Serve, afar: OpenFar, tmp_path: Path) -> None:
    server = serve()
    chat, _ = afar(server).worker()
    with metered(Meter("answer/q/0/1")) as meter:
        await chat.complete(ask())
    assert usage_by_role(tmp_path / "calls.sqlite") == meter.usage


@pytest.mark.parametrize(
    "error",
    [
        BudgetExhausted("no room", usd=1.5, tokens=7),
        ModelUnavailable("gone", "start it"),
        HarnessError("x", "y"),
        ValueError("no JSON"),
        openai.OpenAIError("odd"),
    ],
)
def test_an_error_arrives_as_what_it_was_or_names_it(error: Exception) -> None:
    carried = RemoteCallError.model_validate_json(RemoteCallError.of(error).model_dump_json())
    arrived = carried.as_raised(httpx2.Request("POST", "http://x.invalid"))
    if isinstance(error, openai.OpenAIError):
        assert str(arrived) == "OpenAIError: odd"
    else:
        assert type(arrived) is type(error)
        assert str(arrived) == str(error)
        assert getattr(arrived, "tokens", 0) == getattr(error, "tokens", 0)


def test_a_name_that_is_no_error_is_not_looked_up() -> None:
    request = httpx2.Request("POST", "http://x.invalid")
    for name in ("install", "Client", "BaseException", "SystemExit"):
        assert type(RemoteCallError(name=name, what="x").as_raised(request)) is RuntimeError
