"""Answers LightRAG's model requests during an insert: entities and relations, and summaries of descriptions."""

from collections.abc import Mapping
from typing import Any

from harness.llm_utils.structured_output import parse_object
from harness.protocols import ChatModel
from systems.common.wrapped_libraries import Guard, LibraryReplies
from systems.lightrag import library
from systems.lightrag.params import GRAPH_SCHEMA, IndexParams

_DELIMITER, _END = "<|#|>", "<|COMPLETE|>"
"""A text reply without either is prose. Only the second means that there is nothing to extract."""


class Extraction(LibraryReplies):
    def __init__(self, chat: ChatModel, params: IndexParams) -> None:
        super().__init__(chat, Guard())
        self._params = params
        self._unread = ""
        self.unfinished_replies = 0
        """Number of truncated or broken replies; the library uses the readable part."""

    @property
    def first_failure(self) -> str:
        return self._guard.first_failure or self._unread

    def check(self) -> None:
        """Raise an error after which no call can succeed."""
        self._guard.check()

    async def ask(self, prompt: str, given: Mapping[str, Any]) -> str:
        """The reply to one of the library's prompts; only extraction prompts have a system prompt."""
        system, most = given.get("system_prompt"), self._params.reply_tokens
        if not system:
            return await self.summarise(prompt, most)
        schema = GRAPH_SCHEMA if self._params.extraction == "json" else None
        return await self.extract(prompt, given.get("history_messages") or [], most, system, schema)

    def is_graph(self, reply: str) -> bool:
        as_text = self._params.extraction == "text"
        has_records = _DELIMITER in reply or _END in reply
        read = has_records if as_text else "entities" in library.read_json(reply)
        if read:
            self.unfinished_replies += not (_END in reply if as_text else _is_object(reply))
        elif reply:
            self._unread = self._unread or "a reply that is not a list of entities and relations"
        return read


def _is_object(reply: str) -> bool:
    try:
        parse_object(reply)
    except ValueError:
        return False
    return True
