"""What a model is, as far as it determines a result: the part of a run's or an evaluation's identity."""

from collections.abc import Mapping
from typing import Any

from harness.config import EmbedderConfig, GeneratorConfig
from harness.identity import digest
from harness.models.local_server import local_options, weights_digest

_DECODING = {"temperature", "max_tokens", "seed"}


def server_digests(models: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Role -> digest of what serves it; how it decodes stands in each request."""
    return {
        role: digest({key: value for key, value in model.items() if key not in _DECODING})
        for role, model in models.items()
    }


def generator_identity(config: GeneratorConfig) -> dict[str, Any]:
    """Of a resolved generator or judge."""
    if config.provider == "none":
        return {"provider": "none"}
    decoding = {"temperature": config.temperature, "max_tokens": config.max_tokens, "seed": config.seed}
    identity = {"provider": config.provider, "model": config.model, **decoding}
    if config.provider == "local":
        # What the weights are, not where they lie; the context size decides which prompts fit.
        options = {"context_tokens": local_options(config).context_tokens}
        return {**identity, "weights_sha256": weights_digest(config), **options}
    return {**identity, **_server_identity(config.base_url, config.options)}


def embedder_identity(config: EmbedderConfig) -> dict[str, Any]:
    """Of a resolved embedder."""
    identity = {"provider": config.provider, "model": config.model}
    if config.provider == "minilm":
        return identity
    return {**identity, **_server_identity(config.base_url, config.options)}


def _server_identity(base_url: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    # Two servers may serve different weights under one name, so the URL tells them apart.
    given = {"base_url": base_url, "options": dict(options)}
    return {key: value for key, value in given.items() if value}
