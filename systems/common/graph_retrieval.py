"""Contexts for the generator out of a graph, its passages and triplets: the parameters and the search.
`systems.common.graph_index` defines the index.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Literal

from pydantic import Field

from harness.core.errors import ConfigError
from harness.core.records import Context, Span, Step, Triplet
from harness.protocols import EMBEDS, NO_ROLE, Role, Runtime, Vectors
from systems.common.answers import Found
from systems.common.graph_index import GraphIndex, GraphIndexParams, check_graph
from systems.common.graph_stores.contract import EntityHit, GraphStore, StoredTriplet
from systems.common.question_entities import entities_named, question_names
from systems.common.search import KEPT, SearchParams, best_of, check_generator, fuse
from systems.common.sentence_search import StatedTriplet

_NEIGHBOURS = 200
"""Maximum triplets of the question's entities, best first, that are followed in a second hop."""


Mode = Literal["hybrid", "triplets", "triplets+text"]


class GraphSearchParams(SearchParams):
    mode: Mode = "hybrid"
    """`hybrid`: passages by `search`, then triplets; `triplets`: only the graph; `triplets+text`: the passages
    that state the triplets (no passage search), then the triplets. With `prompts=thesis` triplets come first."""
    top_k: int = Field(3, ge=1, le=1000)
    """Passages for the generator; none in mode `triplets`."""
    max_triplets: int = Field(10, ge=1, le=1000)
    """Maximum triplets for the generator."""
    entities_per_name: int = Field(3, ge=1, le=50)
    """Maximum entities from full-text search per name in the question."""
    names_by: Literal["graph", "rules", "model"] = "graph"
    """How names in the question are found: `graph`: names of the graph's entities, without publishers; `rules`:
    quotation marks and capitals, then full-text search; `model`: one more model call, then full-text search.
    """
    mentions: bool | None = None
    """`hybrid`: whether passages that mention the question's entities are fused with those of the search. None:
    only if the search is `dense`, because BM25 finds names anyway.
    """
    rank: Literal["meaning", "words", "none"] = "meaning"
    """Order and text of triplets. `meaning`: by similarity of their sentences to the question, each with its
    sentence, publisher and date; `words`: by shared words, without sentences; `none`: entity by entity as full
    text found them, without sentences (thesis).
    """
    hops: int = Field(1, ge=1, le=2)
    """Maximum distance of triplets from the question's entities; 2: also triplets of neighbours."""

    @property
    def finds_passages(self) -> bool:
        return self.mode == "hybrid"

    @property
    def fuses_mentions(self) -> bool:
        """Whether passages that mention the question's entities are searched."""
        return self.search == "dense" if self.mentions is None else self.mentions

    @property
    def needs_words(self) -> bool:
        return self.finds_passages and self.search != "dense"

    @property
    def reranker(self) -> str | None:
        return self.rerank if self.finds_passages else None

    @property
    def by_meaning(self) -> bool:
        return self.rank == "meaning" or (self.finds_passages and self.is_dense)

    @property
    def needs_statements(self) -> bool:
        """Whether the sentences that state triplets are searched."""
        return self.rank == "meaning"

    @property
    def search_roles(self) -> frozenset[Role]:
        """The models of a search besides a generator for names: an embedder for semantic search of passages or
        triplets.
        """
        return EMBEDS if self.by_meaning else NO_ROLE


def check_search(index: GraphIndexParams, answer: GraphSearchParams) -> None:
    """Raise HarnessError if this graph cannot be built or searched here; see `SystemSpec.preflight`."""
    check_graph(index, answer)
    if answer.rank == "meaning" and not index.statements:
        raise ConfigError(
            "answer.rank=meaning searches the sentences of the triplets, but index.statements=false stores none",
            "choose answer.rank=words, or leave index.statements out",
        )


