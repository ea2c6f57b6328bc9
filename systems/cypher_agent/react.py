"""The agent that reasons and acts: in each round the model chooses a tool, until it answers (RAG-Eval, Akindele et
al. 2025, section 4.2.3).
"""

from collections.abc import Sequence

from harness.core.records import Context
from harness.llm_utils.answer_contract import ABSTENTION
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import ChatModel, Runtime
from systems.common.agent_memory import AgentMemory, observation_of
from systems.common.prompts.agent import (
    MAX_TOKENS,
    UNREADABLE,
    Decision,
    agent_messages,
    chat_messages,
    decision_in,
    turn_of,
)
from systems.common.prompts.cypher import cypher_messages
from systems.common.prompts.thesis import answer_by
from systems.cypher_agent.agent_graph import AgentGraph
from systems.cypher_agent.graph_query import ask_graph
from systems.cypher_agent.params import AnswerParams


class ReactAgent:
    """Answers questions about a graph in at most `params.rounds` rounds."""

    def __init__(self, params: AnswerParams, runtime: Runtime, graph: AgentGraph) -> None:
        self._params, self._runtime, self._graph = params, runtime, graph

    async def answer(self, chat: ChatModel, question: str) -> tuple[str | None, AgentMemory]:
        """The agent's own answer, or the reply of general chat; after the last round the answer of the shared
        prompt from what was found, and without any context an abstention.

        Raises Unreadable if no reply could be read: an abstention would count as correct on an unanswerable
        question.
        """
        memory, unread = AgentMemory(), 0
        for _ in range(self._params.rounds):
            with self._runtime.stage("decide"):
                asked = agent_messages(self._graph.schema.about, question, memory.scratchpad)
                reply = await chat.complete(asked, max_tokens=MAX_TOKENS)
            decision = decision_in(reply)
            memory.note("agent", _shown(decision, reply))
            if decision is None:
                unread += 1
                memory.observe(reply.strip()[:500], UNREADABLE)
            elif decision.tool is None:
                return decision.said, memory
            elif decision.tool == "chat":
                with self._runtime.stage("chat"):
                    said = await chat.complete(chat_messages(self._graph.schema.about, decision.said or question))
                return said.strip(), memory
            else:
                memory.observe(turn_of(decision), await self._observation(chat, decision, question, memory))
        if unread == self._params.rounds:
            raise Unreadable(
                f"none of {unread} replies is an action or a final answer, the last: {reply.strip()[:80]!r}"
            )
        contexts = tuple(memory.contexts.values())
        if not contexts:
            return ABSTENTION, memory
        return await answer_by(self._runtime, self._params.prompts, question, contexts), memory

    async def _observation(self, chat: ChatModel, decision: Decision, question: str, memory: AgentMemory) -> str:
        asked = decision.said or question
        if decision.tool == "graph":
            prompt = cypher_messages(asked, self._graph.publishers, self._graph.schema)
            attempts = await ask_graph(self._params, self._runtime, chat, self._graph, prompt)
            memory.trace += [attempt.as_step for attempt in attempts]
            found: Sequence[Context] = attempts[-1].rows
            nothing = attempts[-1].trouble
        else:
            passages = await self._graph.find(asked)
            memory.ranking = passages.ranking
            found, nothing = passages.contexts, "nothing was found"
        memory.add(found)
        return observation_of(found, nothing)


def _shown(decision: Decision | None, reply: str) -> str:
    if decision is None:
        return f"not readable: {reply.strip()[:200]}"
    return f"{decision.tool}: {decision.said[:500]}" if decision.tool else "answers"
