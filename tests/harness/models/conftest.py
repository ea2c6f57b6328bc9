"""A real HTTP server, a real journal and the real openai client; only the model behind the server is scripted."""

import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serving import serving

from harness.config import EmbedderConfig, GeneratorConfig
from harness.models.clients import OpenAIChat, OpenAIEmbedding, open_client
from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeModel, FakeScript
from harness.models.fake_server import FakeServer
from harness.models.transport import CallContext
from harness.store import Journal

Serve = Callable[..., FakeServer]
Connect = Callable[..., OpenAIChat]
OpenSeam = Callable[[], CallContext]
ConnectEmbedder = Callable[..., OpenAIEmbedding]

Respond = Callable[[str, bytes], Reply]


class _AtOnce(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return 0.0


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeServer]]:
    """serve(script=..., key=None, respond=None) -> a running server; `respond(path, body)` answers for it."""
    with ExitStack() as stack:

        def start(
            script: FakeScript | None = None, *, key: str | None = None, respond: Respond | None = None
        ) -> FakeServer:
            server = FakeServer(script or FakeScript(), key=key)
            stopped = threading.Event()

            def sleep(seconds: float) -> None:
                # What hangs hangs until the test is over.
                stopped.wait(seconds)

            server.model = FakeModel(server.model.script, sleep)
            if respond is not None:
                setattr(server.model, "respond", respond)  # noqa: B010 - mypy forbids to assign to a method
            stack.enter_context(serving(server))
            stack.callback(stopped.set)
            return server

        yield start


@pytest.fixture
def open_seam(tmp_path: Path) -> Iterator[Callable[[], CallContext]]:
    """open_seam() -> a seam over the journal of this test, as each new worker process opens it; backs off 0 s."""
    with ExitStack() as stack:
        yield lambda: CallContext(
            stack.enter_context(closing(Journal(tmp_path / "calls.sqlite"))), backoff=_AtOnce(0)
        )


@pytest.fixture
def call_context(open_seam: Callable[[], CallContext]) -> CallContext:
    return open_seam()


@pytest.fixture
def no_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers here speak plain HTTP: reading every certificate for each client would be most of the time."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture
async def connected(call_context: CallContext) -> AsyncIterator[Callable[..., Any]]:
    """connected(config, url, seam=..., **fields) -> (config, the real openai client, closed with the test)."""
    async with AsyncExitStack() as stack:

        def start(kind: Any, base_url: str, seam: CallContext = call_context, **config: Any) -> tuple[Any, Any]:
            fields = {"provider": "openai-compatible", "model": "fake-1", "max_retries": 0, **config}
            resolved = kind(base_url=base_url, **fields)
            client = open_client(resolved, seam)
            stack.push_async_callback(client.close)
            return resolved, client

        yield start


@pytest.fixture
def connect(connected: Callable[..., Any], no_tls: None) -> Callable[..., OpenAIChat]:
    """connect(url, seam=..., **config) -> a chat model."""
    return lambda *where, **config: OpenAIChat(*connected(GeneratorConfig, *where, **config))


@pytest.fixture
def connect_embedder(connected: Callable[..., Any]) -> Callable[..., OpenAIEmbedding]:
    """connect_embedder(url, **config) -> the encoder."""
    return lambda *where, **config: OpenAIEmbedding(*connected(EmbedderConfig, *where, **config))


@dataclass
class Lab:
    """The fixtures above of one test, and its folder."""

    serve: Serve
    connect: Connect
    connect_embedder: ConnectEmbedder
    open_seam: OpenSeam
    call_context: CallContext
    tmp_path: Path


@pytest.fixture
def lab(
    serve: Serve,
    connect: Connect,
    connect_embedder: ConnectEmbedder,
    open_seam: OpenSeam,
    call_context: CallContext,
    tmp_path: Path,
) -> Lab:
    return Lab(serve, connect, connect_embedder, open_seam, call_context, tmp_path)
