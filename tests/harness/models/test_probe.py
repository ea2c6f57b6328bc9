"""The first call of a model: what every other would fail of too is one line, anything else is left to them."""

import json
from typing import Any

import pytest

from harness.config import EmbedderConfig, GeneratorConfig
from harness.core.errors import ModelUnavailable
from harness.models.budget import Allowance, Budget
from harness.models.fake_faults import Reply
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.models.probe import ask_once, is_asked
from harness.models.providers import resolve_embedder, resolve_generator
from harness.models.transport import CallContext

from .conftest import Lab, OpenSeam, Serve

pytestmark = pytest.mark.usefixtures("no_tls")


def generator(server: FakeServer, **more: Any) -> GeneratorConfig:
    fields = {"provider": "openai-compatible", "model": "m", "base_url": server.base_url, "max_retries": 0, **more}
    return resolve_generator(GeneratorConfig.model_validate(fields))


@pytest.mark.parametrize("fault", ["http_500", "http_529", "usage_huge", "no_usage", "list_content"])
async def test_a_server_that_falters_is_left_to_who_calls_it_next(lab: Lab, fault: str) -> None:
    await ask_once(generator(lab.serve(FakeScript(fault=fault))), lab.call_context, "preflight/today")
    assert lab.call_context.fatal is None


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("malformed", r"check models\.generator\.base_url"),
        ("gzip_bomb", r"check models\.generator\.base_url"),
        ("http_402", "quota"),
        *((f"http_{status}", str(status)) for status in (400, 403, 404, 422)),
        ("http_511", r"HTTP 511.*models\.generator\.base_url"),
    ],
)
async def test_what_every_call_would_fail_of_is_one_line_at_first(lab: Lab, fault: str, said: str) -> None:
    with pytest.raises(ModelUnavailable, match=said):
        await ask_once(generator(lab.serve(FakeScript(fault=fault))), lab.call_context, "preflight/today")


async def test_a_refusal_in_unknown_words_says_how_to_omit_a_parameter(lab: Lab) -> None:
    def respond(_path: str, body: bytes) -> Reply:
        answer = {"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 9}}
        return Reply(400, b"no") if b"seed" in body else Reply(200, json.dumps(answer).encode())

    server = lab.serve(respond=respond)
    with pytest.raises(ModelUnavailable, match=r"--set models\.generator\.omit=\[temperature,seed\]"):
        await ask_once(generator(server), lab.call_context, "preflight/today")
    await ask_once(generator(server, omit=["seed"]), CallContext(lab.call_context.journal), "preflight/today")


def answer(tokens: int, **more: Any) -> bytes:
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, **more}
    return json.dumps({"choices": [{"message": {"content": "yes"}}], "usage": usage}).encode()


async def test_a_server_that_reads_a_part_of_a_long_prompt_is_reported_with_both_numbers(lab: Lab) -> None:
    server = lab.serve(respond=lambda _path, body: Reply(200, answer(min(512, len(body.split())))))
    warning = await ask_once(generator(server), lab.call_context, "preflight/today")
    assert "512" in warning and "2,400" in warning and server.base_url in warning
    assert await ask_once(generator(server), lab.call_context, "preflight/today") == warning


async def test_a_server_that_refuses_a_long_prompt_is_reported_and_may_be_used(lab: Lab) -> None:
    said = b'{"error": {"message": "the request exceeds the available context size"}}'

    def respond(_path: str, body: bytes) -> Reply:
        return Reply(400, said) if len(body) > 5_000 else Reply(200, answer(12))

    warning = await ask_once(generator(lab.serve(respond=respond)), lab.call_context, "preflight/today")
    assert "exceeds the available context size" in warning


@pytest.mark.parametrize(
    "body",
    [
        answer(3_100),
        answer(5, prompt_tokens_details={"cached_tokens": 3_000}),
        answer(5, cache_read_input_tokens=3_000),
        answer(0),
        b'{"choices": [{"message": {"content": "yes"}}]}',
    ],
)
async def test_a_server_that_reads_all_or_counts_it_otherwise_is_not_reported(lab: Lab, body: bytes) -> None:
    server = lab.serve(respond=lambda _path, _body: Reply(200, body))
    assert await ask_once(generator(server), lab.call_context, "preflight/today") == ""


async def test_a_long_prompt_is_not_sent_under_a_budget_or_to_a_provider_that_never_cuts(lab: Lab) -> None:
    lengths: list[int] = []

    def respond(_path: str, body: bytes) -> Reply:
        lengths.append(len(body))
        return Reply(200, answer(12))

    server = lab.serve(respond=respond)
    lab.call_context.budget = Budget(Allowance(tokens=10_000))
    await ask_once(generator(server), lab.call_context, "preflight/today")
    lab.call_context.budget = Budget()
    own = GeneratorConfig(provider="vllm", model="m", base_url=server.base_url, seed=1)
    await ask_once(resolve_generator(own), lab.call_context, "preflight/today")
    assert len(lengths) == 2 and max(lengths) < 1_000


@pytest.mark.parametrize("status", [302, 308])
async def test_a_redirect_is_one_line(serve: Serve, call_context: CallContext, status: int) -> None:
    server = serve(respond=lambda _path, _body: Reply(status, b"", {"location": "https://login.example/"}))
    with pytest.raises(ModelUnavailable, match=rf"HTTP {status}.*models\.generator\.base_url"):
        await ask_once(generator(server), call_context, "preflight/today")


async def test_an_embedder_is_asked_with_what_its_texts_are_sent_with(lab: Lab) -> None:
    server = lab.serve(FakeScript(refuses=("dimensions",)))
    fields = {"provider": "openai-compatible", "model": "m", "base_url": server.base_url}
    plain = EmbedderConfig.model_validate(fields)
    await ask_once(resolve_embedder(plain), lab.call_context, "preflight/today")
    short = EmbedderConfig.model_validate({**fields, "extra": {"dimensions": 8}})
    with pytest.raises(ModelUnavailable, match=r"the embedder m at .*'dimensions'.*\(it is sent dimensions\)"):
        await ask_once(resolve_embedder(short), lab.call_context, "preflight/today")


async def test_it_is_made_once_a_day(serve: Serve, open_seam: OpenSeam) -> None:
    server = serve()
    for day in ("today", "today", "tomorrow"):
        await ask_once(generator(server), open_seam(), f"preflight/{day}")
    assert server.model.served["calls"] == 2


def test_a_model_of_this_process_is_not_asked() -> None:
    fake, minilm = GeneratorConfig(provider="fake"), EmbedderConfig(provider="minilm")
    assert not is_asked(resolve_generator(fake))
    assert not is_asked(resolve_embedder(minilm))
