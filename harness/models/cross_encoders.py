"""Models that read two texts together: rerankers, and models of natural language inference.

A folder with an ONNX export (model.onnx or onnx/model.onnx, tokenizer.json) runs on onnxruntime; any other folder,
and a name on the Hugging Face hub, is loaded as a CrossEncoder by sentence-transformers. Two rerankers are
included by name: `ms-marco-minilm-l12`, and `late-interaction`, which reads the two texts apart. An inference
model is any sequence classifier whose `id2label` names entailment, such as the MNLI models of the hub.

Checking and loading a model raises HarnessError, one line, if it cannot be used: no package, no such model, or one
of another kind.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from harness.core.current_process import usable_cores
from harness.core.errors import HarnessError, ModelUnavailable, need
from harness.core.hashing import digest, folder_digest
from harness.models.huggingface_hub_files import LATE_INTERACTION, RERANKERS, WeightFile, hub_revision
from harness.models.late_interaction import LateInteraction
from harness.models.providers.minilm import need_onnx, onnx_model
from harness.models.weights import fetch
from harness.protocols import Reranker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]


_HUB_OWNER = "cross-encoder"
"""Default owner of a model name without one."""
_ONNX = ("model.onnx", "onnx/model.onnx")
_HEAD = "ForSequenceClassification"
_MAX_TOKENS = 512
"""For both texts together; the rest of a longer pair is cut off."""


class CrossEncoder:
    """A model by name; nothing of it is read before `check` or `load`."""

    kind: ClassVar[str]
    fix: ClassVar[str]
    """What the user can do if it cannot be used."""
    n_outputs: ClassVar[int | None] = None
    """Expected for a pair of texts; None: any number."""
    _model: _OnnxModel | _TorchModel

    def __init__(self, name: str, files: Sequence[WeightFile] = ()) -> None:
        """`name`: a folder, or a name on the hub; `files`: model and tokenizer that are fetched from elsewhere."""
        self.name, self.files = name, files
        self.is_folder = Path(name).is_dir()
        self.full_name = name if "/" in name or self.is_folder else f"{_HUB_OWNER}/{name}"

    def check(self) -> None:
        """Quick: of a model that needs torch only the files are checked."""
        if self.files:
            need_onnx()
        elif self._export:
            self.load()
        else:
            self._check_files()

    def identity(self) -> str:
        """The digest of its bytes, or the commit of a model on the hub; ModelUnavailable if neither exists."""
        if self.files:
            return digest([file.sha256 for file in self.files])
        return folder_digest(Path(self.name)) if self.is_folder else self.revision

    def load(self) -> Self:
        """The same object, ready for use. Takes seconds."""
        paths = tuple(map(fetch, self.files)) or self._export
        self._model = _OnnxModel(self, *paths) if paths else _TorchModel(self)
        return self

    @property
    def _export(self) -> tuple[Path, Path] | None:
        """The ONNX export in the folder and its tokenizer, if both exist."""
        folder = Path(self.name)
        tokenizer = folder / "tokenizer.json"
        model = next((folder / name for name in _ONNX if (folder / name).is_file()), None)
        return (model, tokenizer) if model and tokenizer.is_file() else None

    @property
    def revision(self) -> str:
        """The commit of a model on the hub; raises ModelUnavailable if it does not exist."""
        if self.name.startswith((".", "/", "~")) or self.name.count("/") > 1:
            raise ModelUnavailable(f"there is no folder {self.name}", self.fix)
        return hub_revision(self.full_name)

    def _check_files(self) -> None:
        """Check a model that needs torch, without loading it."""
        if not self.is_folder:
            _need_torch()
            _ = self.revision
            return
        try:
            architectures = _config_of(Path(self.name)).get("architectures")
        except (OSError, ValueError, AttributeError) as error:
            raise ModelUnavailable(f"{self.name} holds no model that is {self.kind}", self.fix) from error
        self.check_head(architectures)
        _need_torch()

    def check_head(self, architectures: Sequence[str] | None) -> None:
        """Refuse a model without a head: its library would add a random one and only log that."""
        if not any(each.endswith(_HEAD) for each in architectures or ()):
            what = ", ".join(architectures or ()) or "no architecture"
            raise ModelUnavailable(f"'{self.name}' is not {self.kind} ({what})", self.fix)

    def check_outputs(self, found: int) -> None:
        if self.n_outputs not in {None, found}:
            what = f"'{self.name}' gives {found} numbers for a pair, {self.kind} {self.n_outputs}"
            raise ModelUnavailable(what, self.fix)


class RerankingModel(CrossEncoder):
    """See `harness.protocols.Reranker`."""

    kind = "a cross-encoder"
    fix = f"name {' or '.join(RERANKERS)}, a folder that holds a cross-encoder, or one on the hub with its owner"
    n_outputs = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, RERANKERS.get(name, ()))

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        rows = await self._model.read([(question, passage) for passage in passages])
        scores = [float(row[0]) for row in rows]
        if not all(map(math.isfinite, scores)):
            raise ValueError("the reranker returned a score that is not a number")
        return scores


def open_reranker(name: str) -> Reranker:
    """Takes seconds."""
    return LateInteraction() if name == LATE_INTERACTION else RerankingModel(name).load()


class InferenceModel(CrossEncoder):
    """See `harness.protocols.Entailment`."""

    kind = "a model of natural language inference"
    fix = f"name a folder that holds {kind}, or one on the hub with its owner"

    def load(self) -> Self:
        super().load()
        found = [place for place, label in enumerate(self._model.labels) if label.lower().startswith("entail")]
        if len(found) != 1:
            labels = ", ".join(self._model.labels) or "none"
            raise ModelUnavailable(f"'{self.name}' has no label that is entailment ({labels})", self.fix)
        self._place = found[0]
        return self

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        """The softmax of the model's outputs."""
        if not premises:
            return []
        rows = await self._model.read([(premise, hypothesis) for premise in premises])
        weights = np.exp(rows - rows.max(axis=1, keepdims=True))
        shares = (weights / weights.sum(axis=1, keepdims=True))[:, self._place]
        if not np.isfinite(shares).all():
            raise ValueError("the NLI model returned values that are not numbers")
        return [float(share) for share in shares]


