"""A language model on this machine: llama.cpp in its own process, started when needed."""

from pathlib import Path

from harness.config import GeneratorConfig
from harness.core.errors import ConfigError, nearest
from harness.models.huggingface_hub_files import DEFAULT_LOCAL_MODELS, QWEN_CODER
from harness.models.llama_server import check_local, local_options, serve_local, weights_digest
from harness.models.providers import ProviderSpec


def _resolve(config: GeneratorConfig) -> GeneratorConfig:
    own = config.options.get("path")
    name = config.model or (Path(str(own)).name if own else DEFAULT_LOCAL_MODELS[config.role])
    if name not in QWEN_CODER and "path" not in config.options:
        raise ConfigError(
            f"unknown local model '{name}'", f"{nearest(name, QWEN_CODER)} or set options.path to a GGUF file"
        )
    return config.model_copy(update={"model": name})


def _identity(config: GeneratorConfig) -> dict[str, object]:
    # The weights, not their path; the context size, which decides which prompts fit.
    return {"context_tokens": local_options(config).context_tokens, "weights_sha256": weights_digest(config)}


LOCAL = ProviderSpec(
    name="local",
    summary="a small language model on this machine (llama.cpp), without a key; fetched when first needed",
    roles=frozenset({"generator"}),
    resolve=_resolve,
    identity=_identity,
    check=lambda _config: check_local(),
    weights=lambda config: [] if local_options(config).path else [QWEN_CODER[str(config.model)]],
    serve=serve_local,
    parallel=lambda config: local_options(config).parallel,
    fix="run the same command again: it starts the model server and resumes",
    is_here=True,
)
