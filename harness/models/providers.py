"""Which server a provider name means, and what it needs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.config.load import explain
from harness.errors import ConfigError, ModelUnavailable, nearest
from harness.models.catalogue import DEFAULT_LOCAL_MODELS, QWEN_CODER

C = TypeVar("C", bound=ModelConfig)
G = TypeVar("G", bound=GeneratorConfig)
E = TypeVar("E", bound=EmbedderConfig)


@dataclass(frozen=True)
class Provider:
    """A kind of server that speaks the OpenAI protocol."""

    base_url: str | None
    api_key_env: str | None
    """None: no key is needed, though one is sent where the config names a variable."""
    model: str | None
    embedding_model: str | None
    fix: str
    """How to bring it up."""


HTTP_PROVIDERS = {
    "openai": Provider(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "gpt-4o-mini",
        "text-embedding-3-small",
        "check the network and the model's name",
    ),
    "ollama": Provider(
        "http://127.0.0.1:11434/v1", None, None, None, "start it (ollama serve) and pull the model (ollama pull)"
    ),
    "vllm": Provider("http://127.0.0.1:8000/v1", None, None, None, "start it (vllm serve MODEL)"),
    "openai-compatible": Provider(None, None, None, None, "start the server, or correct base_url"),
}
GENERATORS = ("local", "fake", "none", *HTTP_PROVIDERS)
EMBEDDERS = ("minilm", "sentence-transformers", "fake", *HTTP_PROVIDERS)


def resolve_generator(config: G) -> G:
    """A generator or judge with its defaults filled in; every mistake that needs no network is refused here."""
    if config.provider not in GENERATORS:
        raise ConfigError(
            f"unknown {config.role} provider '{config.provider}'", nearest(config.provider, GENERATORS)
        )
    if config.provider == "local":
        own = config.options.get("path")
        name = config.model or (Path(str(own)).name if own else DEFAULT_LOCAL_MODELS[config.role])
        if name not in QWEN_CODER and "path" not in config.options:
            raise ConfigError(
                f"unknown local model '{name}'", f"{nearest(name, QWEN_CODER)} or set options.path to a GGUF file"
            )
        return config.model_copy(update={"model": name})
    if config.provider in HTTP_PROVIDERS:
        return _resolve_http(config, HTTP_PROVIDERS[config.provider].model)
    _check_fake_options(config)
    return config.model_copy(update={"model": config.model or config.provider})


def resolve_embedder(config: E) -> E:
    """Likewise for the embedder."""
    if config.provider not in EMBEDDERS:
        raise ConfigError(
            f"unknown {config.role} provider '{config.provider}'", nearest(config.provider, EMBEDDERS)
        )
    if config.provider in HTTP_PROVIDERS:
        return _resolve_http(config, HTTP_PROVIDERS[config.provider].embedding_model)
    if config.provider == "sentence-transformers" and not config.model:
        raise ConfigError("the sentence-transformers embedder needs a model", f"set models.{config.role}.model")
    _check_fake_options(config)
    return config.model_copy(update={"model": config.model or config.provider})


def _check_fake_options(config: ModelConfig) -> None:
    if config.provider != "fake":
        return
    from harness.models.fake import FakeScript

    try:
        FakeScript.model_validate(config.options)
    except ValidationError as error:
        raise ConfigError(*explain(error, FakeScript, prefix=f"models.{config.role}.options")) from error


def _resolve_http(config: C, default_model: str | None) -> C:
    if config.options:
        raise ConfigError(f"provider '{config.provider}' takes no options", f"remove models.{config.role}.options")
    provider = HTTP_PROVIDERS[config.provider]
    model, base_url = config.model or default_model, config.base_url or provider.base_url
    if not model:
        raise ConfigError(f"provider '{config.provider}' needs a model", f"set models.{config.role}.model")
    if not base_url:
        raise ConfigError(f"provider '{config.provider}' needs a URL", f"set models.{config.role}.base_url")
    return config.model_copy(
        update={
            "model": model,
            "base_url": base_url.rstrip("/"),
            "api_key_env": config.api_key_env or provider.api_key_env,
        }
    )


def api_key(config: ModelConfig) -> str:
    """The key from the environment; a placeholder for servers that need none. Never stored, never logged."""
    if config.api_key_env is None:
        return "none"
    key = os.environ.get(config.api_key_env, "").strip()
    if not key:
        raise ModelUnavailable(
            f"provider '{config.provider}' needs a key and {config.api_key_env} is not set",
            f"export {config.api_key_env}=..., or choose provider=local",
        )
    return key
