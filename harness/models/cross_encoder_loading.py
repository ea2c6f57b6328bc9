"""Checks and opens models that read two texts together. Their libraries are loaded only to open a model: a
plan opens none.
"""

from __future__ import annotations

from pathlib import Path

from harness.core.errors import ModelUnavailable
from harness.models.cross_encoder_names import CrossEncoder, CrossEncoderRef, config_of, need_torch


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
    from harness.models.cross_encoder_engines import TorchEngine

    return TorchEngine(named, numbers)


def open_export(named: CrossEncoderRef, model: Path, tokenizer: Path, numbers: int | None) -> CrossEncoder:
    """The loaded ONNX export in these files. HarnessError as `check_named`."""
    from harness.models.cross_encoder_engines import OnnxEngine

    return OnnxEngine(named, model, tokenizer, numbers)
