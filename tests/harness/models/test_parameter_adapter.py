"""A model that refuses what it is sent by default: asked as it wants, learnt once, over processes and resumes."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import BudgetExhausted, ModelUnavailable
from harness.models.budget import Allowance, Budget
from harness.models.clients import OpenAIChat
from harness.models.fake_faults import Reply, refusal_of
from harness.models.fake_model import FakeScript
from harness.models.metering import Meter, metered
from harness.models.parameter_adapter import refused_parameter
from harness.models.transport import CallContext
from harness.protocols import Message
from harness.store import Dialect, Dialects

from .conftest import Connect, Lab, Serve

ANSWER = b'{"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}'
REFUSES = FakeScript(refuses=("temperature", "max_tokens"))
SCHEMA = {"type": "object", "properties": {}}


class Server:
    """Answers, or refuses, and keeps the parameters of each request."""

    def __init__(self, refuse: Callable[[dict[str, Any]], Reply | None]) -> None:
        self.refuse = refuse
        self.sent: list[dict[str, Any]] = []

    def __call__(self, _path: str, body: bytes) -> Reply:
        request = json.loads(body)
        self.sent.append({name: value for name, value in request.items() if name not in {"messages", "model"}})
        return self.refuse(request) or Reply(200, ANSWER)


def ask(text: str) -> list[Message]:
    return [Message("user", text)]


async def answer(chat: OpenAIChat, text: str, scope: str = "answer/q/0/1", **more: Any) -> Meter:
    with metered(Meter(scope)) as meter:
        await chat.complete(ask(text), **more)
    return meter


def among(call_context: CallContext, results: Path) -> CallContext:
    """As a process of that folder of results opens it."""
    call_context.dialects = Dialects.under(results)
    return call_context


async def test_of_64_calls_at_once_each_parameter_is_refused_once(lab: Lab, call_context: CallContext) -> None:
    server, lines = lab.serve(REFUSES), list[str]()
    call_context = among(call_context, lab.tmp_path)
    call_context.say = lines.append
    chat = lab.connect(server.base_url, call_context, max_concurrency=64)
    meters = await asyncio.gather(*(answer(chat, f"Is it {n}?") for n in range(64)))
    assert (server.model.served["calls"], server.model.served["faults"]) == (64, 2)
    assert [meter.usage["generator"].calls for meter in meters] == [1] * 64
    assert [line.partition(" refuses ")[2] for line in lines] == [
        "temperature=0.0: it is left out, and the report says so",
        "max_tokens: it is sent as max_completion_tokens",
    ]


async def test_who_waited_until_a_parameter_was_found_out_asks_beside_the_others(lab: Lab) -> None:
    under_way, most = 0, 0
    lock = threading.Lock()

    def answered_late(_path: str, _body: bytes) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.1)
        with lock:
            under_way -= 1
        return Reply(200, ANSWER)

    chat = lab.connect(
        lab.serve(respond=answered_late).base_url, among(lab.call_context, lab.tmp_path), max_concurrency=8
    )
    await asyncio.gather(*(answer(chat, f"Is it {n}?", json_schema=SCHEMA) for n in range(8)))
    assert most > 3


async def test_the_next_process_asks_as_the_model_wants_from_its_first_call_on(lab: Lab) -> None:
    server = lab.serve(REFUSES)
    for process in range(3):
        await answer(lab.connect(server.base_url, among(lab.open_seam(), lab.tmp_path)), f"Is it {process}?")
    assert (server.model.served["calls"], server.model.served["faults"]) == (3, 2)


async def test_the_journal_knows_a_call_as_it_was_asked_whatever_is_learnt_later(lab: Lab) -> None:
    took, refused = lab.serve(), lab.serve(REFUSES)
    await answer(lab.connect(took.base_url, lab.open_seam()), "Is it so?")
    call_context = among(lab.open_seam(), lab.tmp_path)
    chat = lab.connect(refused.base_url, call_context)
    await answer(chat, "Is it another?")
    assert (await answer(chat, "Is it so?")).replayed_calls == 1
    assert refused.model.served["calls"] == 1


async def test_what_is_omitted_is_sent_neither_by_us_nor_by_a_pipeline(
    lab: Lab, call_context: CallContext
) -> None:
    server, noted = Server(lambda _request: None), []
    call_context = among(call_context, lab.tmp_path)
    call_context.noted = lambda _role, dialect: noted.extend(dialect.left_out)
    omit = ("seed", "temperature", "response_format", "user")
    chat = lab.connect(lab.serve(respond=server).base_url, call_context, omit=omit)
    await answer(chat, "Is it so?", json_schema=SCHEMA)
    with metered(Meter("answer/q/1/1")):
        await chat.forward({"messages": [{"role": "user", "content": "So?"}], "user": "me", "stop": ["."]})
    assert [sorted(sent) for sent in server.sent] == [["max_tokens"], ["max_tokens", "stop"]]
    assert sorted(set(noted)) == sorted(omit)


THINKS = {"reasoning_effort": "high"}


@pytest.mark.parametrize(
    ("when", "configs", "sent"),
    [
        ({"temperature": 0}, [{"temperature": 0.0}, {"temperature": 1.0}], [0.0, None, 1.0]),
        (THINKS, [{"extra": {}}, {"extra": THINKS}], [0.0, 0.0, None]),
    ],
    ids=["at one value", "beside another parameter"],
)
async def test_a_temperature_is_left_out_only_where_it_is_refused(
    lab: Lab, when: dict[str, Any], configs: list[dict[str, Any]], sent: list[float | None]
) -> None:
    def refuse(request: dict[str, Any]) -> Reply | None:
        return refusal_of("temperature") if "temperature" in request and {**request, **when} == request else None

    server = Server(refuse)
    url = lab.serve(respond=server).base_url
    for number, config in enumerate(configs):
        await answer(lab.connect(url, among(lab.open_seam(), lab.tmp_path), **config), f"Is it {number}?")
    assert [request.get("temperature") for request in server.sent] == sent


async def test_a_schema_that_is_refused_is_asked_for_in_words_from_then_on(lab: Lab) -> None:
    server = Server(lambda request: refusal_of("response_format") if "response_format" in request else None)
    chat = lab.connect(lab.serve(respond=server).base_url, among(lab.call_context, lab.tmp_path))
    for n in range(3):
        await answer(chat, f"Is it {n}?", json_schema=SCHEMA)
    assert ["response_format" in sent for sent in server.sent] == [True, False, False, False]


async def test_what_does_not_help_is_not_remembered(lab: Lab, call_context: CallContext) -> None:
    # Such as a refusal that quotes its prompt, in which the name of a parameter stands.
    call_context = among(call_context, lab.tmp_path)
    quoted = b'{"error": {"message": "not supported: What is the temperature of the sea?"}}'
    server = Server(lambda _request: Reply(400, quoted))
    chat = lab.connect(lab.serve(respond=server).base_url, call_context)
    with pytest.raises(Exception, match="not supported: What"):
        await answer(chat, "What is the temperature of the sea?")
    server.refuse = lambda _request: None
    await answer(chat, "Is it so?")
    assert ["temperature" in sent for sent in server.sent] == [True, False, True]


async def test_what_a_run_was_begun_with_it_keeps_though_the_folder_forgot_it(lab: Lab) -> None:
    server = Server(lambda _request: None)
    lab.call_context.begun_in = {"generator": Dialect(sent_as={"temperature=0.0": None})}
    await answer(lab.connect(lab.serve(respond=server).base_url, lab.call_context), "Is it so?")
    assert ["temperature" in sent for sent in server.sent] == [False]


async def test_a_refusal_that_comes_late_stops_the_run_which_would_have_two_ways_of_decoding(lab: Lab) -> None:
    server = Server(lambda _request: None)
    chat = lab.connect(lab.serve(respond=server).base_url, among(lab.call_context, lab.tmp_path))
    await answer(chat, "Is it so?")
    server.refuse = lambda request: refusal_of("temperature") if "temperature" in request else None
    with pytest.raises(
        ModelUnavailable, match=r"refuses temperature=0\.0 now.*models\.generator\.temperature=null"
    ):
        await answer(chat, "Is it another?")
    assert isinstance(lab.call_context.fatal, ModelUnavailable)


async def test_room_for_reasoning_is_added_to_calls_and_budget_but_not_to_the_journal(
    lab: Lab,
) -> None:
    server = lab.serve(FakeScript(reply="yes", reasoning_tokens=500))
    for _ in range(2):
        sends = {"reasoning_tokens": 1000, "send_as": {"max_tokens": "max_completion_tokens"}}
        chat = lab.connect(server.base_url, lab.open_seam(), **sends)
        meter = await answer(chat, "Is it so?", max_tokens=20)
    assert meter.replayed_calls == 1
    assert meter.usage["generator"].output_tokens == 501
    limited = lab.open_seam()
    limited.budget = Budget(Allowance(tokens=1000))
    with pytest.raises(BudgetExhausted):
        await answer(lab.connect(server.base_url, limited, reasoning_tokens=5000), "Is it another?", max_tokens=20)
    assert server.model.served["calls"] == 1


async def test_a_reply_that_is_all_reasoning_fails_and_names_the_limit(serve: Serve, connect: Connect) -> None:
    chat = connect(serve(FakeScript(reasoning_tokens=500)).base_url, max_tokens=64)
    with pytest.raises(ValueError, match=r"spent all of max_tokens \(64, 64 of them on reasoning\) before"):
        await answer(chat, "Is it so?")


# Which parameter a server refuses, in the words of those that are in use.


SENT = ("temperature", "max_tokens", "seed", "response_format")
TABLE = Path(__file__).with_name("refusals_of_servers.jsonl").read_text(encoding="utf-8")
CASES = [json.loads(line) for line in TABLE.splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["server"])
def test_what_a_server_refuses_is_read_from_its_own_words(case: dict[str, Any]) -> None:
    found = refused_parameter(json.dumps(case["body"]).encode(), SENT)
    assert found == (tuple(case["refused"]) if case["refused"] else None)
    assert refused_parameter(json.dumps(case["body"]).encode(), ("min_p",)) is None
