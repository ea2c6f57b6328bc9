"""Models that read two texts together: which one a name means, and whether it is one, whatever their numbers mean.

A folder with an ONNX export (model.onnx or onnx/model.onnx, tokenizer.json) runs on onnxruntime; any other folder,
and a name on the Hugging Face hub, is what sentence-transformers loads as a CrossEncoder.
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
"""Of a model that is named without one."""
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
class CrossEncoderRef:
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

    def check_head(self, architectures: Sequence[str] | None) -> None:
        """Its library gives a model without a head one of random weights, and says so in a log alone."""
        if not any(each.endswith(_HEAD) for each in architectures or ()):
            what = ", ".join(architectures or ()) or "without a kind"
            raise ModelUnavailable(f"'{self.name}' is not {self.kind} ({what})", self.fix)

    def check_numbers(self, found: int, wanted: int | None) -> None:
        """Raise where it gives another number of them for a pair."""
        if found != (wanted or found):
            what = f"'{self.name}' gives {found} numbers for a pair, {self.kind} {wanted}"
            raise ModelUnavailable(what, self.fix)


def need_onnx() -> None:
    """Raise where onnxruntime is not installed."""
    need("provider-minilm", "onnxruntime", "tokenizers")


def need_torch() -> None:
    """Raise where sentence-transformers is not installed."""
    need("provider-sentence-transformers", "sentence_transformers")


def config_of(folder: Path) -> Any:
    """What config.json of a model says."""
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))
