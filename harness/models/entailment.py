"""Entailment by a model of natural language inference.

Any sequence-classification model works whose `id2label` names entailment, such as the MNLI models of the Hugging
Face hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.core.errors import ModelUnavailable
from harness.models.cross_encoders import CrossEncoder, CrossEncoderRef, check_named, open_named

if TYPE_CHECKING:
    from harness.protocols import Entailment

_FIX = "name a folder that holds a model of natural language inference, or one on the hub with its owner"


def check_entailment(name: str) -> None:
    """Raise HarnessError, one line, if it cannot be used: no package, no such model, or no inference model."""
    named = _named(name)
    if named.export:
        _Inference(named)
    else:
        check_named(named, None)


def entailment_identity(name: str) -> str:
    """The digest of its bytes, or the commit of a model on the hub. Raises ModelUnavailable if there is
    neither.
    """
    return _named(name).identity()


def open_entailment(name: str) -> Entailment:
    """The loaded model. HarnessError as `check_entailment`."""
    return _Inference(_named(name))


class _Inference:
    """See `harness.protocols.Entailment`."""

    def __init__(self, named: CrossEncoderRef) -> None:
        self._model: CrossEncoder = open_named(named, None)
        found = [place for place, label in enumerate(self._model.labels) if label.lower().startswith("entail")]
        if len(found) != 1:
            labels = ", ".join(self._model.labels) or "none"
            raise ModelUnavailable(f"'{named.name}' has no label that is entailment ({labels})", named.fix)
        self._place = found[0]

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        """The softmax of the model's outputs."""
        if not premises:
            return []
        import numpy as np

        rows = await self._model.read([(premise, hypothesis) for premise in premises])
        weights = np.exp(rows - rows.max(axis=1, keepdims=True))
        shares = (weights / weights.sum(axis=1, keepdims=True))[:, self._place]
        if not np.isfinite(shares).all():
            raise ValueError("the NLI model returned values that are not numbers")
        return [float(share) for share in shares]


def _named(name: str) -> CrossEncoderRef:
    return CrossEncoderRef(name, "a model of natural language inference", _FIX)
