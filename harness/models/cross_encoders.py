"""Models that read two texts together: found, checked and loaded, whatever their numbers mean.

A folder with an ONNX export (model.onnx or onnx/model.onnx, tokenizer.json) runs on onnxruntime; any other folder,
and a name on the Hugging Face hub, is what sentence-transformers loads as a CrossEncoder.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from harness.errors import HarnessError, ModelUnavailable, need
from harness.identity import folder_digest
from harness.models.cores import usable_cores
from harness.models.hub import hub_revision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

_HUB_OWNER = "cross-encoder"
"""Of a model that is named without one."""
_MAX_TOKENS = 512
"""Of both texts together; what follows in a longer pair is not seen."""
_ONNX = ("model.onnx", "onnx/model.onnx")
_HEAD = "ForSequenceClassification"


class CrossEncoder(Protocol):
    """Reads pairs of texts, each by itself."""

    @property
    def labels(self) -> Sequence[str]:
        """What its numbers are for, in their order, as its files say; empty: they do not."""
        ...

    async def read(self, pairs: Sequence[tuple[str, str]]) -> Rows:
        """Shape (len(pairs), n): its n numbers for each pair, as they are."""
        ...


@dataclass(frozen=True)
class Named:
    """Which model, and how to go on where it is none."""

    name: str
    """A folder, or a name on the hub."""
    kind: str
    """What it should be: `a cross-encoder`."""
    fix: str

    @property
    def export(self) -> tuple[Path, Path] | None:
        """The ONNX export in the folder and its tokenizer, where it has both."""
        folder = Path(self.name)
        tokenizer = folder / "tokenizer.json"
        model = next((folder / name for name in _ONNX if (folder / name).is_file()), None)
        return (model, tokenizer) if model and tokenizer.is_file() else None

    @property
    def revision(self) -> str:
        """The commit of a model on the hub; ModelUnavailable where it is not there."""
        if self.name.startswith((".", "/", "~")) or self.name.count("/") > 1:
            raise ModelUnavailable(f"there is no folder {self.name}", self.fix)
        return hub_revision(self.full_name)

    @property
    def full_name(self) -> str:
        """With its owner on the hub."""
        return self.name if "/" in self.name or Path(self.name).is_dir() else f"{_HUB_OWNER}/{self.name}"

    def identity(self) -> str:
        """The digest of its bytes, or the commit of a model on the hub; ModelUnavailable without either."""
        return folder_digest(Path(self.name)) if Path(self.name).is_dir() else self.revision

    def check(self, numbers: int | None) -> None:
        """Raise HarnessError, one line, where it cannot be used: no package, no such model, or none that gives
        `numbers` for a pair (None: any).

        Quick: of a model that needs torch only what its files say of it is looked at.
        """
        if self.export:
            self.open(numbers)
            return
        if not Path(self.name).is_dir():
            need_torch()
            _ = self.revision
            return
        try:
            said = _config(Path(self.name)).get("architectures")
        except (OSError, ValueError, AttributeError) as error:
            raise ModelUnavailable(f"{self.name} holds no model that is {self.kind}", self.fix) from error
        self.check_head(said)
        need_torch()

    def check_head(self, architectures: Sequence[str] | None) -> None:
        """Its library gives a model without a head one of random weights, and says so in a log alone."""
        if not any(each.endswith(_HEAD) for each in architectures or ()):
            what = ", ".join(architectures or ()) or "without a kind"
            raise ModelUnavailable(f"'{self.name}' is not {self.kind} ({what})", self.fix)

    def open(self, numbers: int | None) -> CrossEncoder:
        """The model, loaded. HarnessError as `check`."""
        return open_export(self, *self.export, numbers) if self.export else _Torch(self, numbers)

    def check_numbers(self, found: int, wanted: int | None) -> None:
        """Raise where it gives another number of them for a pair."""
        if found != (wanted or found):
            what = f"'{self.name}' gives {found} numbers for a pair, {self.kind} {wanted}"
            raise ModelUnavailable(what, self.fix)


def open_export(named: Named, model: Path, tokenizer: Path, numbers: int | None) -> CrossEncoder:
    """An ONNX export of these files. HarnessError as `Named.check`."""
    return _Onnx(named, model, tokenizer, numbers)


def need_onnx() -> None:
    """Raise where onnxruntime is not installed."""
    need("provider-minilm", "onnxruntime", "tokenizers")


def need_torch() -> None:
    """Raise where sentence-transformers is not installed."""
    need("provider-sentence-transformers", "sentence_transformers")


class _Onnx:
    """On onnxruntime. Each pair is read alone, so its numbers do not depend on its neighbours."""

    def __init__(self, named: Named, model: Path, tokenizer: Path, numbers: int | None) -> None:
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
        except Exception as error:  # whatever the two libraries raise for files that are not theirs
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


class _Torch:
    """A CrossEncoder of sentence-transformers, by folder or by name on the hub."""

    def __init__(self, named: Named, numbers: int | None) -> None:
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


def _config(folder: Path) -> Any:
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def _labels_beside(tokenizer: Path) -> list[str]:
    """What config.json beside the tokenizer says of the numbers."""
    try:
        return _in_order(_config(tokenizer.parent)["id2label"])
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _in_order(labels: Mapping[Any, Any]) -> list[str]:
    """By their numbers, which JSON holds as text."""
    by_number = {int(number): str(label) for number, label in labels.items()}
    return [by_number[number] for number in sorted(by_number)]
