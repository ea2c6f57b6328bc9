"""Agentic RAG: the model searches as often as it wants, within a bound, then answers once from all passages."""

from harness.core.records import Prediction, Query
from harness.protocols import ChatModel, ToolModel
from systems.agentic.expected_calls import expect
from systems.agentic.params import AnswerParams
from systems.common.agent_memory import AgentMemory, observation_of
from systems.common.passage_system import PassageSystem, passage_system_spec
from systems.common.passages import PassageParams
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
from systems.common.prompts.thesis import answer_by
from systems.common.search import place_of


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
        answer = await answer_by(self._runtime, self._params.prompts, query.text, contexts)
        return Prediction(answer=answer, contexts=contexts, trace=tuple(memory.trace), retrieved=memory.ranking)

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
        found = await self._passages.search(decision.query, self._params.k_per_round)
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
