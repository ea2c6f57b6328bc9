"""nano-graphrag's own extraction of entities and relations, for models that can follow its prompts."""

from collections.abc import Mapping, Sequence
from typing import Any

from systems.common.wrapped_libraries import LibraryReplies
from systems.community import library
from systems.community.text_units import TextUnits

_MAX_TOKENS = 4096
"""Maximum tokens of a reply: the library sets no limit, and that of an answer is far too small."""
_RECORDS = ('("entity"', "<|COMPLETE|>")
"""A reply without either is prose. Only the second means that there is nothing to extract."""


class LibraryExtraction(LibraryReplies):
    def is_graph(self, reply: str) -> bool:
        return any(mark in reply for mark in _RECORDS)

    async def run(
        self, chunks: Mapping[str, Any], units: TextUnits, stores: tuple[Any, Any], config: Mapping[str, Any]
    ) -> None:
        """Fill the stores (graph, vectors) from the chunks; raises errors after which no call can succeed."""
        graph, vectors = stores

        async def ask(prompt: str, *_: Any, history_messages: Sequence[Mapping[str, str]] = (), **__: Any) -> str:
            return await self.extract(prompt, history_messages, _MAX_TOKENS)

        async def shorten(prompt: str, *_: Any, max_tokens: int, **__: Any) -> str:
            return await self.summarise(prompt, max_tokens)

        ours = {**config, "best_model_func": ask, "cheap_model_func": shorten}
        await library.operations().extract_entities(
            chunks, knwoledge_graph_inst=graph, entity_vdb=vectors, global_config=ours
        )
        self._guard.check()
        graph.order_sources({unit_id: rank for rank, unit_id in enumerate(units.in_order())})
