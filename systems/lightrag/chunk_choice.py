"""Selects the chunks of entities or relations that are nearest to the question, deterministically."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any


async def pick_nearest(
    *,
    query: str,
    chunks_vdb: Any,
    num_of_chunks: int,
    entity_info: Sequence[Mapping[str, Any]],
    embedding_func: Callable[..., Awaitable[Any]],
    query_embedding: Any = None,
    **_: Any,
) -> list[str]:
    """The chunks of the library's `pick_by_vector_similarity`, best first, ties in corpus order. The library
    orders ties by a set, which differs between processes, and uses the first chunks if the embedder fails.
    """
    chunk_ids = sorted({chunk_id for one in entity_info for chunk_id in one.get("sorted_chunks", ())})
    if not chunk_ids or num_of_chunks <= 0:
        return []
    if query_embedding is None:
        (query_embedding,) = await embedding_func([query], context="query")
    vectors = await chunks_vdb.get_vectors_by_ids(chunk_ids)
    if len(vectors) != len(chunk_ids):
        return []  # The library then ranks by the number of entities that name a chunk.
    near = {chunk_id: _cosine(query_embedding, vectors[chunk_id]) for chunk_id in chunk_ids}
    return sorted(chunk_ids, key=lambda chunk_id: -near[chunk_id])[:num_of_chunks]


def _cosine(left: Any, right: Any) -> float:
    import numpy as np

    lengths = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(np.dot(left, right)) / lengths if lengths else 0.0
