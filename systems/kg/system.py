"""KG-Graph RAG: entities of the question, their triplets in the graph, the nearest passages, one generation."""

from collections.abc import Sequence

from harness.errors import ConfigError
from harness.protocols import Runtime, SystemSpec
from harness.records import Document, IndexStats, Prediction, Query, Step
from systems.kg.expected import expect
from systems.kg.params import AnswerParams, answer_roles
from systems.kg.retrieval import GraphRetrieval
from systems.parts.graph_index import (
    INDEX_KIND,
    GraphIndex,
    GraphIndexParams,
    check_graph,
    graph_servers,
    roles_of,
    weights_of,
)
from systems.parts.graph_stores.contract import EntityHit
from systems.parts.reranking import open_reranker


class KgSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, runtime)
        self._retrieval = GraphRetrieval(answer, runtime, self._graph)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract, assemble, embed and store."""
        return await self._graph.build(corpus)

    async def load(self) -> None:
        """Open the stored graph."""
        params = self._params
        if params.names_by == "model" and self._runtime.chat is None:
            raise ConfigError(
                "answer.names_by=model needs a generator, and models.generator.provider is none",
                "choose a provider or answer.names_by=graph",
            )
        by_words = params.finds_passages and params.search != "dense"
        await self._graph.open(words=by_words, statements=params.rank == "meaning")
        await self._retrieval.load()
        if params.finds_passages:
            open_reranker(self._runtime, params)

    async def answer(self, query: Query) -> Prediction:
        """Retrieve from the graph and, by mode, from the passages; then generate once."""
        found = await self._retrieval.find(query.text)
        contexts = (*found.passages, *found.triplets)
        answer = await self._runtime.answer(query.text, contexts)
        trace = _trace(found.names, found.entities, len(found.triplets))
        return Prediction(answer=answer, contexts=contexts, trace=trace, retrieved=found.ranking)

    def close(self) -> None:
        """Release the store."""
        self._graph.close()


def _trace(names: Sequence[str], hits: Sequence[EntityHit], triplets: int) -> tuple[Step, ...]:
    entities = "; ".join(f"{hit.name} ({hit.degree} relations)" for hit in hits)
    return (
        Step(name="names", content="; ".join(names) or "none: the whole question was searched for"),
        Step(name="entities", content=entities or "none found"),
        Step(name="triplets", content=f"{triplets} kept"),
    )


def _check(index: GraphIndexParams, answer: AnswerParams) -> None:
    check_graph(index, answer)
    if answer.rank == "meaning" and not index.statements:
        raise ConfigError(
            "answer.rank=meaning searches the sentences of the triplets, and index.statements=false keeps none",
            "choose answer.rank=words, or leave index.statements out",
        )


SPEC = SystemSpec(
    name="kg",
    version="2",
    summary="a knowledge graph of the corpus: triplets of the question's entities, and the top k passages",
    index_params=GraphIndexParams,
    answer_params=AnswerParams,
    build=KgSystem,
    index_kind=INDEX_KIND,
    index_roles=roles_of,
    answer_roles=answer_roles,
    weights=weights_of,
    reranker=lambda answer: answer.rerank if answer.finds_passages else None,
    servers=graph_servers,
    preflight=_check,
    expect=expect,
)
