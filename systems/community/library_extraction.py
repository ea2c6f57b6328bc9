"""nano-graphrag's own extraction of entities and relations, for models that can follow its prompts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.extraction.entity_names import one_line
from harness.protocols import ChatModel, Message
from systems.common.safe_model_calls import Guard
from systems.community import library
from systems.community.text_units import TextUnits

_MAX_TOKENS = 4096
"""Maximum tokens of a reply: the library sets no limit, and that of an answer is far too small."""
_RECORDS = ('("entity"', "<|COMPLETE|>")
"""A reply without either is prose. Only the second means that there is nothing to extract."""


class LibraryExtraction:
    """One run of the library's extraction over a corpus."""

    def __init__(self, chat: ChatModel, guard: Guard, progress: Callable[[int], None]) -> None:
        self._chat = chat
        self._guard = guard
        self._progress = progress
        self._seen: set[str] = set()
        self._failed: set[str] = set()
        self.failed_descriptions = 0
        """Number of descriptions that were too long and could not be shortened: they are empty."""

    @property
    def failed_chunks(self) -> int:
        """Chunks whose reply had no list of records, or failed."""
        return len(self._failed)

    async def extract(
        self, chunks: Mapping[str, Any], units: TextUnits, stores: tuple[Any, Any], config: Mapping[str, Any]
    ) -> None:
        """Fill the stores (graph, vectors) from the chunks; raises errors after which no call can succeed."""
        graph, vectors = stores

        async def ask(prompt: str, *_: Any, history_messages: Sequence[Mapping[str, str]] = (), **__: Any) -> str:
            return await self._ask(prompt, history_messages)

        async def shorten(prompt: str, *_: Any, max_tokens: int, **__: Any) -> str:
            return await self._shorten(prompt, max_tokens)

        ours = {**config, "best_model_func": ask, "cheap_model_func": shorten}
        await library.operations().extract_entities(
            chunks, knwoledge_graph_inst=graph, entity_vdb=vectors, global_config=ours
        )
        self._guard.check()
        graph.order_sources({unit_id: rank for rank, unit_id in enumerate(units.in_order())})

    async def _ask(self, prompt: str, history: Sequence[Mapping[str, str]]) -> str:
        # The first prompt of a chunk contains its text, which is unique.
        chunk = history[0]["content"] if history else prompt
        if chunk in self._failed:
            return ""
        turns = [Message("user" if turn["role"] == "user" else "assistant", turn["content"]) for turn in history]
        reply = await self._complete([*turns, Message("user", prompt)], _MAX_TOKENS)
        if not history:
            self._seen.add(chunk)
            self._progress(len(self._seen))
            if not any(mark in reply for mark in _RECORDS):
                self._failed.add(chunk)
                return ""
        return reply

    async def _shorten(self, prompt: str, max_tokens: int) -> str:
        reply = await self._complete([Message("user", prompt)], max_tokens)
        if not reply.strip():
            self.failed_descriptions += 1
        return reply

    async def _complete(self, messages: Sequence[Message], max_tokens: int) -> str:
        reply = await self._guard.run(lambda: self._chat.complete(messages, max_tokens=max_tokens))
        # Characters invalid in GraphML would fail only when the finished graph is written.
        return "\n".join(one_line(line) for line in (reply or "").split("\n"))
