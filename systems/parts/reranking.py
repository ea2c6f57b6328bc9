"""The passages of a search in the order of a cross-encoder, which reads the question and a passage together."""

from collections.abc import Sequence

from harness.protocols import Runtime
from harness.records import Context
from systems.parts.searching import SearchParams


def open_reranker(runtime: Runtime, params: SearchParams) -> None:
    """Have the model of `params` in memory, so that loading it is no query's latency."""
    if params.rerank:
        _ = runtime.reranker


async def best_passages(
    runtime: Runtime, params: SearchParams, question: str, found: Sequence[Context], k: int
) -> list[Context]:
    """The k best of `found`, best first, each with the model's score; equal ones as they stand in `found`.

    The model reads of a passage what the generator reads, its heading included. Without one, the first k.
    """
    if not params.rerank or not found:
        return list(found[:k])
    with runtime.stage("rerank"):
        scores = await runtime.reranker.scores(question, [context.text for context in found])
    # sorted() is stable.
    best = sorted(zip(scores, found, strict=True), key=lambda pair: -pair[0])[:k]
    return [context.model_copy(update={"score": score}) for score, context in best]
