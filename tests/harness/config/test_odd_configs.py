"""Configs that no program should follow: each is one line in bounded time and memory."""

import os
import re
import resource
from pathlib import Path
from typing import Any

import pytest

from harness.config import EmbedderConfig, GeneratorConfig, expand, load_config
from harness.config.yaml_limits import parse_yaml
from harness.core.errors import ConfigError
from harness.models.model_endpoint import model_identity, server_digests
from harness.models.providers import resolve_generator

NINE = ",".join(["{}"] * 9)
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{NINE.format(*[f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "m0: &m0 {k: 1}\n" + "".join(
    f"m{at}: &m{at}\n  <<: [{NINE.format(*[f'*m{at - 1}'] * 9)}]\n" for at in range(1, 10)
)
ODD = [
    (BOMB, "i: more than 100,000 values"),
    (MERGES, "m9: more than 100,000 values"),
    ("index: &a [*a]", r"index\.0\.0: nested more than 40 deep"),
    ("index: {x: " + "[" * 60 + "]" * 60 + "}", "nested too deeply"),
    ("index: " + "{a: " * 3000, "nested too deeply"),
    ("seed: 2024-13-45", "an impossible value: month must be in 1..12"),
    ("seed: " + "9" * 5000, "an impossible value"),
    ("seed: " + "9" * 4000, "^seed: not a number within 64 bits"),
    ("seed: 2024-01-05", "^seed: parsed as a date, put quotes around a text"),
    ("index: {x: 0001-01-01T00:00:00+14:00}", r"^index\.x: parsed as a datetime"),
    ("index: {x: .nan}", r"^index\.x: not a number within 64 bits"),
    ("answer: {x: [1, -.inf]}", r"^answer\.x\.1: not a number within 64 bits"),
    ("index: {1: 2}", r"^index\.1: this key is not a text"),
    ("on: 2", "^True: this key is not a text"),
    ("systems: !!set {naive}", "^systems: parsed as a set"),
    ("index: !!binary aGk=", "^index: parsed as a bytes"),
    ('prices: "a\\0b"', "^prices: a character that UTF-8 files cannot contain"),
    ('measure: "\\ud800"', "^measure: a character that UTF-8 files cannot contain"),
    ("budget: {usd: 2}\nseed: 1\nbudget: {minutes: 30}", "^line 3: 'budget' appears twice"),
    ("answer: {top_k: 3, top_k: 9}", "^line 1: 'top_k' appears twice"),
    ("limits: {concurrency: 1000000000}", "less than or equal to 10000"),
    ("models: {judge: {timeout_s: 1.0e+12}}", "less than or equal to 100000000"),
]


@pytest.mark.parametrize(("text", "said"), ODD, ids=[text[:24] for text, _ in ODD])
def test_it_is_one_line_that_names_the_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    told = caught.value.what.partition(" is not valid YAML (")[2].rstrip(")") or caught.value.what
    assert re.search(said, told), told
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_a_key_of_three_thousand_parts_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^index\.a\.a: nested more than 40 deep$"):
        load_config(None, [".".join(["index", *["a"] * 3000]) + "=1"])


def test_aliases_and_merges_of_a_persons_size_are_followed() -> None:
    text = "a: &judge {provider: openai, model: m}\nmodels: {judge: *judge, generator: {<<: *judge, seed: 1}}"
    tree = parse_yaml(text)
    assert tree["models"] == {
        "judge": {"provider": "openai", "model": "m"},
        "generator": {"provider": "openai", "model": "m", "seed": 1},
    }


def test_a_pipe_or_a_file_of_more_than_a_megabyte_is_no_config(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"a pipe or device, not a file"):
        load_config(tmp_path / "pipe")
    (tmp_path / "long.yaml").write_text("#" * 1_000_001, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"longer than 1,000,000 bytes"):
        load_config(tmp_path / "long.yaml")


def test_a_billion_cells_are_refused_before_one_is_made() -> None:
    config = load_config({"matrix": {f"answer.k{axis}": list(range(10)) for axis in range(9)}})
    with pytest.raises(ConfigError, match="1,000,000,000 combinations: name at most 10,000 combinations"):
        expand(config)


SECRETS = [
    "http://me:pw@h/v1", "https://h/v1?key=abc", "https://h/v1#sk-0123456789", "https://h/v1;key=0123456789",
    "https://h/sk-proj-0123456789/v1", "https://h/v1/key=0123456789ab", "https://h/%73k-0123456789/v1",
    "https://h/aB3dE5gH7jK9mN1pQ3sT/v1", "https://h/v1/the-value-of-a-variable",
]  # fmt: skip


@pytest.mark.parametrize("url", SECRETS)
def test_a_secret_in_a_url_is_refused_in_favour_of_a_variable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "the-value-of-a-variable")
    for role in ("generator", "embedder", "judge"):
        with pytest.raises(ConfigError) as caught:
            load_config({"models": {role: {"base_url": url}}})
        assert "put the key into an environment variable and name the variable in api_key_env" in str(caught.value)
        assert url not in str(caught.value)


HARMLESS = [
    "http://127.0.0.1:8000/v1", "https://h.example/client/v4/accounts/0123456789abcdef0123456789abcdef/ai/v1",
    "https://h.example/openai/deployments/gpt-4o-mini-2024-07-18", "http://[::1]:8000/v1", "https://bücher.example/v1",
    "https://h/v2/12345678-1234-1234-1234-1234567890ab/openai/v1", "https://h/serving-endpoints",
]  # fmt: skip


@pytest.mark.parametrize("url", HARMLESS)
def test_a_url_with_ids_in_it_is_taken(url: str) -> None:
    assert load_config(None, [f'models.judge.base_url="{url}"']).models.judge.base_url == url


NO_URLS = [
    "http://x..y/v1", f"http://{'x' * 64}.y/v1", "http:///v1", "http://[::1/v1", "localhost:8000/v1", "host/v1",
    "ftp://host/v1", "http://", "http://host:99999/v1",
]  # fmt: skip


@pytest.mark.parametrize("url", NO_URLS)
def test_a_host_that_no_client_can_encode_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"must be a URL such as http://127\.0\.0\.1:8000/v1"):
        load_config(None, [f'models.judge.base_url="{url}"'])


# What a config may have sent to a server beside our own parameters, and under which names.


SENT_BY_US = {
    "generator": ["model", "messages", "stream", "n", "max_completion_tokens", "response_format"],
    "embedder": ["input", "encoding_format"],
}


def refusal(role: str, **settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config({"models": {role: settings}})
    return str(caught.value)


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in SENT_BY_US.items() for name in names])
def test_a_parameter_of_ours_cannot_be_an_extra(role: str, name: str) -> None:
    assert refusal(role, extra={name: 1}).startswith(f"models.{role}.extra: must not contain '{name}': ")


def test_a_key_cannot_be_an_extra_and_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-a-key-that-must-stay-secret")
    line = refusal("generator", extra={"provider": {"auth": "sk-a-key-that-must-stay-secret"}})
    assert line.startswith("models.generator.extra: must not contain a key")
    assert "stay-secret" not in line
    assert "the key comes from the variable in api_key_env" in refusal("generator", extra={"api_key": "x"})
    assert "must contain only JSON values" in refusal("generator", extra={"top_p": object()})


@pytest.mark.parametrize(
    ("send_as", "line"),
    [
        ({"max_tokens": None}, "must give max_tokens a name: without it the cost of a reply has no limit"),
        ({"seed": "model"}, "must not send anything as 'model', which is a parameter of its own"),
        ({"top_p": None}, "input should be 'temperature', 'max_tokens', 'seed' or 'response_format'"),
    ],
)
def test_a_parameter_can_only_be_sent_under_a_free_name(send_as: dict[str, str | None], line: str) -> None:
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