class GraphRetrieval:
    """Searches one stored index; call `open` first."""

    def __init__(self, params: GraphSearchParams, runtime: Runtime, graph: GraphIndex) -> None:
        self._params = params
        self._runtime = runtime
        self._graph = graph

    async def open(self) -> None:
        check_generator(self._runtime, "answer.names_by", self._params.names_by, "graph")
        await self._graph.open(statements=self._params.needs_statements)

    async def find(self, question: str) -> Found:
        """Entities, then triplets, then passages."""
        vector = await self._embedded(question)
        names, entities = await self._entities(question)
        with self._runtime.stage("graph"):
            stated = await self._stated(vector, await self._candidates(question, entities))
        found = await self._passages(question, vector, entities, stated)
        # A sentence that is in a passage is not said again.
        fresh = (each for each in stated if not any(map(each.is_in, found.contexts)))
        triplets = tuple(map(self._as_context, islice(fresh, self._params.max_triplets)))
        by_thesis = self._params.prompts == "thesis"
        return Found(
            contexts=(*triplets, *found.contexts) if by_thesis else (*found.contexts, *triplets),
            ranking=found.ranking,
            trace=_trace(names, entities, triplets),
        )

    async def _embedded(self, question: str) -> Vectors | None:
        if not self._params.by_meaning:
            return None
        with self._runtime.stage("embed_query"):
            return await self._runtime.embedder.embed_query(question)

    async def _entities(self, question: str) -> tuple[list[str], list[EntityHit]]:
        """The names and their entities; without names, full-text results for the whole question."""
        store, per_name = self._graph.store, self._params.entities_per_name
        if self._params.names_by == "graph":
            with self._runtime.stage("graph"):
                hits = await entities_named(store, question, self._graph.publisher_ids, per_name)
                return [hit.name for hit in hits], hits or await store.find_entities(question, per_name)
        names = await question_names(self._runtime, self._params.names_by, question)
        found: dict[str, EntityHit] = {}
        with self._runtime.stage("graph"):
            for phrase in names or [question]:
                for hit in await store.find_entities(phrase, per_name):
                    found.setdefault(hit.entity_id, hit)
        return names, list(found.values())

    async def _candidates(self, question: str, entities: Sequence[EntityHit]) -> list[StoredTriplet]:
        """The triplets of the entities and, with two hops, of their neighbours, in the order of `rank`."""
        ranks = {hit.entity_id: rank for rank, hit in enumerate(entities)}
        near = self._ranked(question, ranks, await self._graph.store.triplets_of(list(ranks)))
        if self._params.hops == 1:
            return near
        ends = [end for each in near[:_NEIGHBOURS] for end in (each.head_id, each.tail_id) if end not in ranks]
        met = {end: rank for rank, end in enumerate(dict.fromkeys(ends), start=len(ranks))}
        known = set(near)
        beyond = [each for each in await self._graph.store.triplets_of(list(met)) if each not in known]
        return near + self._ranked(question, met, beyond)

    def _ranked(
        self, question: str, ranks: Mapping[str, int], triplets: Sequence[StoredTriplet]
    ) -> list[StoredTriplet]:
        if self._params.rank != "none":
            return rank_triplets(question, ranks, triplets)
        return sorted(triplets, key=lambda each: min(ranks[end] for end in each.ends if end in ranks))

    async def _stated(self, vector: Vectors | None, candidates: Sequence[StoredTriplet]) -> list[StatedTriplet]:
        """The candidates, or those of them that state what is nearest to the question, with their sentences."""
        if self._params.rank != "meaning" or vector is None:
            return [StatedTriplet(each) for each in candidates]
        # Sentences that are in a passage are dropped later, at most one passage's worth per passage.
        wanted = self._params.max_triplets + 20 * self._params.top_k
        return await asyncio.to_thread(self._graph.statements.rank, vector, candidates, wanted)

    async def _passages(
        self,
        question: str,
        vector: Vectors | None,
        entities: Sequence[EntityHit],
        stated: Sequence[StatedTriplet],
    ) -> Found:
        params = self._params
        if params.mode == "triplets":
            return Found()
        if params.mode == "triplets+text":
            return best_of(await self._stating(stated[: params.max_triplets]), params.top_k)
        found = await self._searched(question, vector, entities)
        return await self._graph.passages.best(question, found, params.top_k)

    async def _stating(self, stated: Sequence[StatedTriplet]) -> list[Context]:
        """The passages that state these triplets, as many as are used or ranked."""
        chunk_ids = list(dict.fromkeys(chunk_id for each in stated for chunk_id in each.chunk_ids))
        with self._runtime.stage("retrieve"):
            return await self._graph.store.chunks(chunk_ids[: max(KEPT, self._params.top_k)])

    async def _searched(
        self, question: str, vector: Vectors | None, entities: Sequence[EntityHit]
    ) -> list[Context]:
        """The passages found by search: enough for the ranking and the reranker."""
        params, store = self._params, self._graph.store
        wanted = params.depth(params.top_k)
        depth = max(wanted, params.fetch_k) if params.fuses_mentions else wanted
        found = await self._graph.passages.ranked(question, depth, vector=vector)
        if not params.fuses_mentions:
            return found
        with self._runtime.stage("graph"):
            ids = [hit.entity_id for hit in entities]
            mentioning = await passages_mentioning(store, ids, found, self._graph.n_chunks, depth)
        return fuse([found, mentioning], wanted)

    def _as_context(self, stated: StatedTriplet) -> Context:
        """The triplet as the generator sees it."""
        triplet, sentence = stated.triplet, stated.sentence
        parts = Triplet(triplet.head, triplet.relation, triplet.tail)
        text = ("({}, {}, {})" if self._params.rank == "none" else "({})-[{}]->({})").format(*parts)
        if dates := self._graph.dates_of(triplet):
            text = f"{text} ({'; '.join(dates)})"
        if sentence:
            text = f"{text}: {sentence.searched}"
        doc_ids = (sentence.doc_id,) if sentence else triplet.doc_ids
        return Context(text=text, doc_ids=doc_ids, kind="triplet", triplets=(parts,))


