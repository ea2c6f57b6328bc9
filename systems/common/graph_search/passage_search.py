"""Searches the passages of a stored graph: by embeddings, keywords or both, and by the entities they mention."""

import math
from collections.abc import Sequence

from harness.core.records import Context, Span
from harness.protocols import Runtime, Vectors
from systems.common.graph_index import GraphIndex
from systems.common.graph_stores.contract import GraphStore
from systems.common.search import SearchParams, search_passages


async def passages_mentioning(
    store: GraphStore, entity_ids: Sequence[str], found: Sequence[Context], chunks: int, depth: int
) -> list[Context]:
    """At most `depth` passages that mention one of the entities, best first.

    A passage scores log(chunks / chunks that mention it) for each entity, like a word in BM25. Ties are in the
    order of `found`, the passages of a search, and before passages that it did not find.
    """
    mentions = await store.mentions_of(entity_ids)
    weights: dict[str, float] = {}
    for chunk_ids in mentions.values():
        for chunk_id in chunk_ids:
            weights[chunk_id] = weights.get(chunk_id, 0.0) + math.log(1 + chunks / len(chunk_ids))
    # A passage outside the best few hundred cannot rank among the best, whatever its rank in the search.
    heaviest = sorted(weights, key=lambda chunk_id: (-weights[chunk_id], chunk_id))
    cut = weights[heaviest[depth - 1]] if len(heaviest) > depth else 0.0
    kept = [chunk_id for chunk_id in heaviest if weights[chunk_id] >= cut]
    ranks: dict[Span | None, int] = {context.span: rank for rank, context in enumerate(found)}
    passages = zip(kept, await store.chunks(kept), strict=True)
    best = sorted(passages, key=lambda each: (-weights[each[0]], ranks.get(each[1].span, len(found)), each[0]))
    return [context.model_copy(update={"score": weights[chunk_id]}) for chunk_id, context in best[:depth]]


async def passages_of_graph(
    params: SearchParams,
    runtime: Runtime,
    graph: GraphIndex,
    question: str,
    k: int,
    vector: Vectors | None = None,
) -> list[Context]:
    """The k best passages for `question`; `vector`: its embedding, if already computed."""

    async def by_meaning(text: str, k: int) -> list[Context]:
        found = vector
        if found is None:
            with runtime.stage("embed_query"):
                found = await runtime.embedder.embed_query(text)
        with runtime.stage("retrieve"):
            return await graph.store.nearest_chunks(found, k)

    async def by_words(text: str, k: int) -> list[Context]:
        with runtime.stage("retrieve"):
            return await graph.words.search(text, k)

    return await search_passages(params, question, k, by_meaning, by_words)
