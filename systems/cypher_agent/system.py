"""The Cypher agent: the model queries the graph; if that returns nothing, passages are searched."""

from collections.abc import Sequence

from harness.core.errors import ConfigError
from harness.core.hashing import file_digest
from harness.core.records import Context, Document, Expected, IndexStats, Prediction, Query, Step
from harness.llm_utils.answer_contract import ABSTENTION
from harness.protocols import EMBEDS, Role, Runtime, Workload
from systems.common.answers import Found, answer_by
from systems.common.expected_calls import answer_call, expected_call, filler, passages_of, search, typical_question
from systems.common.graph_index import (
    check_graph,
    check_store,
    roles_of,
    weights_of,
)
from systems.common.graph_stores.neo4j_server import check_limits
from systems.common.graph_system import expected_graph, graph_system_spec
from systems.common.headings import day_of
from systems.common.passages import PassageParams, check_passages
from systems.common.search_memory import LONGEST_OBSERVATION
from systems.cypher_agent.agent_graph import open_graph
from systems.cypher_agent.graph_query import STATEMENT_TOKENS, Way, ask_graph, cypher_messages, repair_messages
from systems.cypher_agent.graph_schema import DOCUMENTS
from systems.cypher_agent.params import AgentIndexParams, AnswerParams
from systems.cypher_agent.react import DECISION_TOKENS, ReactAgent, agent_messages
from systems.cypher_agent.schema_file import read_schema, schema_path
from systems.cypher_agent.statement_check import check_parser

_STATEMENT = "x" * 200
_PUBLISHERS = ["x" * 15] * 10


def expect(index: AgentIndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound: all repairs are used, then passages or the maximum of rows; or all
    rounds of the agent, each with a statement.
    """
    passages = passages_of(workload.corpus, index)
    if index.schema is None:
        schema, (graph, notes) = DOCUMENTS, expected_graph(index, passages)
    else:
        (_, schema), graph, notes = read_schema(index.schema), passages.embedding(index.headings is True), ()
    question = typical_question(workload.queries)
    first = cypher_messages(question, () if index.schema else _PUBLISHERS, schema)
    prompts = [first, *[repair_messages(first, _STATEMENT, _STATEMENT)] * answer.repairs]
    asked = [expected_call(prompt, STATEMENT_TOKENS) for prompt in prompts]
    found = passages.retrieved(answer.top_k)
    rows = filler(answer.rows, answer.row_characters)
    longest = max(found, rows, key=lambda contexts: sum(len(context.text) for context in contexts))
    most = f"{answer.repairs} repairs and {answer.rows} full rows for every query"
    if answer.agent == "react":
        observed = ["x" * min(sum(len(one.text) for one in longest), LONGEST_OBSERVATION)]
        decisions = [agent_messages(schema.about, question, observed * number) for number in range(answer.rounds)]
        asked = asked * answer.rounds + [expected_call(prompt, DECISION_TOKENS) for prompt in decisions]
        most = f"{answer.rounds} rounds with {most}"
    calls = [*asked, answer_call(workload, longest, answer.prompts)]
    query = search(workload, calls, searches=int(answer.is_dense))
    return Expected(index=graph, query=query, most=most, notes=notes)


class CypherAgentSystem:
    def __init__(self, index: AgentIndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime
        self._graph = open_graph(index, answer, runtime)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        return await self._graph.build(corpus)

    async def load(self) -> None:
        """Open the stored graph, load the parser, and start the query process."""
        check_parser()
        await self._graph.open()

    async def answer(self, query: Query) -> Prediction:
        """Query the graph, otherwise search; answer from the contexts, or abstain without any."""
        chat = self._runtime.chat
        if chat is not None and self._params.agent == "react":
            answer, memory = await ReactAgent(self._params, self._runtime, self._graph).answer(chat, query.text)
            found = memory.found
        else:
            found = await self._find(query.text)
            answer = ABSTENTION if chat else None
            if found.contexts:
                answer = await answer_by(self._runtime, self._params.prompts, query.text, found.contexts)
        sources = await self._sources(found.contexts)
        return found._replace(trace=(*found.trace, sources)).prediction(answer)

    async def _find(self, question: str) -> Found:
        trace: tuple[Step, ...] = ()
        if self._runtime.chat is not None:
            asked = cypher_messages(question, self._graph.publishers, self._graph.schema)
            attempts = await ask_graph(self._params, self._runtime, self._runtime.chat, self._graph, asked)
            trace = tuple(attempt.as_step for attempt in attempts)
            if rows := attempts[-1].rows:
                return Found(rows, trace=(*trace, _way("cypher" if len(attempts) == 1 else "repair")))
        found = await self._graph.find(question)
        return found._replace(trace=(*trace, _way("fallback" if found.contexts else "not found")))

    async def _sources(self, contexts: Sequence[Context]) -> Step:
        """The documents behind the answer, in the order of its contexts, with their publication dates."""
        doc_ids = list(dict.fromkeys(doc_id for context in contexts for doc_id in context.doc_ids))
        with self._runtime.stage("sources"):
            published = (await self._graph.sources(doc_ids, ())).published
        named = (f"{one} ({day_of(said)})" if (said := published.get(one)) else one for one in doc_ids)
        return Step(name="sources", content="; ".join(named) or "none")

    def close(self) -> None:
        self._graph.close()


def _way(way: Way) -> Step:
    return Step(name="way", content=way)


def _check(index: AgentIndexParams, answer: AnswerParams) -> None:
    check_parser()
    if index.schema is not None:
        if index.store != "ladybug":
            raise ConfigError(
                f"a graph of index.schema is stored in ladybug only, not in {index.store}", "leave index.store out"
            )
        read_schema(index.schema)
        check_store(index.store)
        check_passages(PassageParams(), answer)
        return
    check_graph(index, answer)
    if index.store == "neo4j" and not answer.trust_server:
        check_limits()


def _index_roles(index: AgentIndexParams) -> frozenset[Role]:
    return EMBEDS if index.schema is not None else roles_of(index)


def _weights(index: AgentIndexParams) -> dict[str, str]:
    """The digest of the schema, which is part of the index's identity."""
    if index.schema is None:
        return weights_of(index)
    read_schema(index.schema)
    return {"schema": file_digest(schema_path(index.schema))}


SPEC = graph_system_spec(
    name="cypher-agent",
    version="4",
    summary="the model queries a graph in Cypher, read-only, with one repair; otherwise the top k passages",
    also_called=("text2cypher", "text-to-cypher", "cypher", "neo4j"),
    index_params=AgentIndexParams,
    answer_params=AnswerParams,
    build=CypherAgentSystem,
    index_roles=_index_roles,
    weights=_weights,
    preflight=_check,
    expect=expect,
)
