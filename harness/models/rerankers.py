"""Cross-encoders that score passages for a question. One is included by name (`ms-marco-minilm-l12`);
others are opened by `harness.models.cross_encoders`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.core.hashing import digest
from harness.models.cross_encoders import (
    CrossEncoder,
    CrossEncoderRef,
    check_named,
    need_onnx,
    open_export,
    open_named,
)
from harness.models.huggingface_hub_files import RERANKERS, WeightFile
from harness.models.weights import fetch

if TYPE_CHECKING:
    from harness.protocols import Reranker

_FIX = f"name {' or '.join(RERANKERS)}, a folder that holds a cross-encoder, or one on the hub with its owner"


def check_reranker(name: str) -> None:
    """Raise HarnessError, one line, if it cannot be used: no package, no such model, or no cross-encoder."""
    if name in RERANKERS:
        need_onnx()
    else:
        check_named(_named(name), 1)


def reranker_identity(name: str) -> str:
    """The digest of its bytes, or the commit of a model on the hub. Raises ModelUnavailable if there is
    neither.
    """
    return digest([file.sha256 for file in RERANKERS[name]]) if name in RERANKERS else _named(name).identity()


def reranker_files(name: str) -> Sequence[WeightFile]:
    """The files to fetch before it is opened."""
    return RERANKERS.get(name, ())


def open_reranker(name: str) -> Reranker:
    """The loaded model. HarnessError as `check_reranker`."""
    named = _named(name)
    if name in RERANKERS:
        model, tokenizer = map(fetch, RERANKERS[name])
        return _Reranker(open_export(named, model, tokenizer, 1))
    return _Reranker(open_named(named, 1))


class _Reranker:
    """See `harness.protocols.Reranker`."""

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """Its single output for each passage."""
        rows = await self._model.read([(question, passage) for passage in passages])
        scores = [float(row[0]) for row in rows]
        if not all(map(math.isfinite, scores)):
            raise ValueError("the reranker returned a score that is not a number")
        return scores


def _named(name: str) -> CrossEncoderRef:
    return CrossEncoderRef(name, "a cross-encoder", _FIX)
