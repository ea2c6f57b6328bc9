"""The registry entry of a model provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.models.huggingface_hub_files import WeightFile
from harness.protocols import Role
from harness.registry import PluginKind

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

    from harness.models.llama_server import LocalServer
    from harness.protocols import Vectors


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
