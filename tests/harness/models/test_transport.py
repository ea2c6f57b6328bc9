"""The seam under the real openai client against a real HTTP server: counted, journaled, retried, no key kept."""

import asyncio
import json
import socket
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

import openai
import pytest
from journals import faults_in

from harness.core.errors import ModelUnavailable, StoreError
from harness.core.records import Usage
from harness.models.clients import OpenAIChat
from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.models.metering import Meter, metered
from harness.models.reply_parsing import UnreadableReply
from harness.models.transport import CallContext
from harness.protocols import Message

from .conftest import Connect, Lab, Serve

SECRET = "sk-proj-hunter2hunter2hunter2"
GENERATOR = "generator"


def ask(text: str) -> list[Message]:
    return [Message("system", "Answer briefly."), Message("user", text)]


def served_usage(server: FakeServer) -> Usage:
    """What the server itself counted."""
    counted = server.model.served
    return Usage(
        calls=counted["calls"], input_tokens=counted["input_tokens"], output_tokens=counted["output_tokens"]
    )


def refusing(status: int, message: str, code: str | None = None) -> Callable[[str, bytes], Reply]:
    error = json.dumps({"error": {"message": message, "code": code}}).encode()
    return lambda path, body: Reply(status, error)


def journaled(tmp_path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(tmp_path / "calls.sqlite")) as db:
        return db.execute("SELECT scope, role, occurrence FROM calls ORDER BY scope, occurrence").fetchall()


NAME = {"type": "string", "maxLength": 60}


