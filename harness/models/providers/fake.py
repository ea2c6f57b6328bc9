"""The scripted model, and no model at all."""

from harness.config import ModelConfig
from harness.config.load import checked_options
from harness.models.fake_model import FakeScript, FakeTransport
from harness.models.providers import ProviderSpec
from harness.protocols import Role

_BOTH: frozenset[Role] = frozenset({"generator", "embedder"})


def _resolve_fake(config: ModelConfig) -> ModelConfig:
    checked_options(config, FakeScript)
    return _named(config)


def _named(config: ModelConfig) -> ModelConfig:
    return config.model_copy(update={"model": config.model or config.provider})


FAKE = ProviderSpec(
    name="fake",
    summary="a scripted model for tests: answers, latency and faults on demand; its scores mean nothing",
    roles=_BOTH,
    resolve=_resolve_fake,
    identity=lambda config: {"options": dict(config.options)} if config.options else {},
    transport=lambda config: FakeTransport(FakeScript.model_validate(config.options)),
    counts_tokens=False,
    is_here=True,
)
NONE = ProviderSpec(
    name="none",
    summary="no model: retrieval alone without a generator; systems that embed nothing without an embedder",
    roles=_BOTH,
    resolve=_named,
)
