"""Runs cross-encoders on onnxruntime, or on torch through sentence-transformers.

Imported only to open a model: a plan opens none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import HarnessError, ModelUnavailable
from harness.models.cpu_count import usable_cores
from harness.models.cross_encoder_names import CrossEncoderRef, config_of, need_onnx, need_torch

if TYPE_CHECKING:
    from harness.models.cross_encoder_names import Rows

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