class _OnnxModel:
    """On onnxruntime. Each pair is processed alone, so its output does not depend on other pairs."""

    def __init__(self, named: CrossEncoder, model: Path, tokenizer: Path) -> None:
        need_onnx()
        try:
            self._session, self._tokenizer = onnx_model(model, tokenizer, usable_cores())
            self._tokenizer.enable_truncation(_MAX_TOKENS)
            self._tokenizer.no_padding()
            self._inputs = {each.name for each in self._session.get_inputs()}
            n_outputs = self._read("question", "passage").size
        except Exception as error:  # the two libraries raise many kinds of errors for unsuitable files
            raise ModelUnavailable(f"cannot load {model} ({type(error).__name__})", named.fix) from error
        named.check_outputs(n_outputs)
        try:
            self.labels = _in_order(_config_of(tokenizer.parent)["id2label"])
        except (OSError, ValueError, TypeError, KeyError):
            self.labels = []

    async def read(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        """Shape (len(pairs), n): its n raw outputs for each pair, of which there is at least one."""
        return np.stack(await asyncio.to_thread(lambda: [self._read(*pair) for pair in pairs]))

    def _read(self, first: str, second: str) -> Rows:
        pair = self._tokenizer.encode(first, second)
        known = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
        return np.asarray(self._session.run(None, feed)[0], dtype=np.float32).reshape(-1)


class _TorchModel:
    """A CrossEncoder of sentence-transformers, by folder or by name on the hub."""

    def __init__(self, named: CrossEncoder) -> None:
        _need_torch()
        from sentence_transformers import CrossEncoder

        revision = None if named.is_folder else named.revision
        try:
            self._model: Any = CrossEncoder(named.full_name, revision=revision)
            config = self._model.model.config
            named.check_head(config.architectures)
        except HarnessError:
            raise
        except Exception as error:
            what = f"cannot load '{named.name}' ({type(error).__name__})"
            raise ModelUnavailable(what, named.fix) from error
        named.check_outputs(int(self._model.num_labels))
        self.labels = _in_order(config.id2label)

    async def read(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        """As `_OnnxModel.read`."""
        found = await asyncio.to_thread(
            lambda: self._model.predict(list(pairs), show_progress_bar=False, activation_fn=lambda each: each)
        )
        return np.asarray(found, dtype=np.float32).reshape(len(pairs), -1)


def _need_torch() -> None:
    need("provider-sentence-transformers", "sentence_transformers")


def _config_of(folder: Path) -> Any:
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def _in_order(labels: Mapping[Any, Any]) -> list[str]:
    """Sorted by number; JSON keys are texts."""
    by_number = {int(number): str(label) for number, label in labels.items()}
    return [by_number[number] for number in sorted(by_number)]
