"""Model providers: one spec each, found through the entry points `rag_harness.providers`; a config names one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import ConfigError, nearest, need
from harness.core.sanitize import keep_secret
from harness.models.huggingface_hub_files import WeightFile
from harness.protocols import Role, Vectors
from harness.registry import PluginKind

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

    from harness.models.llama_server import LocalServer


def _plain_http(_config: ModelConfig) -> AsyncBaseTransport:
    from harness.models.connection_pool import ConnectionPool

    return ConnectionPool()


class TextEncoder(Protocol):
    """Texts to unit vectors, without cache or metering."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d)."""
        ...


@dataclass(frozen=True)
class ProviderSpec:
    """A kind of server or library that serves model roles. All its calls go through our transport, see
    `transport`.
    """

    name: str
    """Its name in a config: `models.generator.provider`."""
    summary: str
    """One line for `rag-harness list providers`."""
    roles: frozenset[Role]
    """The roles it serves; a generator can also judge."""
    resolve: Callable[[Any], Any] = lambda config: config
    """resolve(config) -> the config with its defaults; ConfigError for every mistake that can be found without
    network. Afterwards `ModelConfig.model` is set."""
    identity: Callable[[Any], dict[str, Any]] = lambda _config: {}
    """identity(config), JSON: what determines its replies besides name and decoding, such as the digest of weights
    or the server's URL. Part of run ids and cache keys."""
    check: Callable[[ModelConfig], None] = lambda _config: None
    """check(config) raises ModelUnavailable, one line, if the key or the server is missing; quick and free."""
    weights: Callable[[Any], Sequence[WeightFile]] = lambda _config: ()
    """weights(config) -> the files to download before it is opened."""
    serve: Callable[[GeneratorConfig, Path], AbstractContextManager[LocalServer]] | None = None
    """serve(config, log) starts a server on this machine while the context is open; None: it runs already, or
    needs none."""
    parallel: Callable[[GeneratorConfig], int] = lambda config: config.max_concurrency
    """parallel(config) -> useful number of parallel calls."""
    transport: Callable[[ModelConfig], AsyncBaseTransport] = _plain_http
    """transport(config) answers requests of OpenAI's protocol (/chat/completions, /embeddings): plain HTTP if the
    server supports it, else a `harness.models.model_proxy_server.Translation`. The transport above it journals,
    counts, limits and retries."""
    encoder: Callable[[EmbedderConfig], TextEncoder] | None = None
    """encoder(config) for an embedder in this process, without calls and tokens; None: by `transport`."""
    fix: str = "start the server, or correct base_url"
    """What the user can do if it cannot be reached."""
    counts_tokens: bool = True
    """Whether its embeddings come with token counts."""
    is_here: bool = False
    """It runs on this machine, so its speed is the machine's."""
    may_cut_prompts: bool = False
    """Whether it may cut a long prompt to its context without an error, so that it is asked with one at first."""
    bounds_strings: bool = True
    """Whether it supports string lengths in JSON schemas."""
    calls_tools: bool = False
    """Whether all its models call tools as OpenAI's protocol defines it (`tools`, `tool_choice`)."""


PROVIDERS = PluginKind("rag_harness.providers", "provider", lambda: ProviderSpec)

_ENGLISH = re.compile(
    r"all-.*|multi-qa-.*|msmarco-.*|mxbai-embed-.*|nomic-embed-text(-v1.*)?|(e5|gte)-(small|base|large)(-v2)?"
    r"|snowflake-arctic-embed(-[a-z]+)?|.*-(en|english)(-.*)?"
)
G = TypeVar("G", bound=GeneratorConfig)
E = TypeVar("E", bound=EmbedderConfig)
M = TypeVar("M", bound=ModelConfig)


def provider_of(config: ModelConfig) -> ProviderSpec:
    return PROVIDERS.load(config.provider)


def resolve_generator(config: G) -> G:
    """A generator or judge with its defaults; ConfigError for every mistake that can be found without network."""
    return _resolved(config, "generator")


def resolve_embedder(config: E) -> E:
    return _resolved(config, "embedder")


def reads_english_only(config: EmbedderConfig) -> bool:
    """Whether it is an embedder that is known for English alone, by its name."""
    name = str(config.model or config.provider).rpartition("/")[2].partition(":")[0].lower()
    return config.provider == "minilm" or _ENGLISH.fullmatch(name) is not None


def api_key(config: ModelConfig) -> str:
    """The key from the environment; a placeholder for servers without one. Never stored, never logged."""
    if config.api_key_env is None:
        return "none"
    keep_secret(config.api_key_env)
    key = os.environ.get(config.api_key_env, "").strip()
    if not key:
        raise ConfigError(
            f"provider '{config.provider}' needs a key and {config.api_key_env} is not set",
            f"export {config.api_key_env}=..., or choose provider=local",
        )
    if not (key.isascii() and key.isprintable()):
        # Such as a line break: a client's error would quote the invalid header, with the key.
        raise ConfigError(
            f"{config.api_key_env} holds characters that no key has, such as a line break",
            "set it to the key alone",
        )
    return key


def check_reachable(config: ModelConfig) -> None:
    """Raise HarnessError, one line, if its key, server or package is missing; costs nothing."""
    if config.is_none:
        return
    spec = provider_of(config)
    if spec.encoder is None:
        need_client()
    spec.check(config)


def need_client() -> None:
    """Raise MissingDependency without the client that is needed for all calls except those in this process."""
    need("provider-openai", "openai")


def _resolved(config: M, role: Role) -> M:
    if config.provider not in PROVIDERS.names():
        raise ConfigError(
            f"unknown {config.role} provider '{config.provider}'", nearest(config.provider, _playing(role))
        )
    spec = PROVIDERS.load(config.provider)
    if role not in spec.roles:
        raise ConfigError(f"provider '{spec.name}' is no {role}", nearest(spec.name, _playing(role)))
    resolved: M = spec.resolve(config)
    if resolved.extra and (resolved.is_none or spec.encoder is not None):
        raise ConfigError(
            f"provider '{resolved.provider}' sends no request, so it takes no extra",
            f"remove models.{config.role}.extra",
        )
    keep_secret(resolved.api_key_env)
    return resolved


def _playing(role: Role) -> list[str]:
    return [spec.name for spec in PROVIDERS.load_all()[0] if role in spec.roles]