def _trace(names: Sequence[str], entities: Sequence[EntityHit], triplets: Sequence[Context]) -> tuple[Step, ...]:
    listed = "; ".join(f"{hit.name} ({hit.degree} relations)" for hit in entities)
    return (
        Step(name="names", content="; ".join(names) or "none: the whole question was searched for"),
        Step(name="entities", content=listed or "none found"),
        Step(name="triplets", content=f"{len(triplets)} kept"),
    )


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


_WORD = re.compile(r"\w+")


def rank_triplets(
    question: str, found: Mapping[str, int], triplets: Sequence[StoredTriplet]
) -> list[StoredTriplet]:
    """`triplets`, best first; `found` maps the id of each entity of the question to its rank, 0 the best.

    First those between two entities of the question. Then the best one of each entity, in their ranks' order, the
    second best of each, and so on, so that an entity with hundreds of relations leaves room for the others.
    An entity's triplets are ordered by the number of other words of the question, then by the number of
    chunks that state them, then by their ids. No model; independent of the store.
    """
    asked = _words(question)

    def merit(triplet: StoredTriplet) -> tuple[int, int, str, str, str]:
        words = _words(triplet.relation.replace("_", " "))
        for end in (triplet.head_id, triplet.tail_id):
            words |= set() if end in found else _words(end)
        return (-len(words & asked), -len(triplet.chunk_ids), triplet.head_id, triplet.relation, triplet.tail_id)

    met: Counter[int] = Counter()
    places: dict[StoredTriplet, tuple[int, int, int]] = {}
    for triplet in sorted(triplets, key=merit):
        ends = [found[end] for end in (triplet.head_id, triplet.tail_id) if end in found]
        rank = min(ends, default=len(found))
        places[triplet] = (0, 0, rank) if len(ends) == 2 else (1, met[rank], rank)
        met[rank] += len(ends) < 2
    # sorted() is stable, so ties keep their order.
    return sorted(places, key=places.__getitem__)


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) > 2}
