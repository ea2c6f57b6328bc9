"""Connections to a real HTTP server, counted by the server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from harness.models.connection_pool import ConnectionPool
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer

from .conftest import Serve

Counted = Callable[..., Any]
BODY = {"messages": [{"role": "user", "content": "Who runs the bakery?"}]}


@pytest.fixture
async def pool() -> AsyncIterator[ConnectionPool]:
    opened = ConnectionPool()
    yield opened
    await opened.aclose()


@pytest.fixture
def counted(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """counted(script) -> (a running server, its connections so far as `accepted`)."""

    def start(script: FakeScript | None = None) -> tuple[FakeServer, Counter[str]]:
        server, seen = serve(script), Counter[str]()
        accept = server.get_request

        def get_request() -> Any:
            seen["accepted"] += 1
            return accept()

        monkeypatch.setattr(server, "get_request", get_request)
        return server, seen

    return start


async def ask(pool: ConnectionPool, server: FakeServer) -> int:
    request = httpx2.Request("POST", f"{server.base_url}/chat/completions", json=BODY)
    response = await pool.handle_async_request(request)
    try:
        await response.aread()
    finally:
        await response.aclose()
    return response.status_code


async def test_the_next_request_takes_the_connection_that_is_there(counted: Counted, pool: ConnectionPool) -> None:
    server, seen = counted()
    assert [await ask(pool, server) for _ in range(5)] == [200] * 5
    assert seen["accepted"] == 1


async def test_as_many_connections_as_requests_at_once_are_kept(counted: Counted, pool: ConnectionPool) -> None:
    server, seen = counted(FakeScript(latency_s=0.2))
    # A pool of the library keeps 20.
    for _ in range(2):
        assert set(await asyncio.gather(*(ask(pool, server) for _ in range(30)))) == {200}
    assert seen["accepted"] == 30


async def test_a_connection_that_broke_is_made_anew(counted: Counted, pool: ConnectionPool) -> None:
    server, seen = counted(FakeScript(fault="reset", fault_times=1))
    with pytest.raises(httpx2.TransportError):
        await ask(pool, server)
    assert [await ask(pool, server) for _ in range(3)] == [200] * 3
    assert seen["accepted"] == 2
