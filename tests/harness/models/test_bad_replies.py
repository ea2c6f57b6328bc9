"""Everything that a server can do wrong, over real HTTP: each is an answer, a retry or one line, and counted."""

import json
import time
from typing import Any

import openai
import pytest
from journals import faults_in

from harness.core.errors import ModelUnavailable
from harness.core.records import Usage
from harness.models import reply_parsing
from harness.models.clients import OpenAIChat
from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeScript
from harness.models.metering import Meter, metered
from harness.models.reply_parsing import UnreadableReply
from harness.protocols import Message

from .conftest import Lab

ASKED = [Message("user", "Who was Ada?")]
DAMAGED = ["malformed", "truncated", "reset", "gzip_bomb", "endless"]


@pytest.fixture
def small_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on a body is far below what a test would take seconds to send."""
    monkeypatch.setattr(reply_parsing, "MAX_BODY_BYTES", 1 << 20)


async def asked(chat: OpenAIChat) -> tuple[str, Usage]:
    with metered(Meter("index")) as meter:
        return await chat.complete(ASKED), meter.usage["generator"]


@pytest.mark.usefixtures("small_bodies")
@pytest.mark.parametrize("fault", DAMAGED)
async def test_a_damaged_answer_is_asked_for_again_and_counted_as_paid(lab: Lab, fault: str) -> None:
    server = lab.serve(FakeScript(reply="yes", fault=fault, fault_times=1))
    text, usage = await asked(lab.connect(server.base_url, max_retries=1))
    assert text == "yes"
    assert (usage.calls, usage.unmetered_calls, usage.output_tokens) == (2, 1, 1)
    assert len(faults_in(lab.tmp_path / "calls.sqlite")) == 1


@pytest.mark.usefixtures("small_bodies")
@pytest.mark.parametrize(("fault", "said"), [("gzip_bomb", " when uncompressed"), ("endless", "")])
async def test_a_reply_that_never_gets_better_fails_its_call_in_one_line(lab: Lab, fault: str, said: str) -> None:
    with pytest.raises(UnreadableReply, match=f"^a reply is larger than 1 MiB{said}$"):
        await asked(lab.connect(lab.serve(FakeScript(fault=fault)).base_url, max_retries=1))
    assert lab.call_context.fatal is None


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "zstd"])
async def test_a_body_in_an_encoding_nobody_requested_is_not_unpacked(lab: Lab, coding: str) -> None:
    server = lab.serve(respond=lambda path, body: Reply(200, b"{}", {"content-encoding": coding}))
    with pytest.raises(UnreadableReply, match="content encoding that was not requested"):
        await asked(lab.connect(server.base_url))


async def test_an_answer_that_comes_byte_by_byte_ends_at_the_time_limit_of_a_request(lab: Lab) -> None:
    server = lab.serve(FakeScript(fault="endless"))
    with pytest.raises((openai.APITimeoutError, UnreadableReply)):
        await asked(lab.connect(server.base_url, timeout_s=0.2))


@pytest.mark.parametrize("fault", ["usage_negative", "usage_huge", "usage_float", "usage_text"])
async def test_usage_that_cannot_be_is_no_usage_and_the_answer_is_kept(lab: Lab, fault: str) -> None:
    server = lab.serve(FakeScript(reply="yes", fault=fault))
    assert await asked(lab.connect(server.base_url)) == ("yes", Usage(calls=1, unmetered_calls=1))
    with metered(Meter("index")) as resumed:
        assert await lab.connect(server.base_url, lab.open_seam()).complete(ASKED) == "yes"
    assert resumed.replayed_calls == 1


@pytest.mark.parametrize(("fault", "retries"), [("list_content", 0), ("bad_header", 1)])
async def test_content_in_parts_is_their_text_and_a_bad_header_a_retry(lab: Lab, fault: str, retries: int) -> None:
    server = lab.serve(FakeScript(reply="yes, sir", fault=fault, fault_times=1))
    assert (await asked(lab.connect(server.base_url, max_retries=retries)))[0] == "yes, sir"


async def test_a_reply_that_max_tokens_ended_is_counted_as_cut_also_when_it_is_replayed(lab: Lab) -> None:
    server = lab.serve(FakeScript(reply="yes", fault="length"))
    for _ in range(2):
        with metered(Meter("index")) as meter:
            await lab.connect(server.base_url, lab.open_seam()).complete(ASKED)
        assert meter.usage["generator"].cut_calls == 1
    assert server.model.served["calls"] == 1


WORDS = " ".join(["the river runs by the old stone bridge"] * 100)


@pytest.mark.parametrize(
    ("prompt", "usage", "is_cut"),
    [
        (WORDS, {"prompt_tokens": 300}, True),
        (WORDS, {"prompt_tokens": 900}, False),
        (WORDS, {"prompt_tokens": 4, "prompt_tokens_details": {"cached_tokens": 900}}, False),
        (WORDS, {"prompt_tokens": 4, "cache_read_input_tokens": 900}, False),
        (WORDS, {"prompt_tokens": 0}, False),
        ("桥" * 3000, {"prompt_tokens": 900}, False),
        ("=" * 9000, {"prompt_tokens": 80}, False),
        ("x = f(y)\n" + " " * 4000, {"prompt_tokens": 40}, False),
        ("Who was Ada?", {"prompt_tokens": 1}, False),
    ],
    ids=["cut", "whole", "cached in details", "cached apart", "not counted", "chinese", "a line", "code", "short"],
)
async def test_a_prompt_of_which_a_server_counts_a_part_is_counted_as_cut_also_when_it_is_replayed(
    lab: Lab, prompt: str, usage: dict[str, Any], is_cut: bool
) -> None:
    reply = {"choices": [{"message": {"content": "yes"}}], "usage": {"completion_tokens": 1, **usage}}
    server = lab.serve(respond=lambda _path, _body: Reply(200, json.dumps(reply).encode()))
    for _ in range(2):
        with metered(Meter("index")) as meter:
            await lab.connect(server.base_url, lab.open_seam()).complete([Message("user", prompt)])
        assert meter.usage["generator"].cut_prompts == is_cut


# Limits of the provider


async def test_a_wait_beyond_the_cap_is_cut_to_it_and_said_once(lab: Lab) -> None:
    said: list[str] = []
    call_context = lab.open_seam()
    call_context.say = said.append
    server = lab.serve(FakeScript(reply="yes", fault="retry_after_huge", fault_times=2))
    began = time.monotonic()
    with metered(Meter("index")) as meter:
        assert await lab.connect(server.base_url, call_context, max_retry_after_s=0.1).complete(ASKED) == "yes"
    assert 0.2 <= meter.throttled_s <= time.monotonic() - began < 30
    assert faults_in(lab.tmp_path / "calls.sqlite") == [("HTTP 429", 0.1)] * 2
    assert said == [
        f"the generator at {server.base_url} asks to wait 999,999,999 s: asked again after 0.1 s "
        "(models.generator.max_retry_after_s)"
    ]


async def test_a_server_that_lets_nothing_through_stops_the_run_and_loses_no_query(lab: Lab) -> None:
    chat = lab.connect(
        lab.serve(FakeScript(fault="retry_after_huge")).base_url, max_retry_after_s=0.05, max_throttled_s=0.2
    )
    with pytest.raises(ModelUnavailable, match=r"has refused every request for 0.2 s \(HTTP 429\): run the same"):
        await asked(chat)
    assert isinstance(lab.call_context.fatal, ModelUnavailable)
