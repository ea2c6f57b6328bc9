"""The identity of a model: what determines its results, as a part of the identity of runs and evaluations."""

from collections.abc import Mapping
from typing import Any

from harness.config import NO_MODEL, GeneratorConfig, ModelConfig
from harness.core.hashing import digest
from harness.models.providers import provider_of

_DECODING = {"temperature", "max_tokens", "seed", "extra"}


def server_digests(models: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Role -> digest of its server's identity; decoding parameters are in each request."""
    return {
        role: digest({key: value for key, value in model.items() if key not in _DECODING})
        for role, model in models.items()
    }


def model_identity(config: ModelConfig) -> dict[str, Any]:
    """The identity of a resolved generator, judge or embedder."""
    if config.is_none:
        return {"provider": NO_MODEL}
    named = {"provider": config.provider, "model": config.model}
    decoding: dict[str, Any] = {}
    if isinstance(config, GeneratorConfig):
        decoding = {"temperature": config.temperature, "max_tokens": config.max_tokens, "seed": config.seed}
        own = {"send_as": config.sent_as, "reasoning_tokens": config.reasoning_tokens}
        decoding |= {name: value for name, value in own.items() if value}
    decoding |= {"extra": dict(config.extra)} if config.extra else {}
    return {**named, **decoding, **provider_of(config).identity(config)}
