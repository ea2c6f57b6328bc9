"""HippoRAG: a walk over the graph from the question's entities, and the passages that it reaches."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from harness.core.records import Context, Document, Expected, IndexStats, Prediction, Query, Step
from harness.extraction.entity_names import entity_id
from harness.protocols import EMBEDS, GENERATES, Runtime, Workload
from systems.common.answers import predict
from systems.common.expected_calls import also_embedding, answer_call, passages_of, search
from systems.common.graph_index import GraphIndexParams, check_graph
from systems.common.graph_system import GraphSystem, expected_graph, graph_system_spec, names_calls
from systems.common.knowledge_graph import KnowledgeGraph
from systems.common.question_entities import question_names
from systems.common.search import TopKParams, check_generator
from systems.hipporag.entity_graph import EntityGraph


class IndexParams(GraphIndexParams):
    """Index parameters: those of kg's graph, and its synonyms."""

    statements: bool = False
    """As in kg; the walk does not read sentences, so none are embedded."""
    synonym_threshold: float = Field(0.8, gt=0, le=1)
    """Lowest cosine of two names that are joined as synonyms."""


class AnswerParams(TopKParams):
    """Parameters that do not change the index. `search` is used for questions without a name."""

    names_by: Literal["rules", "model"] = "rules"
    """How names in the question are found: `rules`: quotation marks and capitals; `model`: one more model call."""
    link_from: float = Field(0.6, ge=-1, le=1)
    """Lowest cosine of a name in the question and its entity; -1: any, as in the paper."""
    damping: float = Field(0.5, gt=0, lt=1)
    """Probability that the walk follows an edge instead of starting again at the question's entities."""


_ENTITIES, _NAME_CHARACTERS = 5, 13
"""New entities of a passage, and characters of a name. Seen with the parser: 3.6 (demo) and 5.5 (MultiHop-RAG)."""
_NAMES = 5
"""Names in a question. Seen: 4.3 in the demo, 5.2 in MultiHop-RAG."""


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls of the generator; embedded names are an assumption."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    entities = _ENTITIES * passages.count
    last = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    return Expected(
        index=also_embedding(graph, entities, _NAME_CHARACTERS),
        query=search(workload, [*names_calls(answer.names_by, workload), last], searches=_NAMES),
        notes=(*notes, f"every passage is taken to name {_ENTITIES} new entities, and a question {_NAMES}"),
    )


_FOLDER = "walk"
_SHOWN = 8
"""Entities that a trace shows, the most probable first."""


class HippoRagSystem(GraphSystem[AnswerParams]):
    _entities: EntityGraph
    """Known from `load` on."""

    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        self._threshold = index.synonym_threshold

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Build kg's graph, embed the names of its entities and join synonyms."""
        return await self._graph.build(corpus, also=self._store_entities)

    async def _store_entities(self, graph: KnowledgeGraph) -> None:
        with self._runtime.stage("embed"):
            vectors = await self._runtime.embedder.embed_documents([entity.name for entity in graph.entities])
        with self._runtime.stage("store"):
            EntityGraph.of(graph, vectors, self._threshold).save(self._runtime.index_dir / _FOLDER)

    async def load(self) -> None:
        """Open the stored graph, and read the part of it that is walked."""
        check_generator(self._runtime, "answer.names_by", self._params.names_by, "rules")
        await super().load()
        self._entities = EntityGraph.open(self._runtime.index_dir / _FOLDER)

    async def answer(self, query: Query) -> Prediction:
        """Walk from the question's entities, take the passages that it reaches most often, generate once. Without
        an entity, search the passages.
        """
        params, runtime = self._params, self._runtime
        listed = await question_names(runtime, params.names_by, query.text)
        names = [name for name in listed if entity_id(name) not in self._graph.publisher_ids]
        trace = [Step(name="names", content="; ".join(names) or "none")]
        depth = params.depth(params.top_k)
        ranked = await self._walk(names, depth, trace) if names and self._entities.names else []
        if not ranked:
            trace.append(Step(name="search", content="no entity: the passages of a search"))
            ranked = await self._graph.passages.ranked(query.text, depth)
        found = await self._graph.passages.best(query.text, ranked, params.top_k)
        return await predict(runtime, params, query.text, found._replace(trace=tuple(trace)))

    async def _walk(self, names: Sequence[str], depth: int, trace: list[Step]) -> list[Context]:
        graph = self._entities
        with self._runtime.stage("embed_query"):
            vectors = await asyncio.gather(*map(self._runtime.embedder.embed_query, names))
        with self._runtime.stage("walk"):
            nearest = zip(names, map(graph.nearest, vectors), strict=True)
            linked = [(name, *found) for name, found in nearest if found[1] >= self._params.link_from]
        if not linked:
            return []
        with self._runtime.stage("walk"):
            # Node specificity: an entity of many passages says little about any of them.
            seeds = {number: 1 / graph.passage_counts[number] for _, number, _ in linked}
            probable = await asyncio.to_thread(graph.walk, seeds, self._params.damping)
            scores = graph.passages(probable, depth)
        with self._runtime.stage("retrieve"):
            passages = await self._graph.store.chunks(list(scores))
        lines = (
            f"{name} -> {graph.names[number]} (cosine {cosine:.2f}, passages: {graph.passage_counts[number]})"
            for name, number, cosine in linked
        )
        trace.append(Step(name="linked", content="\n".join(lines)))
        most = [number for number in np.argsort(-probable, kind="stable")[:_SHOWN] if probable[number] > 0]
        reached = (f"{graph.names[number]} {probable[number]:.3f}" for number in most)
        trace.append(Step(name="walk", content="; ".join(reached)))
        return [
            passage.model_copy(update={"score": score})
            for passage, score in zip(passages, scores.values(), strict=True)
        ]


SPEC = graph_system_spec(
    name="hipporag",
    version="1",
    summary="a random walk over the knowledge graph from the question's entities ranks the top k passages",
    index_params=IndexParams,
    index_kind="",  # an index of its own
    answer_params=AnswerParams,
    build=HippoRagSystem,
    answer_roles=EMBEDS | GENERATES,
    preflight=check_graph,
    expect=expect,
)
