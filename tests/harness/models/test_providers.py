"""Which server a name means, what it needs, and whether it is there; before anything is paid."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.config import EmbedderConfig, GeneratorConfig, load_config
from harness.core.errors import ConfigError
from harness.models.providers import (
    PROVIDERS,
    api_key,
    check_reachable,
    resolve_embedder,
    resolve_generator,
)

GENERATORS = [name for name in PROVIDERS.names() if "generator" in PROVIDERS.load(name).roles]
EMBEDDERS = [name for name in PROVIDERS.names() if "embedder" in PROVIDERS.load(name).roles]
OVER_HTTP = {"anthropic", "azure", "openai", "ollama", "vllm", "openai-compatible"}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_HOST", "OPENAI_BASE_URL", "HF_TOKEN")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def refusal(config: GeneratorConfig | EmbedderConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        if isinstance(config, GeneratorConfig):
            resolve_generator(config)
        else:
            resolve_embedder(config)
    return str(caught.value)


@pytest.mark.parametrize(
    ("config", "resolve", "provider"),
    [
        *((GeneratorConfig, resolve_generator, name) for name in GENERATORS),
        *((EmbedderConfig, resolve_embedder, name) for name in EMBEDDERS),
    ],
)
def test_every_preset_resolves_once_its_needs_are_named(config: Any, resolve: Any, provider: str) -> None:
    needs = {"model": "m"} if provider == "sentence-transformers" else {}
    needs = {"model": "m", "base_url": "http://h:1/v1"} if provider in OVER_HTTP else needs
    resolved = resolve(config(provider=provider, **needs))
    assert resolved.model
    assert resolve(resolved) == resolved


def test_the_presets_know_their_urls_keys_and_default_models() -> None:
    openai = resolve_generator(GeneratorConfig(provider="openai"))
    assert (openai.base_url, openai.api_key_env, openai.model) == (
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "gpt-4o-mini",
    )
    assert resolve_embedder(EmbedderConfig(provider="openai")).model == "text-embedding-3-small"
    ollama = resolve_generator(GeneratorConfig(provider="ollama", model="llama3.2"))
    assert (ollama.base_url, ollama.api_key_env) == ("http://127.0.0.1:11434/v1", None)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            GeneratorConfig(provider="opnai"),
            "unknown generator provider 'opnai': did you mean 'openai'?",
        ),
        (GeneratorConfig(provider="ollama"), "provider 'ollama' needs a model: set models.generator.model"),
        (
            GeneratorConfig(provider="openai-compatible", model="m"),
            "provider 'openai-compatible' needs a URL: set models.generator.base_url",
        ),
        (
            GeneratorConfig(provider="minilm"),
            "provider 'minilm' is no generator:"
            " known: anthropic, azure, fake, local, none, ollama, openai, openai-compatible, vllm",
        ),
        (
            EmbedderConfig(provider="local"),
            "provider 'local' is no embedder:"
            " known: azure, fake, minilm, none, ollama, openai, openai-compatible, sentence-transformers, vllm",
        ),
        (
            EmbedderConfig(provider="openai", options={"dimensions": 8}),
            "provider 'openai' takes no options: remove models.embedder.options",
        ),
        (
            EmbedderConfig(provider="minilm", model="thenlper/gte-small"),
            "provider 'minilm' is all-MiniLM-L6-v2 and not thenlper/gte-small:"
            " --set models.embedder.model=null, or choose provider sentence-transformers",
        ),
        (
            EmbedderConfig(provider="sentence-transformers"),
            "the sentence-transformers embedder needs a model: set models.embedder.model",
        ),
        (
            GeneratorConfig(model="qwen2.5-coder-0.5"),
            "unknown local model 'qwen2.5-coder-0.5': did you mean 'qwen2.5-coder-0.5b'? or set options.path to a"
            " GGUF file",
        ),
    ],
)
def test_a_mistake_that_needs_no_network_is_one_line(config: GeneratorConfig | EmbedderConfig, line: str) -> None:
    assert refusal(config) == line


def test_a_typo_in_the_fake_s_script_is_refused_here_and_not_in_the_worker() -> None:
    for config in (
        GeneratorConfig(provider="fake", options={"replly": "x"}),
        EmbedderConfig(provider="fake", options={"latencys": 1}),
    ):
        line = refusal(config)
        assert line.startswith("unknown key 'models.")
        assert "did you mean '" in line
    wrong = refusal(GeneratorConfig(provider="fake", options={"fault": "explode"}))
    assert wrong.startswith("models.generator.options.fault: ")


def test_the_key_is_read_from_the_variable_that_the_config_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "sk-1\n")
    assert api_key(GeneratorConfig(provider="vllm", api_key_env="MINE")) == "sk-1"
    assert api_key(GeneratorConfig(provider="vllm")) == "none"


def test_a_provider_without_a_server_is_always_reachable() -> None:
    for provider in ("local", "fake", "none"):
        check_reachable(resolve_generator(GeneratorConfig(provider=provider)))
    for provider in ("minilm", "fake", "none"):
        check_reachable(resolve_embedder(EmbedderConfig(provider=provider)))


# Is it there?


@pytest.mark.parametrize(
    "key", ["sk-first\nsk-second-line", "sk-\x1b[31mred-0123", "sk-schlüssel-0123", "sk-a\tb-0123"]
)
def test_a_key_that_no_header_can_hold_is_refused_unshown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", key)
    config = resolve_generator(GeneratorConfig(provider="vllm", model="m", api_key_env="MINE"))
    with pytest.raises(ConfigError) as caught:
        check_reachable(config)
    assert str(caught.value).startswith("MINE holds characters that no key has")
    assert "sk-" not in str(caught.value)


PAGE = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text()
(BLOCK,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = list(yaml.safe_load_all(BLOCK))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["models"]["generator"]["provider"])
def test_every_config_of_the_page_is_one_that_resolves(example: dict[str, object]) -> None:
    models = load_config(example).models
    assert resolve_generator(models.generator).base_url
    assert resolve_embedder(models.embedder).model


def test_every_provider_that_ships_stands_in_its_table() -> None:
    named = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    assert named == set(PROVIDERS.names()) - {"fake"}
