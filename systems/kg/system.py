"""KG-Graph RAG: entities of the question, their triplets in the graph, the nearest passages, one generation."""

from collections.abc import Sequence

from harness.errors import ConfigError
from harness.protocols import Runtime, SystemSpec
from harness.records import Context, Document, IndexStats, Prediction, Query, Step, Triplet
from systems.kg.expected import expect
from systems.kg.params import AnswerParams, answer_roles
from systems.kg.question import ask_for_names, names_in
from systems.kg.ranking import rank_triplets
from systems.parts.graph_index import (
    INDEX_KIND,
    GraphIndex,
    GraphIndexParams,
    check_graph,
    graph_servers,
    roles_of,
    weights_of,
)
from systems.parts.graph_stores.contract import EntityHit, StoredTriplet
from systems.parts.searching import KEPT, FoundPassages, places_of, search_passages


class KgSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, runtime)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract, assemble, embed and store."""
        return await self._graph.build(corpus)

    async def load(self) -> None:
        """Open the stored graph."""
        if self._params.names_by == "model" and self._runtime.chat is None:
            raise ConfigError(
                "answer.names_by=model needs a generator, and models.generator.provider is none",
                "choose a provider or answer.names_by=rules",
            )
        await self._graph.open(words=self._params.mode == "hybrid" and self._params.search != "dense")

    async def answer(self, query: Query) -> Prediction:
        """Retrieve from the graph and, by mode, from the passages; then generate once."""
        names = await self._names(query.text)
        with self._runtime.stage("graph"):
            hits = await self._entities(query.text, names)
            triplets = await self._triplets(query.text, hits)
        passages, ranking = await self._passages(query.text, triplets)
        contexts = (*passages, *map(_as_context, triplets))
        answer = await self._runtime.answer(query.text, contexts)
        trace = _trace(names, hits, triplets)
        return Prediction(answer=answer, contexts=contexts, trace=trace, retrieved=ranking)

    def close(self) -> None:
        """Release the store."""
        self._graph.close()

    async def _names(self, question: str) -> list[str]:
        if self._params.names_by == "rules" or self._runtime.chat is None:
            return names_in(question)
        with self._runtime.stage("names"):
            return await ask_for_names(self._runtime.chat, question)

    async def _entities(self, question: str, names: Sequence[str]) -> list[EntityHit]:
        """What full-text search finds for each name, name by name; without names, for the whole question."""
        found: dict[str, EntityHit] = {}
        for phrase in names or [question]:
            for hit in await self._graph.store.find_entities(phrase, self._params.entities_per_name):
                found.setdefault(hit.entity_id, hit)
        return list(found.values())

    async def _triplets(self, question: str, hits: Sequence[EntityHit]) -> list[StoredTriplet]:
        ranks = {hit.entity_id: rank for rank, hit in enumerate(hits)}
        triplets = await self._graph.store.triplets_of(list(ranks))
        return rank_triplets(question, ranks, triplets)[: self._params.max_triplets]

    async def _passages(self, question: str, triplets: Sequence[StoredTriplet]) -> FoundPassages:
        mode, k = self._params.mode, self._params.top_k
        if mode == "triplets":
            return FoundPassages([], None)
        if mode == "triplets+text":
            stating = dict.fromkeys(chunk_id for triplet in triplets for chunk_id in triplet.chunk_ids)
            with self._runtime.stage("retrieve"):
                ranked = await self._graph.store.chunks(list(stating)[: max(k, KEPT)])
                return FoundPassages(ranked[:k], places_of(ranked))
        return await search_passages(self._params, question, k, self._by_meaning, self._by_words)

    async def _by_meaning(self, text: str, k: int) -> list[Context]:
        with self._runtime.stage("embed_query"):
            vector = await self._runtime.embedder.embed_query(text)
        with self._runtime.stage("retrieve"):
            return await self._graph.store.nearest_chunks(vector, k)

    async def _by_words(self, text: str, k: int) -> list[Context]:
        with self._runtime.stage("retrieve"):
            return await self._graph.words.search(text, k)


def _as_context(triplet: StoredTriplet) -> Context:
    stated = Triplet(triplet.head, triplet.relation, triplet.tail)
    text = f"({stated.head})-[{stated.relation}]->({stated.tail})"
    return Context(text=text, doc_ids=triplet.doc_ids, kind="triplet", triplets=(stated,))


def _trace(names: Sequence[str], hits: Sequence[EntityHit], triplets: Sequence[StoredTriplet]) -> tuple[Step, ...]:
    entities = "; ".join(f"{hit.name} ({hit.degree} relations)" for hit in hits)
    return (
        Step(name="names", content="; ".join(names) or "none: the whole question was searched for"),
        Step(name="entities", content=entities or "none found"),
        Step(name="triplets", content=f"{len(triplets)} kept"),
    )


SPEC = SystemSpec(
    name="kg",
    version="1",
    summary="a knowledge graph of the corpus: triplets of the question's entities, and the top k passages",
    index_params=GraphIndexParams,
    answer_params=AnswerParams,
    build=KgSystem,
    index_kind=INDEX_KIND,
    index_roles=roles_of,
    answer_roles=answer_roles,
    weights=weights_of,
    servers=graph_servers,
    preflight=check_graph,
    expect=expect,
)
