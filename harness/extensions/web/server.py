"""Serves one page on loopback to the person with its address: every request must carry the token in it.

A website that guesses the port gets nothing: it does not know the token, a host name that resolves to 127.0.0.1 is
refused, and writing needs JSON with a header that a form cannot send. Other programs on this machine may send
anything: the head of a request is limited in size and time, its body is not read without the token, and if too
many connections without the token are open, the oldest is closed.
"""

import asyncio
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Self, cast

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.core.errors import ConfigError, HarnessError
from harness.extensions.web.pages import Get, LocalPage, Post

_LONGEST_HEAD = 1 << 15
_MOST_STRANGERS = 32
_PATIENCE_S = 10.0
"""How long a connection may take to send the token, and a body to arrive."""
_TOKEN_HEADER = "x-page-token"  # noqa: S105 - the name of a header
_NOT_OURS = {"error": "open the address that the command printed"}
Endpoint = Callable[[Request], Awaitable[Response]]


class PageServer:
    """Serves one page on 127.0.0.1; port 0 picks a free one. POST /done stops it. The context closes the port."""

    def __init__(self, page: LocalPage, port: int = 0) -> None:
        """ConfigError: the port is in use."""
        try:
            self._socket = socket.create_server(("127.0.0.1", port), backlog=1024)
        except OSError as error:
            what = f"port {port} cannot be used ({error.strerror})"
            raise ConfigError(what, "omit --port to use a free one") from error
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        self._page = page
        self._strangers = _UnauthenticatedConnections()
        self._one_at_a_time = asyncio.Lock()
        self._server = uvicorn.Server(
            uvicorn.Config(
                self._app(),
                http=_protocol(self._strangers),
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                # The client of a request is identified by its token, whatever its headers claim.
                proxy_headers=False,
                server_header=False,
                h11_max_incomplete_event_size=_LONGEST_HEAD,
                timeout_graceful_shutdown=1,
            )
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def serve(self) -> None:
        """Serve until `shutdown`, POST /done or Ctrl-C, which raises KeyboardInterrupt."""
        self._server.run(sockets=[self._socket])

    def shutdown(self) -> None:
        """Make `serve` return soon; callable from any thread."""
        self._server.should_exit = True

    def _app(self) -> Starlette:
        gets = [Route(path, self._answering(get)) for path, get in self._page.gets.items()]
        posts = [Route(path, self._taking(post), methods=["POST"]) for path, post in self._page.posts.items()]
        own = [Route("/", self._show), Route("/done", self._done, methods=["POST"])]
        guard = Middleware(_Guard, server=self)
        return Starlette(
            routes=[*own, *gets, *posts], middleware=[guard], exception_handlers={HTTPException: _refused}
        )

    async def _show(self, _request: Request) -> Response:
        return HTMLResponse(self._page.content)

    async def _done(self, _request: Request) -> Response:
        self.shutdown()
        return JSONResponse({})

    def _answering(self, get: Get) -> Endpoint:
        async def answer(request: Request) -> Response:
            return await self._called(lambda: get(request.query_params), status=404)

        return answer

    def _taking(self, post: Post) -> Endpoint:
        async def take(request: Request) -> Response:
            body = await _body(request, self._page.longest_body)
            return await self._called(lambda: post(body), status=400)

        return take

    async def _called(self, call: Callable[[], object], status: int) -> Response:
        """The result of a call, or its error with that status. Only one call at a time accesses the data."""
        async with self._one_at_a_time:
            try:
                return JSONResponse(await run_in_threadpool(call))
            except HarnessError as error:
                return JSONResponse({"error": str(error)}, status)

    def knows(self, request: Request) -> bool:
        """Whether the request has the token; its connection then stays open."""
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        headers, is_page = request.headers, request.scope["path"] == "/"
        token = request.query_params.get("token", "") if is_page else headers.get(_TOKEN_HEADER, "")
        is_json = headers.get("content-type", "").partition(";")[0] == "application/json"
        known = (
            headers.get("host") in hosts
            and headers.get("origin", "http://" + headers["host"]) in {f"http://{host}" for host in hosts}
            and (request.method != "POST" or is_json)
            and hmac.compare_digest(token.encode(), self.token.encode())
        )
        if known and request.client is not None:
            self._strangers.forget(tuple(request.client))
        return known

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Content-Security-Policy": self._page.policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Connection": "close",
        }


class _Guard:
    """Rejects requests without the token, and sets the headers of every reply."""

    def __init__(self, app: ASGIApp, server: PageServer) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if self._server.knows(Request(scope)) else JSONResponse(_NOT_OURS, 403)
        headers = [(name.lower().encode(), value.encode()) for name, value in self._server.headers.items()]

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await app(scope, receive, send_with_headers)


class _UnauthenticatedConnections:
    """Connections that have not sent the token yet."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Any, ...], tuple[asyncio.Transport, asyncio.TimerHandle]] = {}
        """Client address -> its connection and its timeout; the oldest first."""

    def add(self, transport: asyncio.Transport) -> None:
        """If there are too many, the oldest is closed."""
        if len(self._waiting) >= _MOST_STRANGERS:
            oldest, (connection, _) = next(iter(self._waiting.items()))
            connection.abort()
            self.forget(oldest)
        ends = asyncio.get_running_loop().call_later(_PATIENCE_S, transport.abort)
        self._waiting[transport.get_extra_info("peername")] = (transport, ends)

    def forget(self, address: tuple[Any, ...]) -> None:
        if found := self._waiting.pop(address, None):
            found[1].cancel()


def _protocol(strangers: _UnauthenticatedConnections) -> type[H11Protocol]:
    class Watched(H11Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            connection = cast(asyncio.Transport, transport)
            super().connection_made(connection)
            strangers.add(connection)

        def connection_lost(self, exc: Exception | None) -> None:
            strangers.forget(self.transport.get_extra_info("peername"))
            super().connection_lost(exc)

    return Watched


async def _body(request: Request, longest: int) -> bytes:
    """The body, which must declare its length. HTTPException: too long, too slow or incomplete."""
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdecimal() and len(length) < 10 and int(length) <= longest):
        raise HTTPException(413, f"Content-Length must be at most {longest:,} bytes")
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await request.body()
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408, "the body did not arrive") from None


async def _refused(_request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "failed")
    return JSONResponse({"error": detail}, status)
