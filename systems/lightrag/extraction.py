"""Answers LightRAG's model requests during an insert: entities and relations, and summaries of descriptions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.extraction.entity_names import one_line
from harness.llm_utils.structured_output import parse_object
from harness.protocols import ChatModel, Message
from systems.common.safe_model_calls import Guard
from systems.lightrag import library
from systems.lightrag.params import GRAPH_SCHEMA, IndexParams

_DELIMITER, _END = "<|#|>", "<|COMPLETE|>"
"""A text reply without either is prose. Only the second means that there is nothing to extract."""


class Extraction:
    """Replies to the library's requests. No exception passes through, because the library would drop the whole
    document.
    """

    def __init__(self, chat: ChatModel, params: IndexParams) -> None:
        self._chat = chat
        self._params = params
        self._guard = Guard()
        self._asked: set[str] = set()
        self._failed: set[str] = set()
        self._unread = ""
        self.failed_summaries = 0
        self.unfinished_replies = 0
        """Number of truncated or broken replies; the library uses the readable part."""
        self.progress: Callable[[int], None] = lambda _done: None
        """Called with the number of chunks sent."""

    @property
    def failed_chunks(self) -> int:
        """Chunks whose reply had no list of records, or failed."""
        return len(self._failed)

    @property
    def first_failure(self) -> str:
        """The reason; empty if none failed."""
        return self._guard.first_failure or self._unread

    def check(self) -> None:
        """Raise an error after which no call can succeed."""
        self._guard.check()

    async def ask(self, prompt: str, given: Mapping[str, Any]) -> str:
        """The reply to one of the library's prompts; only extraction prompts have a system prompt."""
        system, history = given.get("system_prompt"), given.get("history_messages") or []
        if not system:
            return await self._summarise(prompt)
        turns = [Message("user" if turn["role"] == "user" else "assistant", turn["content"]) for turn in history]
        first = turns[0].content if turns else prompt
        if first in self._failed:
            return ""
        reply = await self._complete([Message("system", system), *turns, Message("user", prompt)], is_graph=True)
        if not turns:
            self._asked.add(first)
            self.progress(len(self._asked))
            if not self._is_graph(reply):
                self._failed.add(first)
                return ""
        return reply

    async def _summarise(self, prompt: str) -> str:
        reply = await self._complete([Message("user", prompt)])
        self.failed_summaries += not reply.strip()
        return reply

    async def _complete(self, messages: Sequence[Message], is_graph: bool = False) -> str:
        schema = GRAPH_SCHEMA if is_graph and self._params.extraction == "json" else None
        most = self._params.reply_tokens
        reply = await self._guard.run(lambda: self._chat.complete(messages, max_tokens=most, json_schema=schema))
        # Some characters are invalid in GraphML.
        return "\n".join(one_line(line) for line in (reply or "").split("\n"))

    def _is_graph(self, reply: str) -> bool:
        as_text = self._params.extraction == "text"
        read = _has_records(reply) if as_text else "entities" in library.read_json(reply)
        if read:
            self.unfinished_replies += not (_END in reply if as_text else _is_object(reply))
        elif reply:
            self._unread = self._unread or "a reply that is not a list of entities and relations"
        return read


def _has_records(reply: str) -> bool:
    return _DELIMITER in reply or _END in reply


def _is_object(reply: str) -> bool:
    try:
        parse_object(reply)
    except ValueError:
        return False
    return True
