"""Searches the passages of a stored graph by embeddings, keywords or both."""

from typing import TYPE_CHECKING

from harness.core.records import Context
from harness.protocols import Runtime
from systems.common.graph_index import GraphIndex
from systems.common.search import SearchParams, search_passages

if TYPE_CHECKING:
    from harness.protocols import Vectors


async def passages_of_graph(
    params: SearchParams,
    runtime: Runtime,
    graph: GraphIndex,
    question: str,
    k: int,
    vector: "Vectors | None" = None,
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
