"""Model providers: one spec each, found through the entry points `rag_harness.providers`."""

from harness.models.providers.provider_spec import PROVIDERS, ProviderSpec, TextEncoder
from harness.models.providers.resolving import (
    api_key,
    check_reachable,
    need_client,
    provider_of,
    resolve_embedder,
    resolve_generator,
)

__all__ = [
    "PROVIDERS",
    "ProviderSpec",
    "TextEncoder",
    "api_key",
    "check_reachable",
    "need_client",
    "provider_of",
    "resolve_embedder",
    "resolve_generator",
]
