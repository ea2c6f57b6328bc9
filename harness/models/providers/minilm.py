"""all-MiniLM-L6-v2 in this process: the default embedder."""

from harness.config import EmbedderConfig, ModelConfig
from harness.core.errors import ConfigError
from harness.core.hashing import digest
from harness.models.huggingface_hub_files import MINILM_ONNX, MINILM_TOKENIZER
from harness.models.providers.provider_spec import ProviderSpec, TextEncoder

_FILES = (MINILM_ONNX, MINILM_TOKENIZER)
_NAMES = frozenset({"minilm", "all-minilm-l6-v2"})


def _resolve(config: EmbedderConfig) -> EmbedderConfig:
    if config.model and config.model.rpartition("/")[2].lower() not in _NAMES:
        # Otherwise a run would be recorded under the name of a model that did not embed it.
        raise ConfigError(
            f"provider 'minilm' is all-MiniLM-L6-v2 and not {config.model}",
            f"--set models.{config.role}.model=null, or choose provider sentence-transformers",
        )
    return config.model_copy(update={"model": config.model or config.provider})


def _check(_config: ModelConfig) -> None:
    from harness.models.minilm_embedder import check_minilm

    check_minilm()


def _encoder(config: EmbedderConfig) -> TextEncoder:
    from harness.models.minilm_embedder import MiniLM

    return MiniLM(config.options.get("threads"))


MINILM = ProviderSpec(
    name="minilm",
    summary="all-MiniLM-L6-v2 on this machine (onnxruntime), no key, no call",
    roles=frozenset({"embedder"}),
    resolve=_resolve,
    identity=lambda _config: {"weights_sha256": digest([file.sha256 for file in _FILES])},
    check=_check,
    weights=lambda _config: _FILES,
    encoder=_encoder,
    counts_tokens=False,
    is_here=True,
)
