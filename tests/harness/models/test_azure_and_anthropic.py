"""Azure and Anthropic by their own protocols, held by servers that refuse what these do not know."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from serving import SpeakingServer, serving
from strict_servers import KEY, anthropic, azure, refused

from harness.config import EmbedderConfig, GeneratorConfig
from harness.core.errors import ConfigError, ModelUnavailable
from harness.core.records import Usage
from harness.models.clients import OpenAIChat, open_client
from harness.models.embedders import build_embedder
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import Meter, metered
from harness.models.model_endpoint import model_identity
from harness.models.providers import resolve_embedder, resolve_generator
from harness.models.transport import CallContext
from harness.protocols import Message

pytestmark = pytest.mark.usefixtures("no_tls", "keys")
PROMPT = [Message("system", "You tell."), Message("user", "Is it so?")]
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def on_azure() -> Iterator[SpeakingServer]:
    with serving(SpeakingServer(azure)) as server:
        yield server


@pytest.fixture
def claude() -> Iterator[SpeakingServer]:
    with serving(SpeakingServer(anthropic)) as server:
        yield server


@pytest.fixture
async def ask(call_context: CallContext) -> AsyncIterator[Callable[..., Any]]:
    """ask(server, provider=..., schema=None, **config) -> (reply, usage), over the whole way of a call."""
    async with AsyncExitStack() as stack:

        async def asked(server: SpeakingServer, schema: Any = None, **config: Any) -> tuple[str, Usage]:
            names = {"azure": "my-gpt", "anthropic": "claude-x"}
            fields = {"base_url": server.url, "model": names[config["provider"]], "max_retries": 2, **config}
            resolved = resolve_generator(GeneratorConfig.model_validate(fields))
            client = open_client(resolved, call_context)
            stack.push_async_callback(client.close)
            with metered(Meter("answer/q/0/1")) as meter:
                reply = await OpenAIChat(resolved, client).complete(PROMPT, json_schema=schema)
            return reply, meter.usage["generator"]

        yield asked


Ask = Callable[..., Any]


@pytest.mark.parametrize("options", [{}, {"api_version": "v1"}])
async def test_azure_is_asked_for_a_deployment_with_a_version_and_the_key_in_its_own_header(
    on_azure: SpeakingServer, ask: Ask, options: dict[str, str]
) -> None:
    reply, usage = await ask(on_azure, provider="azure", options=options)
    assert reply == "so it is"
    assert usage == Usage(calls=1, input_tokens=30, output_tokens=9, cached_tokens=10, reasoning_tokens=7)


async def test_azure_embeds(on_azure: SpeakingServer, call_context: CallContext, tmp_path: Path) -> None:
    config = resolve_embedder(EmbedderConfig(provider="azure", base_url=on_azure.url, model="my-vectors"))
    cache = EmbeddingCache(tmp_path / "embeddings.sqlite", "key")
    embedder = build_embedder(config, call_context, cache)
    with metered(Meter("index")) as meter:
        assert (await embedder.embed_documents(["one", "two"])).tolist() == [[1.0, 0.0]] * 2
    await embedder.close()
    cache.close()
    assert meter.usage["embedder"] == Usage(calls=1, input_tokens=2)
    assert on_azure.asked[0].path == "/openai/deployments/my-vectors/embeddings"


def test_azure_needs_its_resource_and_a_known_version_which_are_part_of_the_models_identity() -> None:
    def identity(**config: Any) -> dict[str, Any]:
        return model_identity(resolve_generator(GeneratorConfig(provider="azure", model="my-gpt", **config)))

    with pytest.raises(ConfigError, match="'azure' needs a URL"):
        identity()
    with pytest.raises(ConfigError, match=r"models\.generator\.options\.api_version: string should match"):
        identity(base_url="http://a.b", options={"api_version": "latest"})
    plain = identity(base_url="https://a.openai.azure.com/openai/v1/")
    assert plain["base_url"] == "https://a.openai.azure.com"
    assert plain["options"] == {"api_version": "2024-10-21"}
    assert identity(base_url="https://a.openai.azure.com", options={"api_version": "v1"}) != plain


async def test_anthropic_is_asked_in_its_words_and_all_input_is_counted(claude: SpeakingServer, ask: Ask) -> None:
    reply, usage = await ask(claude, provider="anthropic", max_tokens=64, extra={"top_k": 5})
    assert reply == "so it is"
    assert usage == Usage(calls=1, input_tokens=125, output_tokens=4, cached_tokens=100)
    (asked,) = claude.asked
    assert asked.body == {
        "model": "claude-x",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "Is it so?"}],
        "system": "You tell.",
        "temperature": 0.0,
        "top_k": 5,
    }


async def test_a_schema_is_the_input_of_a_tool_that_has_to_be_used(claude: SpeakingServer, ask: Ask) -> None:
    reply, _ = await ask(claude, SCHEMA, provider="anthropic")
    assert reply == '{"verdict": "ünd so"}'
    assert claude.asked[0].body["tools"][0]["input_schema"] == SCHEMA


async def test_a_model_that_cannot_be_forced_to_a_tool_is_asked_in_words(claude: SpeakingServer, ask: Ask) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert (await ask(claude, SCHEMA, provider="anthropic", extra={"thinking": thinking}))[0] == "so it is"
    why = "tool_choice: forced tool use is not available for this model"
    claude.first = [refused(400, "invalid_request_error", why)]
    assert (await ask(claude, SCHEMA, provider="anthropic"))[0] == "so it is"
    sent = [set(asked.body) & {"temperature", "tools"} for asked in claude.asked]
    assert sent == [{"temperature"}, set(), {"temperature", "tools"}, {"temperature"}]


async def test_a_reply_that_max_tokens_ended_before_its_first_word_fails(claude: SpeakingServer, ask: Ask) -> None:
    with pytest.raises(ValueError, match=r"spent all of max_tokens \(2\)"):
        await ask(claude, provider="anthropic", max_tokens=2)


async def test_a_busy_or_overloaded_server_is_asked_again_when_it_says(claude: SpeakingServer, ask: Ask) -> None:
    claude.first = [
        refused(429, "rate_limit_error", "This request would exceed your rate limit.", retry_after="0.2"),
        refused(529, "overloaded_error", "Overloaded"),
    ]
    reply, usage = await ask(claude, provider="anthropic")
    assert (reply, usage.calls, len(claude.asked)) == ("so it is", 1, 3)


@pytest.mark.parametrize(
    ("provider", "config", "line"),
    [
        ("azure", {"model": "gone"}, "has no such model or path (HTTP 404: The API deployment for this resource"),
        ("azure", {"options": {"api_version": "2019-01-01"}}, "(HTTP 404: Resource not found): correct base_url"),
        ("azure", {"api_key_env": "WRONG_KEY"}, "refused the key (HTTP 401: Access denied due to invalid"),
        ("anthropic", {"model": "claude-gone"}, "has no such model or path (HTTP 404: model: claude-gone): check"),
        ("anthropic", {"api_key_env": "WRONG_KEY"}, "refused the key (HTTP 401: invalid x-api-key)"),
    ],
)
async def test_what_is_wrong_with_a_config_is_one_line(
    on_azure: SpeakingServer,
    claude: SpeakingServer,
    ask: Ask,
    provider: str,
    config: dict[str, Any],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WRONG_KEY", "not-the-key-of-this-account")
    with pytest.raises(ModelUnavailable) as error:
        await ask(on_azure if provider == "azure" else claude, provider=provider, **config)
    assert line in str(error.value)


async def test_an_account_without_credit_stops_the_run_and_no_query(claude: SpeakingServer, ask: Ask) -> None:
    why = "Your credit balance is too low to access the Anthropic API."
    claude.first = [refused(400, "invalid_request_error", why)]
    with pytest.raises(ModelUnavailable, match="the quota is used up"):
        await ask(claude, provider="anthropic")


def test_anthropic_knows_no_seed_so_none_is_part_of_the_model_and_a_wanted_one_is_refused() -> None:
    config = resolve_generator(GeneratorConfig(provider="anthropic", model="claude-x"))
    assert (config.seed, config.base_url) == (None, "https://api.anthropic.com")
    with pytest.raises(ConfigError, match=r"has no seed, and models\.generator\.seed is 5"):
        resolve_generator(GeneratorConfig(provider="anthropic", model="claude-x", seed=5))
