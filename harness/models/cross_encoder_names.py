"""Models that read two texts together: resolves their names and checks the models.

A folder with an ONNX export (model.onnx or onnx/model.onnx, tokenizer.json) runs on onnxruntime; any other folder,
and a name on the Hugging Face hub, is loaded as a CrossEncoder by sentence-transformers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.core.errors import ModelUnavailable, need
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
