"""A run's models behind a URL on loopback: counted for the question that calls, whoever's client it is."""

import asyncio
import base64
import json
import threading
from collections import Counter
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from runtimes import Embedder

from harness.config import GeneratorConfig
from harness.core.errors import HarnessError
from harness.core.records import OWN_MODELS, Usage
from harness.models.clients import build_chat
from harness.models.fake_faults import Reply
from harness.models.metering import LOADING, Meter, metered
from harness.models.model_proxy_server import ModelProxyServer
from harness.models.transport import CallContext
from harness.protocols import ModelProxy
from harness.runner.costs import cost_of

from .conftest import Lab, OpenSeam

ASKED = {"model": "generator", "messages": [{"role": "user", "content": "Is it?"}]}


class Lender:
    """A lending server over the scripted model, and what it stopped for and said."""

    def __init__(self, call_context: CallContext, *, chat: bool = True) -> None:
        self.stopped: list[HarnessError] = []
        self.said: list[str] = []
        config = GeneratorConfig(provider="fake", model="fake", options={"reply": "yes"}, max_tokens=77)
        model = build_chat(config, call_context) if chat else None
        self.server = ModelProxyServer(model, Embedder(), self.stopped.append, self.said.append)


def post(url: str, key: str, body: Any) -> Any:
    """The JSON reply, or the status and message with which it is refused; a stream as its text."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    try:
        with urlopen(Request(url, json.dumps(body).encode(), headers)) as reply:
            text = reply.read().decode()
            return text if reply.headers["content-type"] == "text/event-stream" else json.loads(text)
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())["error"]["message"]


async def called(lent: ModelProxy, body: Any, *, path: str = "/chat/completions", url: str = "") -> Any:
    return await asyncio.to_thread(post, f"{url or lent.base_url}{path}", lent.api_key, body)


@pytest.fixture(autouse=True)
def _no_query_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests of lost machines abandon workers in this process in the middle of a query.
    monkeypatch.setattr("harness.models.metering._opened", Counter())


@pytest.fixture
def lender(open_seam: OpenSeam) -> Lender:
    return Lender(open_seam())


async def test_a_call_is_journaled_and_counted_for_the_question_under_way(lender: Lender) -> None:
    with metered(Meter("answer/q/0/1")) as meter:
        reply = await called(lender.server.open(), {**ASKED, "model": "gpt-x"})
    assert reply["choices"][0]["message"]["content"] == "yes"
    assert meter.usage["generator"].calls == 1
    assert meter.usage["generator"].input_tokens > 0
    assert lender.said == ["the pipeline asks for 'gpt-x': fake/fake answers, as the config says"]


async def test_each_question_has_a_url_of_its_own_and_without_it_two_at_once_stop_the_run(lender: Lender) -> None:
    lent = lender.server.open()
    with metered(Meter("answer/a/0/1")) as first:
        url = lender.server.url()
        with metered(Meter("answer/b/0/1")) as second:
            await called(lent, ASKED, url=url)
            status, message = await called(lent, ASKED)
    assert (len(first.usage), len(second.usage), status) == (1, 0, 409)
    assert "limits.concurrency=1" in message
    assert [str(error) for error in lender.stopped] == [message]


async def test_the_url_of_a_question_that_has_ended_and_a_wrong_key_open_nothing(lender: Lender) -> None:
    lent = lender.server.open()
    with metered(Meter("answer/a/0/1")):
        url = lender.server.url()
        refusals = [await called(ModelProxy(lent.base_url, "another key", "", ""), ASKED)]
    refusals += [await called(lent, ASKED, url=url), await called(lent, ASKED)]
    assert [status for status, _ in refusals] == [401, 410, 410]


async def test_a_call_that_outlasts_its_question_is_counted_as_made_and_not_for_the_next(lab: Lab) -> None:
    arrived, over = threading.Event(), threading.Event()

    def hang(path: str, body: bytes) -> Reply:
        arrived.set()
        over.wait()
        return Reply(200, b"{}")

    slow = lab.serve(respond=hang)
    config = GeneratorConfig(provider="openai-compatible", model="fake", base_url=slow.base_url)
    server = ModelProxyServer(build_chat(config, lab.open_seam()), None, lambda _: None, lambda _: None)

    try:
        lent = server.open()
        with metered(Meter("answer/a/0/1")) as first:
            call = asyncio.create_task(called(lent, ASKED))
            assert await asyncio.to_thread(arrived.wait, 60.0), f"the server was not called: {call}"
        await server.end(first)
        with metered(Meter("answer/b/0/1")) as second:
            await call
            status, _ = await called(lent, {}, path="/embeddings")
    finally:
        over.set()
    assert second.usage == {}
    assert first.usage == {"generator": Usage(calls=1, unmetered_calls=1)}
    assert status == 404  # It reached the second question, and no other.


async def test_a_stream_is_one_event_with_the_whole_reply_and_is_counted(lender: Lender) -> None:
    asked = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
    with metered(Meter("answer/q/0/1")) as meter:
        events = await called(lender.server.open(), asked)
    first, done = [line.removeprefix("data: ") for line in events.split("\n\n") if line]
    assert json.loads(first)["choices"][0]["delta"]["content"] == "yes"
    assert (done, meter.usage["generator"].calls) == ("[DONE]", 1)


async def test_embeddings_are_of_texts_as_numbers_or_base64(lender: Lender) -> None:
    lent = lender.server.open()
    with metered(Meter("index")):
        plain = await called(lent, {"input": ["a word", "two words"]}, path="/embeddings")
        packed = await called(lent, {"input": "a word", "encoding_format": "base64"}, path="/embeddings")
        tokens = await called(lent, {"input": [[5, 7]]}, path="/embeddings")
    row = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), dtype=np.float32)
    assert row.tolist() == pytest.approx(plain["data"][0]["embedding"])
    assert (len(plain["data"]), tokens[0]) == (2, 400)
    assert "check_embedding_ctx_length=False" in tokens[1]


async def test_a_generator_is_refused_where_its_calls_would_be_nobodys_cost(lender: Lender) -> None:
    with metered(Meter(LOADING)):
        status, message = await called(lender.server.open(), ASKED)
    await asyncio.sleep(0)
    assert (status, "charged to no query or index" in message) == (409, True)
    assert lender.said == [f"a call of the pipeline was refused: {message}"]


async def test_what_is_not_lent_is_refused(open_seam: OpenSeam) -> None:
    lent = Lender(open_seam(), chat=False).server.open()
    assert lent.model == ""
    with metered(Meter("index")):
        refusals = [await called(lent, ASKED), await called(lent, ASKED, path="/responses")]
    assert [status for status, _ in refusals] == [404, 404]


REPORTED = Usage(calls=2, input_tokens=30, output_tokens=4)


def test_what_a_pipeline_reports_counts_as_a_bound_and_only_where_nothing_was_metered() -> None:
    alone, beside = Meter("answer/q/0/1"), Meter("answer/r/0/1")
    for meter in (alone, beside):
        meter.report_unmetered_usage(None, beside={"embedder"})
        meter.report_unmetered_usage(REPORTED, beside={"embedder"})
        meter.add_call("embedder", Usage(calls=1))
    beside.add_call("generator", Usage(calls=1, input_tokens=9))
    assert cost_of(alone, 1.0, None).usage[OWN_MODELS] == REPORTED.model_copy(update={"unmetered_calls": 2})
    assert OWN_MODELS not in cost_of(beside, 1.0, None).usage


def test_a_pipeline_that_says_nothing_used_what_nobody_knows_and_not_nothing() -> None:
    meter = Meter("answer/q/0/1")
    meter.report_unmetered_usage(None)
    assert cost_of(meter, 1.0, None).usage == {OWN_MODELS: Usage(unmetered_calls=1)}
