"""What a config may have sent to a server beside our own parameters, and under which names."""

from typing import Any

import pytest

from harness.config import EmbedderConfig, GeneratorConfig
from harness.config.load import load_config
from harness.core.errors import ConfigError
from harness.models.model_endpoint import model_identity, server_digests
from harness.models.providers import resolve_generator

OURS = (
    "model",
    "messages",
    "stream",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "response_format",
)


def refusal(role: str, **settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config({"models": {role: settings}})
    return str(caught.value)


@pytest.mark.parametrize("name", OURS)
def test_what_we_send_ourselves_is_no_extra(name: str) -> None:
    assert refusal("generator", extra={name: 1}).startswith(f"models.generator.extra: must not contain '{name}': ")


@pytest.mark.parametrize("name", ["input", "model", "encoding_format"])
def test_nor_is_it_of_an_embedder(name: str) -> None:
    assert f"must not contain '{name}'" in refusal("embedder", extra={name: 1})


def test_a_key_is_no_extra_and_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-a-key-that-must-stay-secret")
    line = refusal("generator", extra={"provider": {"auth": "sk-a-key-that-must-stay-secret"}})
    assert line.startswith("models.generator.extra: must not contain a key")
    assert "stay-secret" not in line
    assert "the key comes from the variable in api_key_env" in refusal("generator", extra={"api_key": "x"})


def test_what_no_request_can_say_is_one_line() -> None:
    assert "must contain only JSON values" in refusal("generator", extra={"top_p": object()})


@pytest.mark.parametrize(
    ("send_as", "line"),
    [
        (
            {"max_tokens": None},
            "must give max_tokens a name: without it the cost of a reply has no limit",
        ),
        ({"seed": "model"}, "must not send anything as 'model', which is a parameter of its own"),
        ({"top_p": None}, "input should be 'temperature', 'max_tokens', 'seed' or 'response_format'"),
    ],
)
def test_another_name_must_be_possible(send_as: dict[str, str | None], line: str) -> None:
    assert line in refusal("generator", send_as=send_as)


def identity(**more: Any) -> dict[str, Any]:
    fields = {"provider": "openai-compatible", "base_url": "http://a/v1", "model": "m", **more}
    return model_identity(resolve_generator(GeneratorConfig.model_validate(fields)))


def test_two_ways_of_decoding_are_two_models_and_nothing_else_changed_what_one_is() -> None:
    ways = [
        identity(),
        identity(temperature=None),
        identity(extra={"top_p": 0.5}),
        identity(extra={"top_p": 0.6}),
        identity(send_as={"temperature": None}),
        identity(reasoning_tokens=1000),
    ]
    assert all(one != other for number, one in enumerate(ways) for other in ways[:number])
    assert set(ways[0]) == {"provider", "model", "temperature", "max_tokens", "seed", "base_url"}


def test_calls_of_a_shared_journal_are_told_apart_by_the_request_that_holds_how_it_is_decoded() -> None:
    # So that a graph that one run paid for is not paid again by another with a longer limit for answers.
    def digest(**more: Any) -> str:
        return server_digests({"generator": identity(**more)})["generator"]

    assert digest() == digest(extra={"top_p": 0.5}) == digest(temperature=None)
    # It changes what is sent below the journal, which holds the request as it was asked.
    assert digest() != digest(send_as={"temperature": None})
    assert digest() != digest(reasoning_tokens=1000)


def test_what_an_embedder_is_asked_beside_its_texts_is_part_of_it() -> None:
    plain, short = (EmbedderConfig(provider="openai", extra=extra) for extra in ({}, {"dimensions": 64}))
    assert model_identity(short) == {**model_identity(plain), "extra": {"dimensions": 64}}
