"""The agent that reasons and acts: in each round the model chooses a tool, until it answers (RAG-Eval, Akindele et
al. 2025, section 4.2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.core.records import Context, Places, Step
from harness.llm_utils.answer_contract import ABSTENTION
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import ChatModel, Runtime
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

LONGEST_OBSERVATION = 12_000
"""Characters."""


@dataclass
class Acting:
    """One question, with what the agent has found and done so far."""

    contexts: dict[str, Context] = field(default_factory=dict)
    """By text, in the order of retrieval."""
    trace: list[Step] = field(default_factory=list)
    scratchpad: list[str] = field(default_factory=list)
    ranking: Places | None = None

    def observe(self, decision: Decision | None, reply: str, observation: str) -> None:
        """Note the result of a round."""
        self.scratchpad += [turn_of(decision) if decision else reply.strip()[:500], f"Observation: {observation}"]


class ReactAgent:
    """Answers questions about a graph in at most `params.rounds` rounds."""

    def __init__(self, params: AnswerParams, runtime: Runtime, graph: AgentGraph) -> None:
        self._params, self._runtime, self._graph = params, runtime, graph

    async def answer(self, chat: ChatModel, question: str) -> tuple[str | None, Acting]:
        """The agent's own answer, or the reply of general chat; after the last round the answer of the shared
        prompt from what was found, and without any context an abstention.

        Raises Unreadable if no reply could be read: an abstention would count as correct on an unanswerable
        question.
        """
        acting, unread = Acting(), 0
        for _ in range(self._params.rounds):
            with self._runtime.stage("decide"):
                asked = agent_messages(self._graph.schema.about, question, acting.scratchpad)
                reply = await chat.complete(asked, max_tokens=MAX_TOKENS)
            decision = decision_in(reply)
            acting.trace.append(Step(name="agent", content=_shown(decision, reply)))
            if decision is None:
                unread += 1
                acting.observe(None, reply, UNREADABLE)
            elif decision.tool is None:
                return decision.said, acting
            elif decision.tool == "chat":
                with self._runtime.stage("chat"):
                    said = await chat.complete(chat_messages(self._graph.schema.about, decision.said or question))
                return said.strip(), acting
            else:
                acting.observe(decision, reply, await self._observation(chat, decision, question, acting))
        if unread == self._params.rounds:
            raise Unreadable(
                f"none of {unread} replies is an action or a final answer, the last: {reply.strip()[:80]!r}"
            )
        contexts = tuple(acting.contexts.values())
        if not contexts:
            return ABSTENTION, acting
        return await answer_by(self._runtime, self._params.prompts, question, contexts), acting

    async def _observation(self, chat: ChatModel, decision: Decision, question: str, acting: Acting) -> str:
        asked = decision.said or question
        if decision.tool == "graph":
            prompt = cypher_messages(asked, self._graph.publishers, self._graph.schema)
            attempts = await ask_graph(self._params, self._runtime, chat, self._graph, prompt)
            acting.trace += [attempt.as_step for attempt in attempts]
            found: Sequence[Context] = attempts[-1].rows
            nothing = attempts[-1].trouble
        else:
            passages = await self._graph.find(asked)
            acting.ranking = passages.ranking
            found, nothing = passages.contexts, "nothing was found"
        acting.contexts |= {one.text: one for one in found if one.text not in acting.contexts}
        lines = (f"({', '.join(one.doc_ids)}) {one.text}" for one in found)
        return "\n".join(lines)[:LONGEST_OBSERVATION] or nothing


def _shown(decision: Decision | None, reply: str) -> str:
    if decision is None:
        return f"not readable: {reply.strip()[:200]}"
    return f"{decision.tool}: {decision.said[:500]}" if decision.tool else "answers"
