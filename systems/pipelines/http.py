"""A pipeline behind a URL: `--system http://127.0.0.1:8000/ask`."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic import TypeAdapter, ValidationError

from harness.core.errors import ConfigError, ServiceUnavailable
from harness.core.proxies import (
    FIX,
    REFUSED,
    connect_once,
    http_transport,
    is_this_machine,
    raise_refusal,
    retry_after_s,
    trusted_certificates,
    use_network_settings,
)
from harness.core.records import Document, IndexStats, Query
from harness.core.sanitize import reply_without_keys
from harness.protocols import NO_ROLE, ModelProxy, Params, PlainUrl, Runtime, SystemSpec
from systems.pipelines.base import OWN_INDEX, OWN_WORDS, PipelineSystem, pipeline_family
from systems.pipelines.params import ServiceParams
from systems.pipelines.replies import PipelineReply, WrongShape, read_reply
from systems.pipelines.reply_paths import NothingThere, ReplyReader
from systems.pipelines.templates import check_variables, filled

_LONGEST_REPLY = 32_000_000
_CONNECT_S = 5.0
_COMES_BACK_S = 10.0
"""How long a service that was there may take to start again."""
_RETRIED = frozenset({408, 429, 502, 503, 504, 529, *range(520, 531)})
"""Busy, restarting, or a gateway in front of it that says so. 500 is the service's own answer."""
_MOST_RETRIES = 5
_LONGEST_WAIT_S = 120.0
_LONGEST_THROTTLED_S = 900.0
"""After so long a time of nothing but 429, the run stops."""
_STREAMED = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class ServiceFailed(Exception):
    """It answered this question with an error."""


