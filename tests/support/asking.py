"""A system indexed and asked as by two processes."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from runtimes import BareRuntime

from harness.core.records import Document, IndexStats, Prediction, Query
from harness.protocols import SystemSpec

NOTHING: Mapping[str, Any] = {}


async def indexed(
    spec: SystemSpec, runtime: BareRuntime, corpus: Sequence[Document], index: Mapping[str, Any] = NOTHING
) -> IndexStats:
    params = spec.index_params.model_validate(dict(index)), spec.answer_params()
    with closing(spec.build(*params, runtime)) as system:
        return await system.index(corpus)


async def asked(
    spec: SystemSpec, runtime: BareRuntime, question: str, index: Mapping[str, Any] = NOTHING, **answer: Any
) -> Prediction:
    """The answer over the stored index."""
    params = spec.index_params.model_validate(dict(index)), spec.answer_params.model_validate(answer)
    with closing(spec.build(*params, runtime)) as system:
        await system.load()
        return await system.answer(Query(query_id="q", text=question))


def told(prediction: Prediction, name: str) -> list[str]:
    """The steps of that name in the trace."""
    return [step.content for step in prediction.trace if step.name == name]
