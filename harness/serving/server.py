"""A page for this machine alone: every request names the token that only its address holds.

A page of the web that guesses the port gets nothing: it knows no token, a name that resolves to 127.0.0.1 is no
host of ours, and what writes is JSON with a header that a form cannot send.
"""

import hmac
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from harness.errors import ConfigError, HarnessError
from harness.serving.pages import LocalPage

_LONGEST_BODY = 1 << 20
_TOKEN_HEADER = "X-Page-Token"  # noqa: S105 - the name of a header
_NOT_OURS = {"error": "open the address that the command printed"}
_NO_PAGE = {"error": "there is no such page"}


class PageServer(ThreadingHTTPServer):
    """Serves one page on 127.0.0.1; port 0 picks a free one. POST /done ends it."""

    daemon_threads = True

    def __init__(self, page: LocalPage, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.page = page
        self.token = secrets.token_urlsafe(24)
        self.turn = threading.Lock()
        """One request at a time reads or changes what the page is about."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """What opens it."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


def open_page(page: LocalPage, port: int = 0) -> PageServer:
    """The page, not yet served. ConfigError: the port is taken."""
    try:
        return PageServer(page, port)
    except OSError as error:
        raise ConfigError(
            f"port {port} cannot be used ({error.strerror})", "leave --port out for a free one"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PageServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = dict(parse_qsl(url.query))
        given = asked.get("token", "") if url.path == "/" else self.headers.get(_TOKEN_HEADER, "")
        if not self._is_ours(given):
            self._say(403, _NOT_OURS)
        elif url.path == "/":
            self._send(200, "text/html; charset=utf-8", self.server.page.content)
        elif get := self.server.page.gets.get(url.path):
            try:
                with self.server.turn:
                    self._say(200, get(asked))
            except HarnessError as error:
                self._say(404, {"error": str(error)})
        else:
            self._say(404, _NO_PAGE)

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() and int(length) <= _LONGEST_BODY else None
        path = urlsplit(self.path).path
        if body is None:
            self.close_connection = True
            self._say(413, {"error": "too long"})
        elif not self._is_ours(self.headers.get(_TOKEN_HEADER, "")) or not self._is_json():
            self._say(403, _NOT_OURS)
        elif post := self.server.page.posts.get(path):
            try:
                with self.server.turn:
                    self._say(200, post(body))
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
        return known and hmac.compare_digest(token.encode(), self.server.token.encode())

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
