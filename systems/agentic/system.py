"""Agentic RAG: the model searches as often as it wants, within a bound, then answers once from all passages."""

from pydantic import Field

from harness.core.records import Expected, ExpectedCalls, Prediction, Query
from harness.protocols import ChatModel, ToolModel, Workload
from systems.common.agent_memory import LONGEST_OBSERVATION, AgentMemory, observation_of
from systems.common.expected_calls import answer_call, characters_of, passages_of, search, typical_question
from systems.common.passages import PassageParams, PassageSystem, expected_index, passage_system_spec
from systems.common.prompts.search_decision import (
    MAX_TOKENS,
    NOTHING_NEW,
    REPEATED,
    Decision,
    decision_in,
    decision_messages,
    decision_of,
    decision_schema,
    decision_tools,
)
from systems.common.prompts.thesis import predict
from systems.common.search import SearchParams, place_of


class AnswerParams(SearchParams):
    max_steps: int = Field(4, ge=1, le=20)
    """Maximum decisions of the model per query, each a search or the end; the answer is written after them."""
    k_per_round: int = Field(5, ge=1, le=100)
    """Passages per search, including earlier ones. Not `top_k`, which would also set naive's."""


def expect(index: PassageParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound: the model may answer earlier, or repeat a search."""
    passages, question = passages_of(workload.corpus, index), typical_question(workload.queries)
    found = sum(len(one.text) for one in passages.retrieved(answer.k_per_round))
    observed = "x" * (len(question) + min(found, LONGEST_OBSERVATION))
    steps = range(answer.max_steps)
    decisions = [characters_of(decision_messages(question, [observed] * number)) for number in steps]
    deciding = ExpectedCalls(
        calls=len(decisions),
        input_characters=sum(decisions) / len(decisions),
        output_tokens_most=MAX_TOKENS,
    )
    last = answer_call(workload, passages.retrieved(len(decisions) * answer.k_per_round), answer.prompts)
    return Expected(
        index=expected_index(passages, index),
        query=search(workload, [deciding, last], searches=answer.max_steps * answer.is_dense),
        most=f"{answer.max_steps} searches, all with new passages only",
    )


class AgenticSystem(PassageSystem[PassageParams, AnswerParams]):
    async def answer(self, query: Query) -> Prediction:
        """Let the model search, then generate once from all passages. Without a generator, search for the question
        alone.
        """
        memory = AgentMemory()
        if self._runtime.chat is None:
            await self._search(Decision(query.text), memory)
            memory.note("stop", "no generator")
        else:
            memory.note("stop", await self._act(self._runtime.chat, query.text, memory))
        contexts = tuple(memory.contexts.values())
        return await predict(self._runtime, self._params, query.text, contexts, memory.trace, memory.ranking)

    async def _act(self, chat: ChatModel, question: str, memory: AgentMemory) -> str:
        """Fill `memory`; returns why the model stopped. The first step always searches: for the question itself if
        the model names no query.
        """
        searched: set[str] = set()
        repeats = 0
        for _ in range(self._params.max_steps):
            decision, reply = await self._decide(chat, question, memory)
            if searched and decision is None:
                return f"no decision in the reply: {reply[:200]}"
            if searched and decision is not None and not decision.query:
                return "the model has enough"
            if decision is None or not decision.query:
                memory.note("no query", reply[:200])
                decision = Decision(question)
            if decision.key in searched:
                memory.note("repeated", decision.query)
                memory.observe(decision.turn, REPEATED)
                repeats += 1
                if repeats == 2:
                    return "the model repeats its searches"
                continue
            searched.add(decision.key)
            await self._search(decision, memory)
        return f"the bound of {self._params.max_steps} steps; the answer is from what was found until then"

    async def _decide(self, chat: ChatModel, question: str, memory: AgentMemory) -> tuple[Decision | None, str]:
        done, may_answer = memory.scratchpad, bool(memory.scratchpad)
        with self._runtime.stage("decide"):
            if isinstance(chat, ToolModel) and chat.calls_tools:
                asked, tools = decision_messages(question, done, by_tools=True), decision_tools(may_answer)
                try:
                    call = await chat.call(asked, tools, max_tokens=MAX_TOKENS)
                except ValueError as error:
                    return None, str(error)
                return decision_of(call), str(call.arguments)
            asked, schema = decision_messages(question, done), decision_schema(may_answer)
            reply = await chat.complete(asked, max_tokens=MAX_TOKENS, json_schema=schema)
        return decision_in(reply), reply.strip()

    async def _search(self, decision: Decision, memory: AgentMemory) -> None:
        found = await self._passages.find(decision.query, self._params.k_per_round)
        if memory.ranking is None:
            memory.ranking = found.ranking
        new = memory.add(found.contexts)
        memory.observe(decision.turn, observation_of(new, NOTHING_NEW))
        memory.note("search", "\n".join([decision.query, *(f"+ {place_of(context)}" for context in new)]))


SPEC = passage_system_spec(
    name="agentic",
    version="1",
    summary="the model searches with its own queries, as often as it wants within a bound, generate once",
    answer_params=AnswerParams,
    build=AgenticSystem,
    expect=expect,
)
