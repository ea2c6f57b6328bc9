"""A model server that speaks no protocol of anybody else's: what `teller` is the client of."""

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
    """`POST /tell {text, most}` and `POST /place {texts}`; it counts words, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults: list[int] = []
        """The statuses that the next requests get instead of a reply."""
        self.refuses = 0
        """The status that every request gets; 0: none."""
        self.hangs = 0
        """So many of the next requests are never answered."""
        self.stopped = threading.Event()
        self.asked: list[str] = []
        """What was answered, in order: tell or place."""
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
    """A running one."""
    server = TellerServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.stopped.set()
    server.shutdown()
    server.server_close()
    thread.join()
