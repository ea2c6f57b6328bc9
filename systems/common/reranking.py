"""Reorders the passages of a search with a cross-encoder, which reads the question and a passage together."""

from collections.abc import Sequence

from harness.core.records import Context
from harness.protocols import Runtime
from systems.common.search import FoundPassages, SearchParams


def open_reranker(runtime: Runtime, params: SearchParams) -> None:
    """Load the model of `params` now, so that its loading time is not part of a query."""
    if params.rerank:
        _ = runtime.reranker


async def best_passages(
    runtime: Runtime, params: SearchParams, question: str, found: Sequence[Context], k: int
) -> FoundPassages:
    """The k best of `found`, best first, with the model's scores; ties in the order of `found`.

    The model reads passages with their headings, like the generator; passages beyond its limit come last. Without
    a model, the first k.
    """
    if not params.rerank or not found:
        return FoundPassages.of(found, k)
    read, behind = found[: params.read(k)], found[params.read(k) :]
    with runtime.stage("rerank"):
        scores = await runtime.reranker.scores(question, [context.text for context in read])
    # sorted() is stable.
    best = sorted(zip(scores, read, strict=True), key=lambda pair: -pair[0])
    ranked = [context.model_copy(update={"score": score}) for score, context in best]
    return FoundPassages.of([*ranked, *behind], k)
