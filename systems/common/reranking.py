"""The passages of a search in the order of a cross-encoder, which reads the question and a passage together."""

from collections.abc import Sequence

from harness.core.records import Context
from harness.protocols import Runtime
from systems.common.search import FoundPassages, SearchParams


def open_reranker(runtime: Runtime, params: SearchParams) -> None:
    """Have the model of `params` in memory, so that loading it is no query's latency."""
    if params.rerank:
        _ = runtime.reranker


async def best_passages(
    runtime: Runtime, params: SearchParams, question: str, found: Sequence[Context], k: int
) -> FoundPassages:
    """The k best of `found`, best first, each with the model's score; ties in the order of `found`.

    The model reads passages as the generator does, with their headings; passages beyond its limit come last.
    Without a model, the first k.
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
