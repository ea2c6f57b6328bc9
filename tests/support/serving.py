"""Servers on loopback that run in a thread, and one that answers requests as a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

from harness.models.fake_faults import Reply

Server = TypeVar("Server", bound=BaseServer)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, running within the context and closed after it."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Asked(NamedTuple):
    """One request; names of headers are in lower case."""

    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


def json_reply(content: object, status: int = 200, **headers: str) -> Reply:
    """JSON; underscores in names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(content).encode(), {"content-type": "application/json", **named})


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)


class SpeakingServer(ThreadingHTTPServer):
    """Answers every POST by `speak`, after the replies in `first`; records its requests."""

    daemon_threads = True

    def __init__(self, speak: Callable[[Asked], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _SpeakingHandler)
        self.speak, self.first, self.asked = speak, list[Reply](), list[Asked]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _SpeakingHandler(QuietHandler, BaseHTTPRequestHandler):
    server: SpeakingServer

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(url.path, parse_qs(url.query), headers, body)
        self.server.asked.append(asked)
        self.send(self.server.first.pop(0) if self.server.first else self.server.speak(asked))
