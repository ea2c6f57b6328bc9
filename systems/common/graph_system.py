"""What systems over a stored knowledge graph share; they differ in how they search it and answer."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from harness.core.records import Context, Document, ExpectedCalls, IndexStats, Work
from harness.protocols import GENERATES, Runtime, SystemSpec, Workload
from systems.common.expected_calls import (
    PassageFacts,
    also_embedding,
    expected_question,
    filler,
    typical_question,
)
from systems.common.extraction import english_only, extraction_work
from systems.common.graph_index import (
    INDEX_KIND,
    GraphIndex,
    GraphIndexParams,
    graph_servers,
    roles_of,
    weights_of,
)
from systems.common.graph_retrieval import GraphRetrieval, GraphSearchParams, check_search
from systems.common.question_entities import names_question
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
        "index_kind": INDEX_KIND,
        "index_roles": roles_of,
        "answer_roles": lambda _, answer: answer.search_roles | GENERATES,
        "weights": weights_of,
        "english_only": english_only,
        "reranker": lambda answer: answer.reranker,
        "servers": graph_servers,
        "preflight": check_search,
    }
    return SystemSpec(**{**shared, **given})


_TRIPLET_CHARACTERS = 65
"""Of a triplet: two names, a relation and their brackets. Seen on news: 37 to 102."""
_SENTENCE_CHARACTERS = 150
"""Of a sentence that states one, with its publisher and date."""


def expected_search(
    answer: GraphSearchParams, passages: PassageFacts, workload: Workload
) -> tuple[list[Context], list[ExpectedCalls], str]:
    """The contexts for the generator, the calls before it answers, and a note: the graph's answers are taken to be
    full.
    """
    length = _TRIPLET_CHARACTERS + (_SENTENCE_CHARACTERS if answer.rank == "meaning" else 0)
    shown = [] if answer.mode == "triplets" else passages.retrieved(answer.top_k)
    note = f"every query is taken to find {answer.max_triplets} triplets, the most there can be"
    contexts = [*shown, *filler(answer.max_triplets, length)]
    return contexts, names_calls(answer.names_by, workload), note


def names_calls(names_by: str, workload: Workload) -> list[ExpectedCalls]:
    """The call for the names in a question, if a model lists them."""
    if names_by != "model":
        return []
    return [expected_question(names_question(typical_question(workload.queries)))]


def expected_graph(index: GraphIndexParams, passages: PassageFacts) -> tuple[Work, tuple[str, ...]]:
    """The expected cost of the graph of these passages, with notes."""
    extraction, notes = extraction_work(passages, index.extractor)
    embedding = passages.embedding(index.headings is True)
    if index.statements:
        sentences = round(passages.count * passages.mean_characters / _SENTENCE_CHARACTERS)
        embedding = also_embedding(embedding, sentences, _SENTENCE_CHARACTERS)
        notes = (*notes, "every sentence of the corpus is taken to state a triplet, and to be embedded")
    return embedding.model_copy(update={"calls": extraction}), notes
