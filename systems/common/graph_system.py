"""What systems over a stored knowledge graph share; they differ in how they search it and answer."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from harness.core.records import Document, IndexStats
from harness.protocols import GENERATES, Runtime, SystemSpec
from systems.common.extraction.extractor import english_only
from systems.common.graph_index import GraphIndex, GraphIndexParams, graph_servers, roles_of, weights_of
from systems.common.graph_search.params import GraphSearchParams, check_search, reranker_of
from systems.common.graph_search.retrieval import GraphRetrieval

Answer = TypeVar("Answer", bound=GraphSearchParams)


class GraphSystem(Generic[Answer]):
    """Indexes, opens and closes a stored graph; subclasses answer. See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: Answer, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, runtime)
        self._retrieval = GraphRetrieval(answer, runtime, self._graph)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        return await self._graph.build(corpus)

    async def load(self) -> None:
        await self._retrieval.open()

    def close(self) -> None:
        self._graph.close()


def graph_system_spec(**given: Any) -> SystemSpec:
    """The spec of a system with a graph as its index, in which `given` replaces fields; kg's unless given."""
    shared = {
        "index_params": GraphIndexParams,
        "index_roles": roles_of,
        "answer_roles": lambda _, answer: answer.search_roles | GENERATES,
        "weights": weights_of,
        "english_only": english_only,
        "reranker": reranker_of,
        "servers": graph_servers,
        "preflight": check_search,
    }
    return SystemSpec(**{**shared, **given})
