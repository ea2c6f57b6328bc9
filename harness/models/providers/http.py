"""Servers with the OpenAI protocol: OpenAI's, Ollama, vLLM, and any other by its URL."""

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from harness.config import EmbedderConfig, ModelConfig
from harness.config.load import checked_options
from harness.core.errors import ConfigError, ModelUnavailable
from harness.core.proxies import connect_once
from harness.models.providers import ProviderSpec, api_key
from harness.protocols import Role

C = TypeVar("C", bound=ModelConfig)
_CONNECT_TIMEOUT_S = 5.0
_BOTH: frozenset[Role] = frozenset({"generator", "embedder"})


@dataclass(frozen=True)
class HttpDefaults:
    """Defaults of a provider. None: the config must name it, or (a key) there is none."""

    base_url: str | None = None
    api_key_env: str | None = None
    """A key is also sent if a config names a variable."""
    model: str | None = None
    embedding_model: str | None = None
    options: type[BaseModel] | None = None
    """The type of its `options`, which are part of its identity. None: it has no options."""
    without: tuple[str, ...] = ()
    """Optional ends of a URL."""


def http_provider(name: str, summary: str, defaults: HttpDefaults, **more: Any) -> ProviderSpec:
    """A provider behind a URL; `more`: fields of its spec, such as `fix` or a `transport`."""
    given: dict[str, Any] = {"roles": _BOTH, "fix": ProviderSpec.fix, **more}

    def identity(config: ModelConfig) -> dict[str, Any]:
        # Two servers may serve different weights under one name, so the URL is part of the identity.
        return {"base_url": config.base_url, **({"options": dict(config.options)} if config.options else {})}

    return ProviderSpec(
        name=name,
        summary=summary,
        resolve=partial(_resolve, defaults),
        identity=identity,
        check=partial(_check, given["fix"]),
        **given,
    )


def _resolve(defaults: HttpDefaults, config: C) -> C:
    options = _options(defaults, config)
    default = defaults.embedding_model if isinstance(config, EmbedderConfig) else defaults.model
    model, base_url = config.model or default, config.base_url or defaults.base_url
    if not model:
        raise ConfigError(f"provider '{config.provider}' needs a model", f"set models.{config.role}.model")
    if not base_url:
        raise ConfigError(f"provider '{config.provider}' needs a URL", f"set models.{config.role}.base_url")
    resolved = {
        "model": model,
        "base_url": _shortened(base_url, defaults.without),
        "options": options,
        "api_key_env": config.api_key_env or defaults.api_key_env,
    }
    return config.model_copy(update=resolved)


def _options(defaults: HttpDefaults, config: ModelConfig) -> dict[str, Any]:
    if defaults.options is None:
        if config.options:
            what = f"provider '{config.provider}' takes no options"
            raise ConfigError(what, f"remove models.{config.role}.options")
        return {}
    return checked_options(config, defaults.options).model_dump(mode="json")


def _shortened(url: str, ends: tuple[str, ...]) -> str:
    url = url.rstrip("/")
    return next((url.removesuffix(end) for end in ends if url.endswith(end)), url)


def _check(fix: str, config: ModelConfig) -> None:
    api_key(config)
    try:
        connect_once(str(config.base_url), _CONNECT_TIMEOUT_S)
    except OSError as error:
        raise ModelUnavailable(
            f"cannot reach the {config.role} at {config.base_url} ({error.strerror or error})", fix
        ) from error


OPENAI = http_provider(
    "openai",
    "OpenAI's own models; costs money, needs OPENAI_API_KEY",
    HttpDefaults("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4o-mini", "text-embedding-3-small"),
    fix="check the network and the model's name",
    # OpenAI's strict mode does not support string lengths.
    bounds_strings=False,
    calls_tools=True,
)
OLLAMA = http_provider(
    "ollama",
    "models served by Ollama",
    HttpDefaults("http://127.0.0.1:11434/v1"),
    fix="start it (ollama serve) and pull the model (ollama pull)",
    may_cut_prompts=True,
)
VLLM = http_provider(
    "vllm",
    "a model served by vLLM",
    HttpDefaults("http://127.0.0.1:8000/v1"),
    fix="start it (vllm serve MODEL)",
)
COMPATIBLE = http_provider(
    "openai-compatible", "any server of that protocol, by base_url", HttpDefaults(), may_cut_prompts=True
)
