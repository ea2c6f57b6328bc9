"""What systems over a stored knowledge graph share; they differ in how they search it and answer."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from harness.core.records import Document, IndexStats
from harness.protocols import GENERATES, Runtime, SystemSpec
from systems.common.extraction import english_only
from systems.common.graph_index import GraphIndex, GraphIndexParams, graph_servers, roles_of, weights_of
from systems.common.graph_search.retrieval import GraphRetrieval, GraphSearchParams, check_search
from systems.common.search import SearchParams

Answer = TypeVar("Answer", bound=SearchParams)
Retrieved = TypeVar("Retrieved", bound=GraphSearchParams)


class GraphSystem(Generic[Answer]):
    """Indexes, opens and closes a stored graph; subclasses answer. See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: Answer, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, answer, runtime)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        return await self._graph.build(corpus)

    async def load(self) -> None:
        await self._graph.open()

    def close(self) -> None:
        self._graph.close()


class GraphRetrievalSystem(GraphSystem[Retrieved]):
    """Its contexts are triplets and passages, as in kg."""

    def __init__(self, index: GraphIndexParams, answer: Retrieved, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        self._retrieval = GraphRetrieval(answer, runtime, self._graph)

    async def load(self) -> None:
        await self._retrieval.open()


def graph_system_spec(**given: Any) -> SystemSpec:
    """The spec of a system with a graph as its index, in which `given` replaces fields; kg's unless given."""
    shared = {
        "index_params": GraphIndexParams,
        "index_roles": roles_of,
        "answer_roles": lambda _, answer: answer.search_roles | GENERATES,
        "weights": weights_of,
        "english_only": english_only,
        "reranker": lambda answer: answer.reranker,
        "servers": graph_servers,
        "preflight": check_search,
    }
    return SystemSpec(**{**shared, **given})
