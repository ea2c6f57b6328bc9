"""Models that read two texts together (rerankers, entailment): resolves their names, loads and runs them.

A folder with an ONNX export (model.onnx or onnx/model.onnx, tokenizer.json) runs on onnxruntime; any other folder,
and a name on the Hugging Face hub, is loaded as a CrossEncoder by sentence-transformers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from harness.core.current_process import usable_cores
from harness.core.errors import HarnessError, ModelUnavailable, need
from harness.core.hashing import folder_digest
from harness.models.huggingface_hub_files import hub_revision

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]


_HUB_OWNER = "cross-encoder"
"""Default owner of a model name without one."""
_ONNX = ("model.onnx", "onnx/model.onnx")
_HEAD = "ForSequenceClassification"


class CrossEncoder(Protocol):
    """Processes pairs of texts independently."""

    @property
    def labels(self) -> Sequence[str]:
        """The labels of its outputs, in order, from its files; empty if they have none."""
        ...

    async def read(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        """Shape (len(pairs), n): its n raw outputs for each pair."""
        ...


@dataclass(frozen=True)
class CrossEncoderRef:
    """A model by name, with the fix for the user if it cannot be used."""

    name: str
    """A folder, or a name on the hub."""
    kind: str
    """Expected kind: `a cross-encoder`."""
    fix: str

    @property
    def export(self) -> tuple[Path, Path] | None:
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

    @property
    def full_name(self) -> str:
        """With its owner on the hub."""
        return self.name if "/" in self.name or Path(self.name).is_dir() else f"{_HUB_OWNER}/{self.name}"

    def identity(self) -> str:
        """The digest of its bytes, or the commit of a model on the hub; ModelUnavailable if neither exists."""
        return folder_digest(Path(self.name)) if Path(self.name).is_dir() else self.revision

    def check_head(self, architectures: Sequence[str] | None) -> None:
        """Refuse a model without a head: its library would add a random one and only log that."""
        if not any(each.endswith(_HEAD) for each in architectures or ()):
            what = ", ".join(architectures or ()) or "no architecture"
            raise ModelUnavailable(f"'{self.name}' is not {self.kind} ({what})", self.fix)

    def check_numbers(self, found: int, wanted: int | None) -> None:
        """Raise an error if the model has another number of outputs."""
        if found != (wanted or found):
            what = f"'{self.name}' gives {found} numbers for a pair, {self.kind} {wanted}"
            raise ModelUnavailable(what, self.fix)


def need_onnx() -> None:
    """Raise if onnxruntime is not installed."""
    need("provider-minilm", "onnxruntime", "tokenizers")


def need_torch() -> None:
    """Raise if sentence-transformers is not installed."""
    need("provider-sentence-transformers", "sentence_transformers")


def config_of(folder: Path) -> Any:
    """The config.json of a model."""
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


_MAX_TOKENS = 512
"""For both texts together; the rest of a longer pair is cut off."""


class OnnxEngine:
    """On onnxruntime. Each pair is processed alone, so its output does not depend on other pairs."""

    def __init__(self, named: CrossEncoderRef, model: Path, tokenizer: Path, numbers: int | None) -> None:
        need_onnx()
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
        except Exception as error:  # the two libraries raise many kinds of errors for unsuitable files
            raise ModelUnavailable(f"cannot load {model} ({type(error).__name__})", named.fix) from error
        named.check_numbers(said.size, numbers)
        self.labels: Sequence[str] = _labels_beside(tokenizer)

    async def read(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        """See `CrossEncoder`."""
        return await asyncio.to_thread(lambda: _rows([self._read(*pair) for pair in pairs]))

    def _read(self, first: str, second: str) -> Rows:
        pair = self._tokenizer.encode(first, second)
        known = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
        return np.asarray(self._session.run(None, feed)[0], dtype=np.float32).reshape(-1)


class TorchEngine:
    """A CrossEncoder of sentence-transformers, by folder or by name on the hub."""

    def __init__(self, named: CrossEncoderRef, numbers: int | None) -> None:
        need_torch()
        from sentence_transformers import CrossEncoder as Library

        revision = None if Path(named.name).is_dir() else named.revision
        try:
            self._model: Any = Library(named.full_name, revision=revision)
            said = self._model.model.config
            named.check_head(said.architectures)
        except HarnessError:
            raise
        except Exception as error:
            what = f"cannot load '{named.name}' ({type(error).__name__})"
            raise ModelUnavailable(what, named.fix) from error
        named.check_numbers(int(self._model.num_labels), numbers)
        self.labels: Sequence[str] = _in_order(said.id2label)

    async def read(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        """See `CrossEncoder`."""
        if not pairs:
            return _rows([])
        found = await asyncio.to_thread(
            lambda: self._model.predict(list(pairs), show_progress_bar=False, activation_fn=lambda each: each)
        )
        return np.asarray(found, dtype=np.float32).reshape(len(pairs), -1)


def _rows(rows: Sequence[Rows]) -> Rows:
    return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)


def _labels_beside(tokenizer: Path) -> list[str]:
    """The labels in the config.json beside the tokenizer."""
    try:
        return _in_order(config_of(tokenizer.parent)["id2label"])
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _in_order(labels: Mapping[Any, Any]) -> list[str]:
    """Sorted by number; JSON keys are texts."""
    by_number = {int(number): str(label) for number, label in labels.items()}
    return [by_number[number] for number in sorted(by_number)]


def check_named(named: CrossEncoderRef, numbers: int | None) -> None:
    """Raise HarnessError, one line, if the model cannot be used: no package, no such model, or not `numbers`
    outputs for a pair (None: any number).

    Quick: of a model that needs torch only the files are checked.
    """
    if named.export:
        open_named(named, numbers)
        return
    if not Path(named.name).is_dir():
        need_torch()
        _ = named.revision
        return
    try:
        said = config_of(Path(named.name)).get("architectures")
    except (OSError, ValueError, AttributeError) as error:
        raise ModelUnavailable(f"{named.name} holds no model that is {named.kind}", named.fix) from error
    named.check_head(said)
    need_torch()


def open_named(named: CrossEncoderRef, numbers: int | None) -> CrossEncoder:
    """The loaded model. HarnessError as `check_named`."""
    if named.export:
        return open_export(named, *named.export, numbers)

    return TorchEngine(named, numbers)


def open_export(named: CrossEncoderRef, model: Path, tokenizer: Path, numbers: int | None) -> CrossEncoder:
    """The loaded ONNX export in these files. HarnessError as `check_named`."""

    return OnnxEngine(named, model, tokenizer, numbers)
