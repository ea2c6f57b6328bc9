"""A model server with its own protocol, used by `teller`."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.models.fake_model import bag_of_words

CLIENT = (Path(__file__).parent / "teller.py").read_text()


class TellerServer(ThreadingHTTPServer):
    """`POST /tell {text, most}` and `POST /place {texts}`; it counts words and requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults: list[int] = []
        """Statuses of the next replies."""
        self.refuses = 0
        """The status of every reply; 0: none."""
        self.hangs = 0
        """Number of the next requests that are never answered."""
        self.stopped = threading.Event()
        self.asked: list[str] = []
        """Answered requests, in order: tell or place."""
        self.heard = self.spoke = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, what: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status = self.refuses or (self.faults.pop(0) if self.faults else 0)
        if status:
            return status, {"why": f"the script asked for {status}"}
        self.asked.append(what)
        texts = [body["text"]] if what == "tell" else body["texts"]
        heard = sum(len(text.split()) for text in texts)
        self.heard += heard
        if what == "place":
            return 200, {"places": [bag_of_words(text) for text in texts], "heard": heard}
        self.spoke += 2
        return 200, {"said": "so it is", "heard": heard, "spoke": 2}


class _Handler(BaseHTTPRequestHandler):
    server: TellerServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.server.hangs:
            self.server.hangs -= 1
            self.server.stopped.wait()
            return
        status, reply = self.server.reply(self.path.strip("/"), body)
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def teller_server() -> Iterator[TellerServer]:
    """A running server."""
    server = TellerServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.stopped.set()
    server.shutdown()
    server.server_close()
    thread.join()
