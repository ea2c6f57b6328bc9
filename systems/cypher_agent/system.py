"""The Cypher agent: the model queries the graph; if that returns nothing, passages are searched."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from harness.core.records import Context, Document, IndexStats, Places, Prediction, Query, Step
from harness.llm_utils.answer_contract import ABSTENTION
from harness.protocols import GENERATES, Runtime, SystemSpec
from systems.common.cypher.statement_check import check_parser, read_statement
from systems.common.graph_index import (
    INDEX_KIND,
    GraphIndex,
    GraphIndexParams,
    check_graph,
    graph_servers,
    roles_of,
    weights_of,
)
from systems.common.graph_search.passage_search import passages_of_graph
from systems.common.graph_stores.contract import AskFailed
from systems.common.graph_stores.open_store import check_limited_statements
from systems.common.headings import day_of
from systems.common.prompts.cypher import cypher_messages
from systems.common.prompts.thesis import answer_by
from systems.common.reranking import best_passages, open_reranker
from systems.cypher_agent.expected_calls import expect
from systems.cypher_agent.graph_query import Way, ask_graph
from systems.cypher_agent.params import AnswerParams

_FIRST = "MATCH (d:Document) RETURN d.doc_id"


@dataclass(frozen=True)
class _Retrieved:
    """The contexts for the generator, and how they were found."""

    way: Way
    contexts: tuple[Context, ...]
    trace: tuple[Step, ...]
    ranking: Places | None = None


class CypherAgentSystem:
    """See `harness.protocols.System`."""

    def __init__(self, index: GraphIndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = GraphIndex(index, runtime)
        self._publishers: list[str] = []

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract, assemble, embed and store."""
        return await self._graph.build(corpus)

    async def load(self) -> None:
        """Open the stored graph, load the parser, and start the query process."""
        check_parser()
        await self._graph.open(words=self._params.search != "dense")
        with suppress(AskFailed):
            await self._graph.store.ask(read_statement(_FIRST, 1), self._params.limit_s)
        self._publishers = await self._graph.store.publishers()
        open_reranker(self._runtime, self._params)

    async def answer(self, query: Query) -> Prediction:
        """Query the graph, otherwise search; answer from the contexts, or abstain without any."""
        found = await self._find(query.text)
        if found.contexts:
            answer = await answer_by(self._runtime, self._params.prompts, query.text, found.contexts)
        else:
            answer = ABSTENTION if self._runtime.chat else None
        trace = (*found.trace, Step(name="way", content=found.way), await self._sources(found.contexts))
        return Prediction(answer=answer, contexts=found.contexts, trace=trace, retrieved=found.ranking)

    async def _find(self, question: str) -> _Retrieved:
        trace: tuple[Step, ...] = ()
        if self._runtime.chat is not None:
            asked = cypher_messages(question, self._publishers)
            attempts = await ask_graph(self._params, self._runtime, self._runtime.chat, self._graph.store, asked)
            trace = tuple(attempt.as_step for attempt in attempts)
            if rows := attempts[-1].rows:
                return _Retrieved("cypher" if len(attempts) == 1 else "repair", rows, trace)
        return await self._search(question, trace)

    async def _search(self, question: str, trace: tuple[Step, ...]) -> _Retrieved:
        params, runtime = self._params, self._runtime
        depth = params.depth(params.top_k)
        ranked = await passages_of_graph(params, runtime, self._graph, question, depth)
        found = await best_passages(runtime, params, question, ranked, params.top_k)
        way: Way = "fallback" if found.contexts else "not found"
        return _Retrieved(way, tuple(found.contexts), trace, found.ranking)

    async def _sources(self, contexts: Sequence[Context]) -> Step:
        """The documents behind the answer, in the order of its contexts, with their publication dates."""
        doc_ids = list(dict.fromkeys(doc_id for context in contexts for doc_id in context.doc_ids))
        with self._runtime.stage("sources"):
            published = (await self._graph.store.sources(doc_ids, ())).published
        named = (f"{one} ({day_of(said)})" if (said := published.get(one)) else one for one in doc_ids)
        return Step(name="sources", content="; ".join(named) or "none")

    def close(self) -> None:
        """Release the store."""
        self._graph.close()


def _check(index: GraphIndexParams, answer: AnswerParams) -> None:
    check_graph(index, answer)
    check_parser()
    if not answer.trust_server:
        check_limited_statements(index.store)


SPEC = SystemSpec(
    name="cypher-agent",
    version="3",
    summary="the model queries the graph in Cypher, read-only, with one repair; otherwise the top k passages",
    index_params=GraphIndexParams,
    answer_params=AnswerParams,
    build=CypherAgentSystem,
    index_kind=INDEX_KIND,
    index_roles=roles_of,
    answer_roles=lambda _, answer: answer.search_roles | GENERATES,
    weights=weights_of,
    reranker=lambda answer: answer.rerank,
    servers=graph_servers,
    preflight=_check,
    expect=expect,
)