def files_holding(folder: Path, secret: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


# What is sent


async def test_lengths_in_a_schema_are_kept_from_openai(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    schema = {"type": "object", "properties": {"names": {"type": "array", "maxItems": 3, "items": NAME}}}
    for provider, sent in (("openai", {"type": "string"}), ("openai-compatible", NAME)):
        bodies: list[bytes] = []

        def respond(path: str, body: bytes, bodies: list[bytes] = bodies) -> Reply:
            bodies.append(body)
            return Reply(200, json.dumps({"choices": [{"message": {"content": "{}"}}]}).encode())

        chat = lab.connect(lab.serve(respond=respond).base_url, provider=provider, api_key_env="OPENAI_API_KEY")
        with metered(Meter(f"answer/{provider}/0/1")):
            await chat.complete(ask("Who?"), json_schema=schema)
        asked = json.loads(bodies[0])["response_format"]["json_schema"]["schema"]
        assert asked["properties"]["names"] == {"type": "array", "maxItems": 3, "items": sent}


# The journal


async def test_in_a_shared_journal_the_same_request_to_another_server_is_another_call(lab: Lab) -> None:
    server = lab.serve()
    for weights, calls in (("7b", 1), ("70b", 2), ("7b", 2)):
        call_context = lab.open_seam()
        call_context.servers = {GENERATOR: weights, "embedder": "of no matter"}
        with metered(Meter("index")) as meter:
            await lab.connect(server.base_url, call_context).complete(ask("Who was Ada?"))
        assert server.model.served["calls"] == calls
    assert meter.replayed_calls == 1
    assert meter.replayed_from == {"": meter.usage}


async def test_a_resumed_run_is_answered_from_the_journal_without_any_server(lab: Lab) -> None:
    server = lab.serve()
    questions = ["Who was Ada?", "Who was Grace?"]
    with metered(Meter("index")) as first:
        chat = lab.connect(server.base_url, lab.open_seam())
        answers = [await chat.complete(ask(text)) for text in questions]
    served = dict(server.model.served)
    with metered(Meter("index")) as second:
        chat = lab.connect(f"http://127.0.0.1:{free_port()}/v1", lab.open_seam())
        assert [await chat.complete(ask(text)) for text in questions] == answers
    with metered(Meter("index")), pytest.raises(ModelUnavailable):
        await lab.connect(f"http://127.0.0.1:{free_port()}/v1").complete(ask("never asked before"))
    assert server.model.served == served
    assert (first.replayed_calls, second.replayed_calls) == (0, 2)
    assert second.usage == first.usage, "the query needed these tokens, whoever paid"
    assert second.throttled_s == 0.0


async def test_a_replay_knows_how_long_its_calls_took_side_by_side(lab: Lab) -> None:
    """Six calls of 0.1 s, three at a time, once took two tenths of a second and not six."""
    chat = lab.connect(lab.serve(FakeScript(latency_s=0.1)).base_url, lab.open_seam(), max_concurrency=3)
    began = time.monotonic()
    with metered(Meter("index")) as first:
        await asyncio.gather(*(chat.complete(ask(str(n))) for n in range(6)))
    took_s = time.monotonic() - began
    with metered(Meter("index")) as second:
        chat = lab.connect(f"http://127.0.0.1:{free_port()}/v1", lab.open_seam())
        for n in range(6):
            await chat.complete(ask(str(n)))
    assert first.saved_s is None
    assert second.saved_s is not None
    assert 0.2 <= second.saved_s <= took_s + 0.01


async def test_the_same_request_twice_in_one_scope_is_two_calls_and_both_are_replayed(lab: Lab) -> None:
    counter = iter(range(99))

    def respond(path: str, body: bytes) -> Reply:
        message = {"choices": [{"message": {"content": f"answer {next(counter)}"}}]}
        return Reply(200, json.dumps(message).encode())

    server = lab.serve(respond=respond)
    for _ in range(2):
        chat = lab.connect(server.base_url, lab.open_seam())
        with metered(Meter("answer/q1/0/1")):
            assert [await chat.complete(ask("Who?")) for _ in range(2)] == ["answer 0", "answer 1"]
    assert journaled(lab.tmp_path) == [("answer/q1/0/1", GENERATOR, 0), ("answer/q1/0/1", GENERATOR, 1)]


async def test_a_call_that_was_asked_again_after_it_failed_is_not_paid_again_on_resume(lab: Lab) -> None:
    """Graph libraries retry on their own: the second try takes the place of the first."""
    server = lab.serve(FakeScript(fault="http_500", fault_times=1))
    with metered(Meter("index")):
        chat = lab.connect(server.base_url, lab.open_seam())
        with pytest.raises(openai.InternalServerError):
            await chat.complete(ask("Who?"))
        answer = await chat.complete(ask("Who?"))
    assert journaled(lab.tmp_path) == [("index", GENERATOR, 0)]
    with metered(Meter("index")) as resumed:
        assert await lab.connect(server.base_url, lab.open_seam()).complete(ask("Who?")) == answer
    assert (server.model.served["calls"], resumed.replayed_calls) == (1, 1)


async def test_a_call_that_a_time_limit_cuts_off_was_made_is_not_journaled_and_frees_its_place(lab: Lab) -> None:
    chat = lab.connect(lab.serve(FakeScript(fault="hang", fault_match="slow")).base_url, max_concurrency=1)
    with metered(Meter("answer/q1/0/1")) as meter:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                # The second never gets the only place: it was not made.
                await asyncio.gather(chat.complete(ask("slow")), chat.complete(ask("waiting")))
        assert (meter.usage, meter.throttled_s) == ({GENERATOR: Usage(calls=1, unmetered_calls=1)}, 0.0)
        assert journaled(lab.tmp_path) == []
        assert await chat.complete(ask("Who?"))
    assert journaled(lab.tmp_path) == [("answer/q1/0/1", GENERATOR, 0)]


async def test_a_journal_that_cannot_be_written_stops_the_run_in_one_line(lab: Lab) -> None:
    """The client wraps what its transport raises; a full disk must not become one failed query after another."""
    chat = lab.connect(lab.serve().base_url)
    with closing(sqlite3.connect(lab.tmp_path / "calls.sqlite")) as db:
        db.execute("DROP TABLE calls")
    with metered(Meter("index")), pytest.raises(StoreError, match=r"calls\.sqlite is damaged"):
        await chat.complete(ask("Who?"))
    assert isinstance(lab.call_context.fatal, StoreError)


# What passes and what does not


async def test_the_request_is_what_the_config_and_the_call_say(serve: Serve, connect: Connect) -> None:
    seen: list[dict[str, Any]] = []

    def respond(path: str, body: bytes) -> Reply:
        seen.append(json.loads(body))
        return Reply(200, b'{"choices": [{"message": {"content": "{}"}}]}')

    chat = connect(serve(respond=respond).base_url, temperature=0.5, max_tokens=7, seed=3)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    with metered(Meter("index")):
        await chat.complete(ask("Who?"))
        await chat.complete(ask("Who?"), max_tokens=99, json_schema=schema)
    plain, constrained = seen
    assert plain == {
        "model": "fake-1",
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "Who?"},
        ],
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": 3,
    }
    assert constrained["max_tokens"] == 99
    assert constrained["response_format"]["json_schema"]["schema"] == schema


async def test_variables_of_the_client_library_send_no_call_elsewhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = f"http://127.0.0.1:{free_port()}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, elsewhere)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{elsewhere}/v1")
    with metered(Meter("index")) as meter:
        await lab.connect(lab.serve().base_url).complete(ask("Who?"))
    assert meter.usage[GENERATOR].calls == 1


async def test_half_an_emoji_at_the_end_of_a_reply_is_replaced(serve: Serve, connect: Connect) -> None:
    body = b'{"choices": [{"message": {"content": "\\ud83d\\ude00 and \\ud83d"}}]}'
    chat = connect(serve(respond=lambda path, request: Reply(200, body)).base_url)
    with metered(Meter("index")):
        assert await chat.complete(ask("Who?")) == "\U0001f600 and \ufffd"


# Retries


