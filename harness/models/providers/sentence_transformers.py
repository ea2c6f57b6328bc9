"""Any sentence-transformers model in this process, by its name on the hub or a folder."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import EmbedderConfig
from harness.core.errors import ConfigError, ModelUnavailable, need
from harness.core.hashing import folder_digest
from harness.models.huggingface_hub_files import hub_revision
from harness.models.providers import ProviderSpec
from harness.models.vectors import unit_rows
from harness.protocols import Vectors

_HUB_OWNER = "sentence-transformers"
"""Default owner of a model name without one."""


def _check() -> None:
    need("provider-sentence-transformers", "sentence_transformers")


class SentenceTransformerEncoder:
    """One model; one on the hub is loaded at the revision in its identity."""

    def __init__(self, name: str) -> None:
        _check()
        from sentence_transformers import SentenceTransformer

        revision = _revision(name)
        try:
            self._model: Any = SentenceTransformer(name, revision=revision)
        except Exception as error:
            raise ModelUnavailable(
                f"cannot load the sentence-transformers model '{name}' ({type(error).__name__})",
                "check the name, connect to the network, or give the path of a folder that holds it",
            ) from error

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d), unit rows."""
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> Vectors:
        vectors = self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return unit_rows(np.asarray(vectors, dtype=np.float32))


def _resolve(config: EmbedderConfig) -> EmbedderConfig:
    if not config.model:
        raise ConfigError("the sentence-transformers embedder needs a model", f"set models.{config.role}.model")
    return config


def _identity(config: EmbedderConfig) -> dict[str, Any]:
    name = str(config.model)
    if Path(name).is_dir():
        return {"weights_sha256": folder_digest(Path(name))}
    return {"revision": _revision(name)}


def _revision(name: str) -> str | None:
    """The commit of a model on the hub; None for a folder."""
    if Path(name).is_dir():
        return None
    return hub_revision(name if "/" in name else f"{_HUB_OWNER}/{name}")


SENTENCE_TRANSFORMERS = ProviderSpec(
    name="sentence-transformers",
    summary="any sentence-transformers model on this machine, by name or folder (torch)",
    roles=frozenset({"embedder"}),
    resolve=_resolve,
    identity=_identity,
    check=lambda _config: _check(),
    encoder=lambda config: SentenceTransformerEncoder(str(config.model)),
    counts_tokens=False,
    is_here=True,
)
