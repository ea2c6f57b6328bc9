"""Contexts for the generator: passages and triplets of the graph."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from harness.core.records import Context, Places, Step, Triplet
from harness.extraction.entity_names import entity_id
from harness.protocols import Runtime, Vectors
from systems.common.graph_index import GraphIndex
from systems.common.graph_search.params import GraphSearchParams
from systems.common.graph_search.passage_search import passages_mentioning, passages_of_graph
from systems.common.graph_search.question_entities import entities_named, question_names
from systems.common.graph_stores.contract import EntityHit, StoredTriplet
from systems.common.search import KEPT, FoundPassages, best_passages, check_generator, fuse, open_reranker
from systems.common.sentence_search import StatedTriplet

_ARROW = "({})-[{}]->({})"
_NEIGHBOURS = 200
"""Maximum triplets of the question's entities, best first, that are followed in a second hop."""


@dataclass(frozen=True)
class Found:
    names: Sequence[str]
    entities: Sequence[EntityHit]
    passages: Sequence[Context]
    triplets: Sequence[Context]
    ranking: Places | None
    """The ranking of passages, including those below the contexts."""
    triplets_first: bool = False

    @property
    def contexts(self) -> tuple[Context, ...]:
        """In the order in which the generator sees them."""
        parts = (self.triplets, self.passages) if self.triplets_first else (self.passages, self.triplets)
        return (*parts[0], *parts[1])

    @property
    def trace(self) -> tuple[Step, ...]:
        entities = "; ".join(f"{hit.name} ({hit.degree} relations)" for hit in self.entities)
        return (
            Step(name="names", content="; ".join(self.names) or "none: the whole question was searched for"),
            Step(name="entities", content=entities or "none found"),
            Step(name="triplets", content=f"{len(self.triplets)} kept"),
        )


class GraphRetrieval:
    """Searches one stored index; call `open` first."""

    def __init__(self, params: GraphSearchParams, runtime: Runtime, graph: GraphIndex) -> None:
        self._params = params
        self._runtime = runtime
        self._graph = graph
        self._publishers: frozenset[str] = frozenset()
        self._chunks = 0

    async def open(self, statements: bool = False) -> None:
        """Open the parts of the graph that these parameters need; `statements`: also the sentences, for other
        uses.
        """
        params = self._params
        check_generator(self._runtime, "answer.names_by", params.names_by, "graph")
        by_words = params.finds_passages and params.search != "dense"
        await self._graph.open(words=by_words, statements=statements or params.rank == "meaning")
        if params.finds_passages:
            open_reranker(self._runtime, params)
        self._publishers = frozenset(map(entity_id, await self._graph.store.publishers())) - {""}
        self._chunks = (await self._graph.store.size()).chunks

    async def find(self, question: str) -> Found:
        """Entities, then triplets, then passages."""
        vector = await self._embedded(question)
        names, entities = await self._entities(question)
        with self._runtime.stage("graph"):
            candidates = await self._candidates(question, entities)
            statements = await self._statements(vector, candidates)
        passages, ranking = await self._passages(question, vector, entities, candidates, statements)
        triplets = self._shown(candidates, statements, passages)
        return Found(names, entities, passages, triplets, ranking, self._params.prompts == "thesis")

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
                hits = await entities_named(store, question, self._publishers, per_name)
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

    async def _statements(
        self, vector: Vectors | None, candidates: Sequence[StoredTriplet]
    ) -> list[StatedTriplet]:
        if self._params.rank != "meaning" or vector is None:
            return []
        # Sentences that are in a passage are dropped later, at most one passage's worth per passage.
        wanted = self._params.max_triplets + 20 * self._params.top_k
        return await asyncio.to_thread(self._graph.statements.rank, vector, candidates, wanted)

    async def _passages(
        self,
        question: str,
        vector: Vectors | None,
        entities: Sequence[EntityHit],
        candidates: Sequence[StoredTriplet],
        statements: Sequence[StatedTriplet],
    ) -> FoundPassages:
        params = self._params
        if params.mode == "triplets":
            return FoundPassages([], None)
        if params.mode == "triplets+text":
            return FoundPassages.of(await self._stating(candidates, statements), params.top_k)
        found = await self._searched(question, vector, entities)
        return await best_passages(self._runtime, params, question, found, params.top_k)

    async def _stating(
        self, candidates: Sequence[StoredTriplet], statements: Sequence[StatedTriplet]
    ) -> list[Context]:
        """The passages that state the shown triplets, and more as needed for the ranking."""
        most = self._params.max_triplets
        stating = [each.sentence.chunk_id for each in statements[:most]]
        if self._params.rank != "meaning":
            stating = [chunk_id for triplet in candidates[:most] for chunk_id in triplet.chunk_ids]
        with self._runtime.stage("retrieve"):
            return await self._graph.store.chunks(list(dict.fromkeys(stating))[: max(KEPT, self._params.top_k)])

    async def _searched(
        self, question: str, vector: Vectors | None, entities: Sequence[EntityHit]
    ) -> list[Context]:
        """The passages found by search: enough for the ranking and the reranker."""
        params, store = self._params, self._graph.store
        wanted = params.depth(params.top_k)
        depth = max(wanted, params.fetch_k) if params.fuses_mentions else wanted

        found = await passages_of_graph(params, self._runtime, self._graph, question, depth, vector)
        if not params.fuses_mentions:
            return found
        with self._runtime.stage("graph"):
            ids = [hit.entity_id for hit in entities]
            mentioning = await passages_mentioning(store, ids, found, self._chunks, depth)
        return fuse([found, mentioning], wanted)

    def _shown(
        self, candidates: Sequence[StoredTriplet], statements: Sequence[StatedTriplet], passages: Sequence[Context]
    ) -> list[Context]:
        """The triplets as the generator sees them, without sentences that are already in a passage."""
        most = self._params.max_triplets
        if self._params.rank != "meaning":
            form = "({}, {}, {})" if self._params.rank == "none" else _ARROW
            return [self._as_context(triplet, form) for triplet in candidates[:most]]
        texts = [(set(passage.doc_ids), passage.text) for passage in passages]
        fresh = (
            each
            for each in statements
            if not any(each.sentence.doc_id in docs and each.sentence.text in text for docs, text in texts)
        )
        return [self._with_sentence(each) for each in islice(fresh, most)]

    def _as_context(self, triplet: StoredTriplet, form: str = _ARROW) -> Context:
        stated = Triplet(triplet.head, triplet.relation, triplet.tail)
        dates = self._graph.dates_of(triplet)
        text = f"{form.format(*stated)} ({'; '.join(dates)})" if dates else form.format(*stated)
        return Context(text=text, doc_ids=triplet.doc_ids, kind="triplet", triplets=(stated,))

    def _with_sentence(self, statement: StatedTriplet) -> Context:
        bare, sentence = self._as_context(statement.triplet), statement.sentence
        return bare.model_copy(update={"text": f"{bare.text}: {sentence.searched}", "doc_ids": (sentence.doc_id,)})


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
