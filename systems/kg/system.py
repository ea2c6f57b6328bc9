"""KG-Graph RAG: entities of the question, their triplets in the graph, the nearest passages, one generation."""

from collections.abc import Sequence

from harness.core.records import Document, Expected, IndexStats, Prediction, Query
from harness.protocols import GENERATES, Runtime, SystemSpec, Workload
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.expected_graph import expected_graph, expected_search
from systems.common.extraction.extractor import english_only
from systems.common.graph_index import (
    INDEX_KIND,
    GraphIndex,
    GraphIndexParams,
    graph_servers,
    roles_of,
    weights_of,
)
from systems.common.graph_search.params import GraphSearchParams, check_search, reranker_of
from systems.common.graph_search.retrieval import GraphRetrieval
from systems.common.prompts.thesis import answer_by


def expect(index: GraphIndexParams, answer: GraphSearchParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Assumes the maximum number of triplets (`max_triplets`) for every query."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    found = expected_search(answer, passages, workload)
    return Expected(
        index=graph,
        query=search(
            workload,
            [*found.calls, answer_call(workload, found.contexts, answer.prompts)],
            searches=found.searches,
        ),
        most=found.most,
        notes=(*notes, *found.notes),
    )


class KgSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: GraphSearchParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, runtime)
        self._retrieval = GraphRetrieval(answer, runtime, self._graph)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract, assemble, embed and store."""
        return await self._graph.build(corpus)

    async def load(self) -> None:
        """Open the stored graph."""
        await self._retrieval.open()

    async def answer(self, query: Query) -> Prediction:
        """Retrieve triplets and, depending on the mode, passages; then generate once."""
        found = await self._retrieval.find(query.text)
        answer = await answer_by(self._runtime, self._params.prompts, query.text, found.contexts)
        return Prediction(answer=answer, contexts=found.contexts, trace=found.trace, retrieved=found.ranking)

    def close(self) -> None:
        """Release the store."""
        self._graph.close()


SPEC = SystemSpec(
    name="kg",
    version="2",
    summary="a knowledge graph of the corpus: triplets of the question's entities, and the top k passages",
    also_called=("knowledge-graph", "graph", "kg-rag", "triplets"),
    index_params=GraphIndexParams,
    answer_params=GraphSearchParams,
    build=KgSystem,
    index_kind=INDEX_KIND,
    index_roles=roles_of,
    answer_roles=lambda _, answer: answer.search_roles | GENERATES,
    weights=weights_of,
    english_only=english_only,
    reranker=reranker_of,
    servers=graph_servers,
    preflight=check_search,
    expect=expect,
)
