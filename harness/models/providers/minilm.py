"""all-MiniLM-L6-v2 within the process: the default embedder."""

from harness.config import EmbedderConfig
from harness.identity import digest
from harness.models.catalogue import MINILM_ONNX, MINILM_TOKENIZER
from harness.models.minilm import MiniLM, check_minilm
from harness.models.providers.spec import ProviderSpec

_FILES = (MINILM_ONNX, MINILM_TOKENIZER)


def _resolve(config: EmbedderConfig) -> EmbedderConfig:
    return config.model_copy(update={"model": config.model or config.provider})


MINILM = ProviderSpec(
    name="minilm",
    summary="all-MiniLM-L6-v2 on this machine (onnxruntime), no key, no call",
    roles=frozenset({"embedder"}),
    resolve=_resolve,
    identity=lambda _config: {"weights_sha256": digest([file.sha256 for file in _FILES])},
    check=lambda _config: check_minilm(),
    weights=lambda _config: _FILES,
    encoder=lambda config: MiniLM(config.options.get("threads")),
    counts_tokens=False,
    is_here=True,
)
