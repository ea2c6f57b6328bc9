"""A page for this machine alone: every request names the token that only its address holds.

A page of the web that guesses the port gets nothing: it knows no token, a name that resolves to 127.0.0.1 is no
host of ours, and what writes is JSON with a header that a form cannot send.

Another program of this machine may send what it likes. So a connection has one request, a time in which its head
has to come, and a bounded head; nothing behind the head is read without the token; and of too many connections at
once the oldest without the token is closed.
"""

import hmac
import io
import json
import secrets
import socket
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qsl

from harness.core.errors import ConfigError, HarnessError
from harness.extensions.web.pages import LocalPage

_LONGEST_BODY = 1 << 20
_LONGEST_HEAD = 1 << 15
_MOST_CONNECTIONS = 32
_HEAD_S = 10.0
"""Seconds in which a request has to show the token."""
_TOKEN_HEADER = "X-Page-Token"  # noqa: S105 - the name of a header
_NOT_OURS = {"error": "open the address that the command printed"}
_NO_PAGE = {"error": "there is no such page"}


class PageServer(ThreadingHTTPServer):
    """Serves one page on 127.0.0.1; port 0 picks a free one. POST /done ends it."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, page: LocalPage, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.page = page
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()
        """One request at a time reads or changes what the page is about."""
        self._slots = threading.Semaphore(_MOST_CONNECTIONS)
        self._unknown: dict[socket.socket, float] = {}
        """Connections that have not shown the token yet, the oldest first, and when each began."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """What opens it."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def server_bind(self) -> None:
        """Without the library's question to a name server, what this machine is called."""
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, as soon as there is room for it."""
        if not self._slots.acquire(blocking=False):
            for oldest in list(self._unknown)[:1]:
                self._end(oldest)
            if not self._slots.acquire(timeout=1.0):
                self.shutdown_request(request)
                return
        self._unknown[request] = time.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """In that thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.know(request)
            self._slots.release()

    def service_actions(self) -> None:
        """Called now and then while it serves: ends what is slow to show the token."""
        for request, begun in list(self._unknown.items()):
            if begun < time.monotonic() - _HEAD_S:
                self._end(request)

    def know(self, request: socket.socket) -> None:
        """It has shown the token, and is not ended."""
        self._unknown.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was dropped is no error of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def _end(self, request: socket.socket) -> None:
        self.know(request)
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)


def open_page(page: LocalPage, port: int = 0) -> PageServer:
    """The page, not yet served. ConfigError: the port is taken."""
    try:
        return PageServer(page, port)
    except OSError as error:
        raise ConfigError(
            f"port {port} cannot be used ({error.strerror})", "leave --port out for a free one"
        ) from error


class _BoundedHead(io.BufferedReader):
    """Its lines end where no browser sends more of them."""

    left = _LONGEST_HEAD

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(self.left if size is None or size < 0 else min(size, self.left))
        self.left -= len(line)
        return line


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    """One request a connection."""
    timeout = _HEAD_S
    server: PageServer

    def setup(self) -> None:
        super().setup()
        self.rfile = _BoundedHead(self.rfile.detach())

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        asked = dict(parse_qsl(query))
        given = asked.get("token", "") if path == "/" else self.headers.get(_TOKEN_HEADER, "")
        if not self._is_ours(given):
            self._say(403, _NOT_OURS)
        elif path == "/":
            self._send(200, "text/html; charset=utf-8", self.server.page.content)
        elif get := self.server.page.gets.get(path):
            try:
                with self.server.turn:
                    value = get(asked)
                self._say(200, value)
            except HarnessError as error:
                self._say(404, {"error": str(error)})
        else:
            self._say(404, _NO_PAGE)

    def do_POST(self) -> None:
        path, length = self.path.partition("?")[0], self.headers.get("content-length", "")
        if not self._is_ours(self.headers.get(_TOKEN_HEADER, "")) or not self._is_json():
            self._say(403, _NOT_OURS)
            return
        if not _is_length(length):
            self._say(413, {"error": f"name a length of at most {_LONGEST_BODY:,} bytes"})
            return
        body = self.rfile.read(int(length))
        if post := self.server.page.posts.get(path):
            try:
                with self.server.turn:
                    value = post(body)
                self._say(200, value)
            except HarnessError as error:
                self._say(400, {"error": str(error)})
        elif path == "/done":
            self._say(200, {})
            threading.Thread(target=self.server.shutdown, daemon=True).start()
        else:
            self._say(404, _NO_PAGE)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address holds the token."""

    def _is_ours(self, token: str) -> bool:
        hosts = {f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"}
        host, origin = self.headers.get("host", ""), self.headers.get("origin")
        known = host in hosts and (origin is None or origin in {f"http://{one}" for one in hosts})
        is_ours = known and hmac.compare_digest(token.encode(), self.server.token.encode())
        if is_ours:
            self.server.know(self.connection)
        return is_ours

    def _is_json(self) -> bool:
        return self.headers.get_content_type() == "application/json"

    def _say(self, status: int, value: object) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": self.server.page.policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _is_length(text: str) -> bool:
    # `int` refuses thousands of digits.
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= _LONGEST_BODY