@pytest.mark.parametrize("status", [408, 409, 425, 429, 498, 500, 502, 503, 504, 520, 524, 529])
async def test_a_passing_fault_is_retried_until_the_server_answers(lab: Lab, status: int) -> None:
    server = lab.serve(FakeScript(fault=f"http_{status}", fault_times=2))
    with metered(Meter("index")) as meter:
        assert await lab.connect(server.base_url, max_retries=2).complete(ask("Who?"))
    assert meter.usage == {GENERATOR: served_usage(server)}
    assert server.model.served["faults"] == 2
    assert [reason for reason, _ in faults_in(lab.tmp_path / "calls.sqlite")] == [f"HTTP {status}"] * 2


@pytest.mark.parametrize("status", [422, 501, 505])
async def test_another_status_is_not_tried_again(serve: Serve, connect: Connect, status: int) -> None:
    server = serve(FakeScript(fault=f"http_{status}"))
    with metered(Meter("index")), pytest.raises(openai.APIStatusError):
        await connect(server.base_url, max_retries=3).complete(ask("Who?"))
    assert server.model.served["faults"] == 1


async def test_a_garbled_body_is_an_exception_and_is_asked_again_on_resume(lab: Lab) -> None:
    server = lab.serve(FakeScript(fault="malformed", fault_times=1))
    with metered(Meter("index")) as meter, pytest.raises(UnreadableReply):
        await lab.connect(server.base_url).complete(ask("Who?"))
    assert meter.usage == {GENERATOR: Usage(calls=1, unmetered_calls=1)}
    assert (journaled(lab.tmp_path), lab.call_context.fatal) == ([], None)
    with metered(Meter("index")) as resumed:
        assert await lab.connect(server.base_url).complete(ask("Who?"))
    assert resumed.replayed_calls == 0


async def test_a_server_that_does_not_answer_in_time_fails_that_call_alone(lab: Lab) -> None:
    server = lab.serve(FakeScript(fault="hang", fault_match="slow"))
    chat = lab.connect(server.base_url, timeout_s=0.3, max_retries=1)
    with metered(Meter("index")) as meter:
        with pytest.raises(openai.APITimeoutError):
            await chat.complete(ask("slow"))
        assert await chat.complete(ask("quick"))
    assert lab.call_context.fatal is None
    assert meter.usage[GENERATOR].calls == 1
    assert meter.throttled_s == 0.0, "the first try took the time of a user who waits"
    assert [reason for reason, _ in faults_in(lab.tmp_path / "calls.sqlite")] == ["ReadTimeout"]


# Where no query can succeed


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


async def unavailable(chat: OpenAIChat, call_context: CallContext) -> str:
    """The one line with which the run stops."""
    with metered(Meter("index")), pytest.raises(ModelUnavailable) as caught:
        await chat.complete(ask("Who?"))
    assert call_context.fatal is caught.value
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return line


async def test_a_server_that_hangs_up_without_an_answer_stops_the_run(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        line = await unavailable(
            lab.connect(f"http://127.0.0.1:{listening.getsockname()[1]}/v1"), lab.call_context
        )
        thread.join()
    assert line.startswith("cannot reach the generator at ")


@pytest.mark.parametrize("status", [HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN])
async def test_a_refused_key_stops_the_run_and_is_kept_nowhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, status: HTTPStatus
) -> None:
    """Also where the server quotes the key it refuses."""
    monkeypatch.setenv("MY_KEY", f"{SECRET}\n")
    server = lab.serve(respond=refusing(status, f"Incorrect API key provided: {SECRET}."))
    line = await unavailable(lab.connect(server.base_url, api_key_env="MY_KEY", max_retries=3), lab.call_context)
    assert f"generator at {server.base_url} refused the key (HTTP {status.value}: Incorrect API key" in line
    assert line.endswith("set a valid key")
    assert SECRET not in line
    assert files_holding(lab.tmp_path, SECRET) == []


@pytest.mark.parametrize(
    ("status", "message", "code", "line"),
    [
        (404, "model 'fake-1' not found", None, "has no such model or path (HTTP 404: model 'fake-1' not found)"),
        (429, "You exceeded it", "insufficient_quota", "the quota is used up (You exceeded it): add credit"),
        (429, "You exceeded it", "billing_hard_limit_reached", "the quota is used up (You exceeded it): add"),
    ],
)
async def test_an_unknown_model_or_a_quota_that_is_used_up_stops_the_run_without_a_retry(
    lab: Lab, status: int, message: str, code: str | None, line: str
) -> None:
    server = lab.serve(respond=refusing(status, message, code))
    said = await unavailable(lab.connect(server.base_url, provider="ollama", max_retries=3), lab.call_context)
    assert line in said
    assert ("ollama pull" in said) == (status == 404)
    assert faults_in(lab.tmp_path / "calls.sqlite") == []
