"""Finds the spec of the provider in a config, and fills in the defaults."""

import os
import re
from typing import TypeVar

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import ConfigError, nearest, need
from harness.core.sanitize import keep_secret
from harness.models.providers.provider_spec import PROVIDERS, ProviderSpec
from harness.protocols import Role

_ENGLISH = re.compile(
    r"all-.*|multi-qa-.*|msmarco-.*|mxbai-embed-.*|nomic-embed-text(-v1.*)?|(e5|gte)-(small|base|large)(-v2)?"
    r"|snowflake-arctic-embed(-[a-z]+)?|.*-(en|english)(-.*)?"
)
G = TypeVar("G", bound=GeneratorConfig)
E = TypeVar("E", bound=EmbedderConfig)
M = TypeVar("M", bound=ModelConfig)


def provider_of(config: ModelConfig) -> ProviderSpec:
    """The spec of the provider of this role."""
    return PROVIDERS.load(config.provider)


def resolve_generator(config: G) -> G:
    """A generator or judge with its defaults; ConfigError for every mistake that can be found without network."""
    return _resolved(config, "generator")


def resolve_embedder(config: E) -> E:
    """The same for an embedder."""
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
