"""What a server says beside its text: reasoning, filters, refusals, tool calls, errors in a 200, statuses."""

import json
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from echoing_server import WAYS, EchoingServer, files_with_keys, keys_in, serve_echoes
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.proxies import retry_after_s
from harness.core.records import Usage
from harness.models.fake_faults import Reply
from harness.models.metering import Meter, metered
from harness.models.reply_parsing import read_error, read_usage
from harness.protocols import Message, Tool, ToolCall

from .conftest import Connect, Lab, Serve

USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}


def choice(message: dict[str, Any], finish_reason: str = "stop", **more: Any) -> bytes:
    one = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason, **more}
    return json.dumps({"choices": [one], "usage": USAGE}).encode()


async def said(serve: Serve, connect: Connect, body: bytes) -> tuple[str, list[str]]:
    """The answer to one question, and the reasoning that was kept apart."""
    server = serve(respond=lambda path, request: Reply(200, body))
    with metered(Meter("q")) as meter:
        answer = await connect(server.base_url, max_retries=0).complete([Message("user", "Who?")])
    return answer, meter.reasoning


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>Jon?</think>\n\nMarta"},
        {"content": "Jon?</think>Marta"},
        {"content": "Marta", "reasoning_content": "Jon?"},
        {"content": "Marta", "reasoning": "Jon?"},
        {"content": "Marta", "reasoning": "Jon?", "reasoning_content": "Jon?"},
        {"content": [{"type": "reasoning", "text": "Jon?"}, {"type": "text", "text": "Marta"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Jon?"}]}, "Marta"]},
    ],
    ids=str,
)
async def test_reasoning_is_kept_apart_wherever_a_server_puts_it(lab: Lab, message: dict[str, Any]) -> None:
    assert await said(lab.serve, lab.connect, choice(message)) == ("Marta", ["Jon?"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (choice({"content": "The passage tells of a"}, "content_filter"), "content_filter"),
        (choice({"content": "The passage"}, "SAFETY"), "SAFETY"),
        (b'{"choices": [{"index": 0, "finish_reason": "content_filter: RECITATION"}]}', "RECITATION"),
        (choice({"content": "The pas"}, "insufficient_system_resource"), "insufficient_system_resource"),
        (choice({"content": "I search.", "tool_calls": [{"id": "1"}]}, "tool_calls"), "tool"),
        (choice({"content": '<tool_call>\n{"name": "search"}\n</tool_call>'}), "tool"),
        (choice({"content": None, "reasoning_details": [{"text": "It is Marta"}]}), "reasoning parser"),
        (
            b'{"choices": null, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}',
            "balance",
        ),
        *((body, "no text|without a choice") for body in (b'{"choices": []}', b"{}", b"[]", b"3")),
        (choice({"content": None}), "no text"),
        (b'{"message": "Invalid token", "code": 401}', "Invalid token"),
        (b'{"errors": [{"code": 5006, "message": "properties missing"}], "result": {}}', "properties missing"),
        (choice({"content": None, "refusal": "I'm sorry, I can't."}), "I'm sorry, I can't"),
        (choice({"content": "", "reasoning_content": "It is Marta"}), "reasoning parser"),
        (choice({"content": "<think>Perhaps"}, "length"), "max_tokens"),
        (choice({"content": "<think>Perhaps"}), "max_tokens"),
        (
            choice({"content": ""}, "error", error={"message": "Provider returned error"}),
            "Provider returned error",
        ),
        (b'{"error": {"message": "Rate limit exceeded: free", "code": 429}}', "Rate limit exceeded: free"),
        (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "stream of events"),
        (b"<!doctype html><title>Sign in</title>", "web page"),
    ],
)
async def test_a_reply_without_an_answer_fails_and_says_why(lab: Lab, body: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        await said(lab.serve, lab.connect, body)


async def test_an_empty_reply_of_a_model_that_ended_by_itself_is_an_answer(serve: Serve, connect: Connect) -> None:
    assert await said(serve, connect, choice({"content": ""})) == ("", [])


KEYS = {"GENERATOR_KEY": "sk-gen+Tq7/Zp0==9c1Lk", "JUDGE_KEY": 'pk_"Jq\\5<Vw8%Xy2&Nm4'}


@pytest.fixture
def echoing() -> Iterator[EchoingServer]:
    yield from serve_echoes()


@pytest.mark.parametrize("way", WAYS)
async def test_no_key_comes_back_from_a_server(
    way: str, echoing: EchoingServer, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    echoing.way = way
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    seen = []
    for role_of in KEYS:
        chat = lab.connect(echoing.base_url, lab.open_seam(), api_key_env=role_of)
        try:
            with metered(Meter(f"answer/{role_of}/0/1")):
                seen.append(await chat.complete([Message("user", role_of)]))
        except Exception:
            seen.append(traceback.format_exc())
    assert echoing.heard == list(KEYS.values())
    assert keys_in("".join(seen).encode(), list(KEYS.values())) == []
    assert files_with_keys(lab.tmp_path, list(KEYS.values())) == []


SEARCH = Tool("search", "Finds passages.", {"type": "object", "properties": {"query": {"type": "string"}}})


async def called(serve: Serve, connect: Connect, message: dict[str, Any]) -> tuple[ToolCall, dict[str, Any]]:
    """The call in a reply, and the request."""
    asked: list[bytes] = []

    def respond(_path: str, request: bytes) -> Reply:
        asked.append(request)
        return Reply(200, choice(message, "tool_calls"))

    model = connect(serve(respond=respond).base_url, max_retries=0)
    with metered(Meter("q")) as meter:
        call = await model.call([Message("user", "Who?")], [SEARCH], max_tokens=50)
    assert meter.usage["generator"].input_tokens == USAGE["prompt_tokens"]
    return call, json.loads(asked[0])


def calling(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


async def test_a_tool_is_called_by_the_protocol_of_the_provider(serve: Serve, connect: Connect) -> None:
    call, asked = await called(serve, connect, calling("search", '{"query": "Marta"}'))
    assert call == ToolCall("search", {"query": "Marta"})
    assert asked["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["search"]


@pytest.mark.parametrize(
    "message", [{"content": "Marta"}, calling("delete", "{}"), calling("search", "no JSON"), {"tool_calls": [3]}]
)
async def test_a_reply_without_a_call_that_can_be_read_is_an_error(lab: Lab, message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"calls none|JSON"):
        await called(lab.serve, lab.connect, message)


# What servers say about usage, errors and waiting, whatever shape they say it in.


NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["usage", "error", "message", "code", "prompt_tokens", "prompt_tokens_details", "cached_tokens"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        (" 1.5 ", 1.5),
        ("-5", 0.0),
        ("inf", None),
        ("nan", None),
        ("1e999", None),
        ("12 seconds", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
        ("Mon, 04 May 2026 14:00:10 +0200", 10.0),
        ("Mon, 99 May 2026 12:00:10 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, lambda: NOW) == seconds


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (
            {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}},
            Usage(calls=1, input_tokens=7, output_tokens=2, cached_tokens=5),
        ),
        ({"prompt_tokens": 7, "total_tokens": 7}, Usage(calls=1, input_tokens=7)),
        (
            {"prompt_tokens": 7, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(calls=1, input_tokens=7),
        ),
        ({"completion_tokens": 2}, Usage(calls=1, unmetered_calls=1)),
        ({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(calls=1, unmetered_calls=1)),
        ({"prompt_tokens": float("inf")}, Usage(calls=1, unmetered_calls=1)),
        (None, Usage(calls=1, unmetered_calls=1)),
    ],
)
def test_usage_is_what_the_server_counted_or_an_unmetered_call(usage: object, read: Usage) -> None:
    assert read_usage(json.dumps({"usage": usage}).encode()) == read


def test_a_reply_with_text_has_tokens_whatever_the_server_says() -> None:
    for said in (0, None):
        body = {
            **json.loads(choice({"content": "Marta"})),
            "usage": {"prompt_tokens": 9, "completion_tokens": said},
        }
        assert read_usage(json.dumps(body).encode()).unmetered_calls == 1


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"error": {"message": "no such model", "code": "model_not_found"}}, ("no such model", "model_not_found")),
        ({"error": {"message": "two\nlines", "code": 404}}, ("two lines", "404")),
        ({"error": "just text"}, ("just text", "")),
        ({"detail": "FastAPI's own"}, ("FastAPI's own", "")),
        ([{"error": {"message": "in a list", "code": None}}], ("in a list", "")),
        ({"status": "bad"}, ('{"status": "bad"}', "")),
    ],
)
def test_an_error_body_of_any_shape_becomes_a_message_and_a_code(body: Any, read: tuple[str, str]) -> None:
    error = read_error(json.dumps(body).encode())
    assert (error.brief, error.code) == read


def test_an_error_page_is_one_line_of_at_most_200_characters() -> None:
    error = read_error(b"<html>\n<body>Bad gateway</body>\xff</html>\n" * 50)
    assert error.brief.startswith("<html> <body>Bad gateway</body>")
    assert len(error.brief) == 200
    assert error.code == ""


@settings(deadline=None)
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_body_at_all_breaks_the_reading(body: bytes) -> None:
    usage = read_usage(body)
    assert usage.calls == 1
    message = read_error(body).brief
    assert len(message) <= 200
    assert len(message.splitlines()) <= 1
