"""KG-Graph RAG: entities of the question, their triplets in the graph, the nearest passages, one generation."""

from harness.core.records import Expected, Prediction, Query
from harness.protocols import Workload
from systems.common.answers import predict
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_retrieval import GraphSearchParams
from systems.common.graph_system import GraphRetrievalSystem, expected_graph, expected_search, graph_system_spec


def expect(index: GraphIndexParams, answer: GraphSearchParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Assumes the maximum number of triplets (`max_triplets`) for every query."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    contexts, calls, note = expected_search(answer, passages, workload)
    calls.append(answer_call(workload, contexts, answer.prompts))
    query = search(workload, calls, searches=int(answer.by_meaning))
    most = "as many sentences as triplets, and no passage contains any of them" if answer.rank == "meaning" else ""
    return Expected(index=graph, query=query, most=most, notes=(*notes, note))


class KgSystem(GraphRetrievalSystem[GraphSearchParams]):
    async def answer(self, query: Query) -> Prediction:
        """Retrieve triplets and, depending on the mode, passages; then generate once."""
        found = await self._retrieval.find(query.text)
        return await predict(self._runtime, self._params, query.text, found)


SPEC = graph_system_spec(
    name="kg",
    version="2",
    summary="a knowledge graph of the corpus: triplets of the question's entities, and the top k passages",
    also_called=("knowledge-graph", "graph", "kg-rag", "triplets"),
    answer_params=GraphSearchParams,
    build=KgSystem,
    expect=expect,
)
