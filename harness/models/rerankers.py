"""Cross-encoders: models that read a question and a passage together and say how well they fit.

One ships by name (`ms-marco-minilm-l12`). A folder with an ONNX export (model.onnx or onnx/model.onnx,
tokenizer.json) runs on onnxruntime too; any other folder, and a name on the Hugging Face hub, is what
sentence-transformers loads as a CrossEncoder.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import HarnessError, ModelUnavailable, need
from harness.identity import digest, folder_digest
from harness.models.catalogue import RERANKERS, WeightFile
from harness.models.cores import usable_cores
from harness.models.hub import hub_revision
from harness.models.weights import fetch

if TYPE_CHECKING:
    from harness.protocols import Reranker

_HUB_OWNER = "cross-encoder"
"""Of a model that is named without one."""
_MAX_TOKENS = 512
"""Of a question and a passage together; what follows in a longer pair is not seen."""
_ONNX = ("model.onnx", "onnx/model.onnx")
_HEAD = "ForSequenceClassification"
_FIX = f"name {' or '.join(RERANKERS)}, a folder that holds a cross-encoder, or one on the hub with its owner"


def check_reranker(name: str) -> None:
    """Raise HarnessError, one line, where it cannot be used: no package, no such model, or no cross-encoder.

    Quick: of a model that needs torch only what its files say of it is looked at.
    """
    folder = Path(name)
    if name in RERANKERS:
        _need_onnx()
        return
    if exported := _onnx_of(folder):
        OnnxReranker(*exported)
        return
    if not folder.is_dir():
        _need_torch()
        _revision(name)
        return
    try:
        said = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures")
    except (OSError, ValueError, AttributeError) as error:
        raise ModelUnavailable(f"{folder} holds no model that can rerank", _FIX) from error
    _check_head(name, said)
    _need_torch()


def reranker_identity(name: str) -> str:
    """The digest of its bytes, or the commit of a model on the hub. ModelUnavailable where there is neither."""
    if name in RERANKERS:
        return digest([file.sha256 for file in RERANKERS[name]])
    return folder_digest(Path(name)) if Path(name).is_dir() else _revision(name)


def reranker_files(name: str) -> Sequence[WeightFile]:
    """What is fetched before it is opened."""
    return RERANKERS.get(name, ())


def open_reranker(name: str) -> Reranker:
    """The model, loaded. HarnessError as `check_reranker`."""
    if name in RERANKERS:
        return OnnxReranker(*map(fetch, RERANKERS[name]))
    exported = _onnx_of(Path(name))
    return OnnxReranker(*exported) if exported else TorchReranker(name)


class OnnxReranker:
    """A cross-encoder on onnxruntime. Each pair is read alone, so a score does not depend on its neighbours."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        _need_onnx()
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = usable_cores()
        options.log_severity_level = 3
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._tokenizer.enable_truncation(_MAX_TOKENS)
            self._tokenizer.no_padding()
            self._inputs = {each.name for each in self._session.get_inputs()}
            said = self._read("question", "passage")
        except Exception as error:  # whatever the two libraries raise for files that are not theirs
            raise ModelUnavailable(f"cannot load {model} ({type(error).__name__})", _FIX) from error
        if said.size != 1:
            raise ModelUnavailable(f"{model} gives {said.size} numbers for a passage, a cross-encoder one", _FIX)

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """See `harness.protocols.Reranker`."""
        return await asyncio.to_thread(
            lambda: _finite([float(self._read(question, each)[0]) for each in passages])
        )

    def _read(self, question: str, passage: str) -> np.ndarray[Any, Any]:
        pair = self._tokenizer.encode(question, passage)
        known = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
        return np.asarray(self._session.run(None, feed)[0]).reshape(-1)


class TorchReranker:
    """A CrossEncoder of sentence-transformers, by folder or by name on the hub."""

    def __init__(self, name: str) -> None:
        _need_torch()
        from sentence_transformers import CrossEncoder

        revision = None if Path(name).is_dir() else _revision(name)
        try:
            self._model: Any = CrossEncoder(_full_name(name), revision=revision)
            _check_head(name, self._model.model.config.architectures)
        except HarnessError:
            raise
        except Exception as error:
            raise ModelUnavailable(
                f"cannot load the cross-encoder '{name}' ({type(error).__name__})", _FIX
            ) from error
        if self._model.num_labels != 1:
            what = f"'{name}' gives {self._model.num_labels} numbers for a passage, a cross-encoder one"
            raise ModelUnavailable(what, _FIX)

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """See `harness.protocols.Reranker`."""
        pairs = [(question, passage) for passage in passages]
        if not pairs:
            return []
        found = await asyncio.to_thread(lambda: self._model.predict(pairs, show_progress_bar=False))
        return _finite([float(value) for value in found])


def _need_onnx() -> None:
    need("provider-minilm", "onnxruntime", "tokenizers")


def _need_torch() -> None:
    need("provider-sentence-transformers", "sentence_transformers")


def _onnx_of(folder: Path) -> tuple[Path, Path] | None:
    """The export in a folder and its tokenizer, where it has both."""
    tokenizer = folder / "tokenizer.json"
    model = next((folder / name for name in _ONNX if (folder / name).is_file()), None)
    return (model, tokenizer) if model and tokenizer.is_file() else None


def _check_head(name: str, architectures: Sequence[str] | None) -> None:
    """Its library gives a model without a head one of random weights, and says so in a log alone."""
    if not any(each.endswith(_HEAD) for each in architectures or ()):
        kind = ", ".join(architectures or ()) or "without a kind"
        raise ModelUnavailable(f"'{name}' is no cross-encoder ({kind})", _FIX)


def _full_name(name: str) -> str:
    return name if "/" in name or Path(name).is_dir() else f"{_HUB_OWNER}/{name}"


def _revision(name: str) -> str:
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelUnavailable(f"there is no folder {name}", _FIX)
    return hub_revision(_full_name(name))


def _finite(scores: list[float]) -> list[float]:
    if not all(map(math.isfinite, scores)):
        raise ValueError("the reranker gave a score that is no number")
    return scores