class HttpPipeline(PipelineSystem):
    def __init__(self, url: str, params: ServiceParams, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._url, self._params = url, params
        self._key = os.environ.get(params.api_key_env or "", "").strip()
        self._sent = {"params": params.url_parameters or None, "headers": filled(params.headers, {})}
        works = runtime.has_answers
        self._reader = ReplyReader(params.reply, is_known_to_work=works) if params.reply else None
        self._client: httpx2.AsyncClient | None = None
        self._lent: ModelProxy | None = None
        self._answered = False

    async def build(self, _corpus: Sequence[Document]) -> IndexStats:
        return IndexStats(documents=0, is_elsewhere=True, notes=(OWN_INDEX,))

    async def open(self) -> None:
        if self._params.lends:
            self._lent = await self._runtime.lend()
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        use_network_settings()
        transport = http_transport(self._url, httpx2.Limits(max_connections=None), trusted_certificates())
        # The query's time limit is the only one.
        self._client = httpx2.AsyncClient(
            headers={**headers, **({"authorization": f"Bearer {self._key}"} if self._key else {})},
            timeout=httpx2.Timeout(None, connect=_CONNECT_S),
            transport=transport,
        )

    async def ask(self, query: Query) -> PipelineReply:
        status, headers, content = await self._tried(self._body(query))
        self._refuse(status, headers, content)
        try:
            reply = self._read(headers, content)
        except NothingThere as error:
            raise ServiceUnavailable(f"{self._url}: {error}", error.fix) from error
        self._answered = True
        return reply

    def _body(self, query: Query) -> dict[str, Any]:
        asked = {"query_id": query.query_id, "answer_style": self._runtime.answer_style}
        if self._params.request:
            own: dict[str, Any] = filled(self._params.request, {"query": query.text, **asked})
            return own
        body: dict[str, Any] = {"question": query.text, **asked}
        if self._runtime.retrieves_only:
            body["retrieve_only"] = True
        if self._lent:
            body["models"] = {
                "base_url": self._runtime.lent_url(),
                "api_key": self._lent.api_key,
                "model": self._lent.model,
                "embedding_model": self._lent.embedding_model,
            }
        return body

    def _read(self, headers: Mapping[str, str], content: bytes) -> PipelineReply:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            kind = headers.get("content-type", "no content-type")
            what = f"the reply is no JSON ({kind}): {_beginning(content)}"
            if self._reader and not self._answered and not self._runtime.has_answers:
                raise NothingThere(what, "correct the URL or the key") from error
            raise WrongShape(what) from error
        return self._reader.read(value) if self._reader else read_reply(value)

    async def _tried(self, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Its answer; a service that is busy is asked again. Waiting for its limit (429) is not latency."""
        began, failures = asyncio.get_running_loop().time(), 0
        tries = itertools.count(1)
        while True:
            status, headers, content = await self._post(body)
            waited_s = asyncio.get_running_loop().time() - began
            failures += status != 429
            is_over = waited_s > _LONGEST_THROTTLED_S if status == 429 else failures > _MOST_RETRIES
            if status not in _RETRIED or is_over:
                return status, headers, content
            longest_s = min(60.0, 0.5 * 2.0 ** min(next(tries), 10))
            wait_s = random.uniform(0.1, longest_s)  # noqa: S311 - jitter, no secret
            if (asked_s := retry_after_s(headers.get("retry-after"))) is not None:
                wait_s = min(asked_s, _LONGEST_WAIT_S)
            with self._runtime.throttled() if status == 429 else nullcontext():
                await asyncio.sleep(wait_s)

    async def _post(self, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Its answer, whole and in bounds. A service that is restarting is waited for."""
        if self._client is None:
            raise RuntimeError("ask() was called before open()")
        until = asyncio.get_running_loop().time() + _COMES_BACK_S
        while True:
            try:
                async with self._client.stream("POST", self._url, json=body, **self._sent) as response:
                    _refuse_stream(self._url, response.headers)
                    content = await _bounded(response)
                    # The key is in no record, even if the service returns it.
                    kept = content.replace(self._key.encode(), b"***") if self._key else content
                    return response.status_code, response.headers, reply_without_keys(kept)
            except (*_NEVER_SENT, httpx2.ProxyError) as error:
                if REFUSED in str(error):
                    raise ServiceUnavailable(f"the certificate of {self._url} is not trusted", FIX) from error
                raise_refusal(self._url, str(error))
                if asyncio.get_running_loop().time() > until:
                    raise _down(self._url, str(error)) from error
                await asyncio.sleep(random.uniform(0.2, 1.0))  # noqa: S311 - jitter, no secret

    def _refuse(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """Raise an error if it did not answer: permanent if no other question could succeed."""
        if 200 <= status < 300:
            return
        if status == 407:
            raise_refusal(self._url, "407 Proxy Authentication Required")
        if 300 <= status < 400:
            there = urlsplit(headers.get("location", ""))
            where = f" to {there.scheme}://{there.hostname}" if there.hostname else ""
            raise ServiceUnavailable(
                f"{self._url} redirects{where} ({status}), and a question is not sent elsewhere",
                "use the URL that it redirects to",
            )
        if status in {401, 403}:
            names = ", ".join(self._params.key_variables)
            fix = f"check {names}" if names else "set answer.api_key_env"
            raise ServiceUnavailable(f"{self._url} asks for another key ({status})", fix)
        if status in {404, 405} and not self._answered:
            raise ServiceUnavailable(
                f"{self._url} takes no question ({status})", "check the path: it takes a POST"
            )
        if status == 429:
            waited = (
                f"{self._url} has refused a question for {_LONGEST_THROTTLED_S:g} s (429: {_beginning(content)})"
            )
            raise ServiceUnavailable(waited, "run the same command again later, it resumes")
        raise ServiceFailed(f"HTTP {status}: {_beginning(content)}")


def _refuse_stream(url: str, headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _STREAMED:
        raise ServiceUnavailable(
            f"{url} streams its reply ({kind})",
            "ask for a whole one in answer.request: stream: false, or response_mode: blocking for Dify",
        )


async def _bounded(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _LONGEST_REPLY:
            raise WrongShape(f"the reply is longer than {_LONGEST_REPLY:,} bytes")
    return bytes(content)


def _beginning(content: bytes) -> str:
    return repr(" ".join(content[:2000].decode("utf-8", "replace").split())[:200])


def _down(url: str, reason: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"cannot reach {url} ({reason or 'no answer'})", "start it, or correct the URL")


def _check(url: str, params: ServiceParams) -> None:
    check_variables(params.key_variables, url)
    try:
        connect_once(url, _CONNECT_S)
    except OSError as error:
        raise _down(url, error.strerror or str(error)) from error
    if params.lends and not is_this_machine(urlsplit(url).hostname or ""):
        raise ConfigError(
            f"{url} is not on this machine, where models are lent", "let it call its own (answer.lends=[])"
        )


def _at(scheme: str, target: str) -> SystemSpec:
    """`//host/path`, as behind the scheme of a URL, or a whole URL."""
    given = f"{scheme}:{target}" if target.startswith("//") else target
    try:
        url = TypeAdapter(PlainUrl).validate_python(given)
    except ValidationError as error:
        # Never the URL itself: it may hold the key for which it is refused.
        problem = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        problem = problem.replace("api_key_env", "answer.api_key_env")
        raise ConfigError(f"the URL of '{scheme}:' {problem}", "such as http://127.0.0.1:8000/ask") from error
    return SystemSpec(
        name=url,
        version="2",
        summary="a pipeline behind that URL",
        index_params=Params,
        answer_params=ServiceParams,
        build=lambda _, answer, runtime: HttpPipeline(url, answer, runtime),
        index_roles=NO_ROLE,
        answer_roles=lambda _, answer: frozenset(answer.lends),
        servers=lambda _: [url],
        preflight=lambda _, answer: _check(url, answer),
        own_models=True,
        is_elsewhere=True,
        notes=(OWN_WORDS,),
    )


def _family(scheme: str) -> SystemSpec:
    summary = f"your pipeline behind a URL: --system {scheme}://127.0.0.1:8000/ask (docs/your-pipeline.md)"
    return pipeline_family(scheme, "//127.0.0.1:8000/ask", partial(_at, scheme), Params, ServiceParams, summary)


SPEC = _family("http")
HTTPS_SPEC = _family("https")
