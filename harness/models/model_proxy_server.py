"""The models of a run behind an OpenAI-compatible URL on loopback, for pipelines outside of the harness.

Callers are in the worker's own process or were given the URL by it. Each call uses the same transport as any
other, on the worker's event loop, and is counted for the query it belongs to: the only one running, or the one
whose path was used.
"""

import asyncio
import base64
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from weakref import WeakKeyDictionary

import httpx2

from harness.core.errors import ConfigError, HarnessError
from harness.core.sanitize import cleaned, keep_made
from harness.models.clients import OpenAIChat
from harness.models.metering import LOADING, Meter, charged, current_meter, open_meters
from harness.models.openai_replies import chat_reply, embeddings_reply
from harness.protocols import Embedder, ModelProxy

__all__ = ["ModelProxyServer", "ServerRefused", "Translation", "chat_reply", "embeddings_reply"]


class ServerRefused(Exception):
    """A server answers with an error, or the proxy does not forward a call. `status` as in HTTP: temporary errors
    of servers (429, 5xx) are retried as soon as `headers` allow it (retry-after).
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class Translation(httpx2.AsyncBaseTransport):
    """Override the methods for the roles of the provider. The translation is below the journal: its results are
    journaled and counted, and its exceptions (`ServerRefused`, `httpx2.TransportError`) are retried and recorded
    as for any other server.
    """

    async def chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply, made by `chat_reply`, to a request with `model`, `messages` (each with `role` and `content`),
        `max_tokens`, optionally `temperature` and `seed`, the config's `extra`, and `response_format` if a JSON
        schema is used.
        """
        raise ServerRefused(404, f"this provider does not generate as {request.get('model')}")

    async def embeddings(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply, made by `embeddings_reply`, to a request with `model` and `input`, a list of texts."""
        raise ServerRefused(404, f"this provider does not embed as {request.get('model')}")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(await request.aread())
        answer = self.embeddings if request.url.path.endswith("/embeddings") else self.chat
        headers: dict[str, str] = {}
        limit_s = request.extensions.get("timeout", {}).get("read")
        try:
            async with asyncio.timeout(limit_s) as limit:
                status, reply = 200, await answer(asked)
        except ServerRefused as refused:
            status, reply, headers = refused.status, {"error": {"message": refused.message}}, refused.headers
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise httpx2.ReadTimeout(f"no reply within {limit_s:g} s", request=request) from error
        return httpx2.Response(status, json=reply, headers=headers, request=request)


_LONGEST_REQUEST = 64_000_000
GENERATOR, EMBEDDER = "generator", "embedding"


_NOT_AT_LOAD = (
    "a generator is called while the pipeline is opened, which is charged to no query or index: compute this when "
    "the index is built, and keep the result in `folder`"
)
_NO_TEXTS = "'input' must be texts, not tokens (LangChain's OpenAIEmbeddings: check_embedding_ctx_length=False)"


class ModelProxyServer:
    """Serves from `open` until the process ends."""

    def __init__(
        self,
        chat: OpenAIChat | None,
        embedder: Embedder | None,
        stop: Callable[[HarnessError], None],
        warn: Callable[[str], None],
    ) -> None:
        """`stop` is called with an error after which no further query can succeed."""
        self._chat_model, self._embedder, self._stop, self._warn = chat, embedder, stop, warn
        self._key = secrets.token_urlsafe(24)
        self._paths: WeakKeyDictionary[Meter, str] = WeakKeyDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._root = ""
        self._under_way: dict[asyncio.Task[Any], Meter] = {}
        self._said: set[str] = set()

    def open(self) -> ModelProxy:
        """Start to serve, within a running event loop. Repeated calls return the same."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            keep_made(self._key)
            server = _Server(self)
            self._root = f"http://127.0.0.1:{server.server_address[1]}"
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return ModelProxy(
            base_url=f"{self._root}/v1",
            api_key=self._key,
            model=GENERATOR if self._chat_model else "",
            embedding_model=EMBEDDER if self._embedder else "",
        )

    def url(self) -> str:
        """The base URL for calls of the current query."""
        path = self._paths.setdefault(current_meter(), secrets.token_hex(8))
        return f"{self._root}/{path}/v1"

    async def end(self, meter: Meter) -> None:
        """Cut off the calls of a question that is over: they count as made, at unknown cost."""
        left = [task for task, own in self._under_way.items() if own is meter]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def answer(self, path: str, key: str, body: bytes) -> Mapping[str, Any]:
        if not secrets.compare_digest(key.encode(), f"Bearer {self._key}".encode()):
            raise ServerRefused(401, "this is not the key of this process")
        try:
            request = json.loads(body or b"{}")
        except ValueError as error:
            raise ServerRefused(400, "the body is not JSON") from error
        if not isinstance(request, dict):
            raise ServerRefused(400, "the body is not a JSON object")
        assert self._loop is not None  # noqa: S101 - it serves
        return asyncio.run_coroutine_threadsafe(self._forward(path, request), self._loop).result()

    def tell(self, line: str) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._warn, line)

    async def _forward(self, path: str, request: dict[str, Any]) -> Mapping[str, Any]:
        own, _, action = path.strip("/").partition("v1/")
        meter, task = self._meter(own.strip("/")), asyncio.current_task()
        assert task is not None  # noqa: S101 - it is one
        self._under_way[task] = meter
        try:
            with charged(meter):
                if action == "chat/completions":
                    return await self._chat(meter, request)
                if action == "embeddings":
                    return await self._embed(meter, request)
        finally:
            del self._under_way[task]
        raise ServerRefused(404, f"only chat/completions and embeddings are available, not {action[:40]!r}")

    def _meter(self, own: str) -> Meter:
        meters = open_meters()
        if own:
            mine = [meter for meter in meters if self._paths.get(meter) == own]
            if not mine:
                raise ServerRefused(410, "the query that this URL belongs to has ended")
            return mine[0]
        if len(meters) > 1:
            error = ConfigError(
                "several queries are in progress, and a call of the pipeline does not say which one it belongs to",
                "--set limits.concurrency=1, or let the function take base_url, which differs for each query",
            )
            self._stop(error)
            raise ServerRefused(409, str(error))
        if not meters:
            raise ServerRefused(410, "no query is in progress")
        return meters[0]

    async def _chat(self, meter: Meter, request: dict[str, Any]) -> Mapping[str, Any]:
        chat = self._chat_model
        if chat is None:
            raise ServerRefused(
                404, "no generator is available here: see index.lends, answer.lends and models.generator"
            )
        if meter.scope == LOADING:
            raise ServerRefused(409, _NOT_AT_LOAD)
        asked = str(request.get("model", ""))
        if asked not in {"", GENERATOR, chat.named, *self._said}:
            self._said.add(asked)
            self._warn(f"the pipeline asks for '{asked[:60]}': {chat.named} answers, as the config says")
        reply: Mapping[str, Any] = await chat.forward({**request, "stream": False})
        return reply

    async def _embed(self, meter: Meter, request: Mapping[str, Any]) -> Mapping[str, Any]:
        embedder, given = self._embedder, request.get("input")
        if embedder is None:
            raise ServerRefused(404, "no embedder is available here: see index.lends and answer.lends")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ServerRefused(400, _NO_TEXTS)
        if meter.scope.startswith("answer/"):
            # Never from a cache of other runs, so that the duration is that of this query.
            rows = [await embedder.embed_query(text) for text in texts]
        else:
            rows = list(await embedder.embed_documents(texts))
        reply = embeddings_reply([row.tolist() for row in rows], input_tokens=0) | {"model": EMBEDDER}
        if request.get("encoding_format") == "base64":
            for row, entry in zip(rows, reply["data"], strict=True):
                entry["embedding"] = base64.b64encode(row.tobytes()).decode()
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, lending: ModelProxyServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lending = lending

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects, for example after a timeout, is not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _LONGEST_REQUEST:
            self.close_connection = True
            self._fail(413, f"the body must have a length of at most {_LONGEST_REQUEST:,} bytes")
            return
        body = self.rfile.read(int(length))
        try:
            reply = self.server.lending.answer(self.path, self.headers.get("authorization", ""), body)
        except ServerRefused as refusal:
            # Its client may report no more than the status.
            self.server.lending.tell(f"a call of the pipeline was refused: {refusal}")
            self._fail(refusal.status, str(refusal))
        except Exception as error:
            # 400, because clients would retry a 5xx; our transport has already done that.
            status = int(getattr(error, "status_code", 400))
            self._fail(status if 400 <= status < 500 else 400, f"{type(error).__name__}: {error}")
        else:
            if b'"stream"' in body and json.loads(body).get("stream"):
                self._stream(reply)
            else:
                self._send(200, reply)

    def do_GET(self) -> None:
        data = [{"id": name, "object": "model"} for name in (GENERATOR, EMBEDDER)]
        known = self.path.endswith("/models")
        self._send(200 if known else 404, {"object": "list", "data": data if known else []})

    def _fail(self, status: int, message: str) -> None:
        self._send(status, {"error": {"message": cleaned(message)[:2000], "type": "rag_harness"}})

    def _stream(self, reply: Mapping[str, Any]) -> None:
        choices = []
        for choice in reply.get("choices") or ():
            delta = dict(choice.get("message") or {})
            if calls := delta.get("tool_calls"):
                delta["tool_calls"] = [{**call, "index": place} for place, call in enumerate(calls)]
            choices.append({**{key: value for key, value in choice.items() if key != "message"}, "delta": delta})
        chunk = {**reply, "object": "chat.completion.chunk", "choices": choices}
        events = b"".join(b"data: " + text + b"\n\n" for text in (json.dumps(chunk).encode(), b"[DONE]"))
        self._write(200, "text/event-stream", events)

    def _send(self, status: int, reply: Mapping[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(reply).encode())

    def _write(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """No logging: a log of requests could contain texts of the corpus."""
