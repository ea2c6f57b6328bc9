"""A model server with its own protocol, used by `teller`."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Asked, SpeakingServer, json_reply, serving

from harness.models.fake_faults import Reply
from harness.models.fake_model import bag_of_words

CLIENT = (Path(__file__).parent / "teller.py").read_text()


class TellerServer(SpeakingServer):
    """`POST /tell {text, most}` and `POST /place {texts}`; it counts words and requests."""

    def __init__(self) -> None:
        super().__init__(self._spoken)
        self.faults: list[int] = []
        """Statuses of the next replies."""
        self.refuses = 0
        """The status of every reply; 0: none."""
        self.hangs = 0
        """Number of the next requests that are never answered."""
        self.stopped = threading.Event()
        self.answered: list[str] = []
        """Answered requests, in order: tell or place."""
        self.heard = self.spoke = 0

    def _spoken(self, asked: Asked) -> Reply:
        if self.hangs:
            self.hangs -= 1
            self.stopped.wait()
        status, body = self.reply(asked.path.strip("/"), asked.body)
        return json_reply(body, status)

    def reply(self, what: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status = self.refuses or (self.faults.pop(0) if self.faults else 0)
        if status:
            return status, {"why": f"the script asked for {status}"}
        self.answered.append(what)
        texts = [body["text"]] if what == "tell" else body["texts"]
        heard = sum(len(text.split()) for text in texts)
        self.heard += heard
        if what == "place":
            return 200, {"places": [bag_of_words(text) for text in texts], "heard": heard}
        self.spoke += 2
        return 200, {"said": "so it is", "heard": heard, "spoke": 2}


@pytest.fixture
def teller_server() -> Iterator[TellerServer]:
    """A running server."""
    with serving(TellerServer()) as server:
        yield server
        server.stopped.set()
