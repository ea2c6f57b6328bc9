"""A service that answers as a test says."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import SpeakingServer, json_reply, serving

from harness.models.fake_faults import Reply


class Service(SpeakingServer):
    """Answers with one reply after the other; the last one stays."""

    def __init__(self) -> None:
        super().__init__(lambda _: self.last)
        self.says({"answer": "four"})

    def says(self, *values: Any) -> None:
        self.replies(*map(json_reply, values))

    def replies(self, *replies: Reply) -> None:
        *self.first, self.last = replies

    def at(self, path: str = "/ask") -> str:
        return f"{self.url}{path}"


@pytest.fixture
def service() -> Iterator[Service]:
    with serving(Service()) as running:
        yield running
