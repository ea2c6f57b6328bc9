"""Plain HTTP to one server, with one reusable connection per concurrent request."""

from collections.abc import AsyncIterator
from typing import cast

import httpx2

from harness.core.proxies import (
    http_transport,
    proxy_of,
    raise_refusal,
    trusted_certificates,
    use_network_settings,
)

_ONE = httpx2.Limits(max_connections=1, max_keepalive_connections=1)


class ConnectionPool(httpx2.AsyncBaseTransport):
    """As many connections as there were concurrent requests at most; the limiter decides how many that may be.

    Each is a pool of its own. A pool of the library scans all its connections twice per request, which at 64 takes
    as long as the request itself, and closes all but 20 idle ones, so that the next ones need new handshakes.
    """

    def __init__(self) -> None:
        use_network_settings()
        # Read once, since the certificate store takes tens of milliseconds.
        self._trust = trusted_certificates()
        self._made: list[httpx2.AsyncHTTPTransport] = []
        self._idle: list[httpx2.AsyncHTTPTransport] = []
        """Last used first, so that the others stay idle until their server closes them."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The server's response; its connection is free again when the response is closed. ServiceUnavailable if a
        proxy does not let it through.
        """
        connection = self._idle.pop() if self._idle else self._new(str(request.url))
        try:
            response = await connection.handle_async_request(request)
        except BaseException as error:
            self._idle.append(connection)
            if isinstance(error, httpx2.ProxyError):
                raise_refusal(str(request.url), str(error))
            raise
        stream = cast(httpx2.AsyncByteStream, response.stream)
        response.stream = _PooledBody(stream, connection, self._idle)
        if response.status_code == 407 and proxy_of(str(request.url)):
            await response.aclose()
            raise_refusal(str(request.url), "407 Proxy Authentication Required")
        return response

    async def aclose(self) -> None:
        made, self._made, self._idle = self._made, [], []
        for connection in made:
            await connection.aclose()

    def _new(self, url: str) -> httpx2.AsyncHTTPTransport:
        self._made.append(connection := http_transport(url, _ONE, self._trust))
        return connection


class _PooledBody(httpx2.AsyncByteStream):
    """The body of a response; releases its connection when closed."""

    def __init__(
        self,
        body: httpx2.AsyncByteStream,
        connection: httpx2.AsyncHTTPTransport,
        idle: list[httpx2.AsyncHTTPTransport],
    ) -> None:
        self._body, self._connection, self._idle = body, connection, idle
        self._is_back = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            yield chunk

    async def aclose(self) -> None:
        try:
            await self._body.aclose()
        finally:
            if not self._is_back:
                self._is_back = True
                self._idle.append(self._connection)
