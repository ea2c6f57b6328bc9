"""Extracts triplets with LangChain's LLMGraphTransformer, as in the thesis. For capable models: its lists are
unbounded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from harness.core.errors import HarnessError, need
from harness.core.records import Triplet
from harness.extraction.entity_names import one_line
from harness.extraction.types import FoundEntity, TextGraph
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.protocols import ChatModel
from systems.common.chunking import Chunk
from systems.common.extraction.extractor import Focus
from systems.common.headings import passage_text

# LangChain's prompt leaves the format to the schema; a server that knows no schemas needs it in words.
# The braces are doubled because the prompt is a template.
_REMINDER = (
    "Your last reply could not be read. Reply with one JSON object alone, without prose or code fence, and name "
    'at most 20 nodes and 20 relationships: {{"nodes": [{{"id": "...", "type": "..."}}], "relationships": '
    '[{{"source_node_id": "...", "source_node_type": "...", "target_node_id": "...", "target_node_type": "...", '
    '"type": "..."}}]}}.'
)
_NO_KIND = "Node"
"""LangChain's type for a node without one."""


def check_langchain() -> None:
    """Raise MissingDependency if the packages are not installed; fast, because it imports nothing."""
    need("extractor-langchain", "langchain_core", "langchain_experimental")


class LangChainExtractor:
    """See `systems.common.extraction.extractor.Extractor`.

    If a reply is not a graph (prose, JSON cut off at max_tokens), the model is asked once more with a reminder,
    which makes it another request; LangChain itself would return an empty graph.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        concurrency: int = 8,
        max_tokens: int = 1500,
        progress: Progress,
        focus: Focus = Focus(),  # noqa: B008 - it is frozen
    ) -> None:
        """At most `concurrency` calls run at once; the limiter of the model role may allow fewer. `max_tokens`
        limits each reply. Imports LangChain, which takes seconds.
        """
        check_langchain()
        self._first = _transformer(chat, max_tokens, "", focus)
        self._second = _transformer(chat, max_tokens, _REMINDER, focus)
        self._concurrency = concurrency
        self._progress = progress

    async def extract(self, chunks: Sequence[Chunk]) -> list[TextGraph]:
        return await map_bounded(self._extract, chunks, self._concurrency, self._progress)

    async def _extract(self, chunk: Chunk) -> TextGraph:
        try:
            return await self._ask(passage_text(chunk))
        except HarnessError:
            raise
        except ValueError as error:
            why = f"the model's reply is no graph: {_short(error)}"
            return TextGraph(failure=why, asked_again=True)
        except Exception as error:
            # Only this call failed (a refused prompt, a server error after all retries): the others continue.
            return TextGraph(failure=f"{type(error).__name__}: {_short(error)}")

    async def _ask(self, text: str) -> TextGraph:
        try:
            return await _graph(self._first, text)
        except ValueError:
            return replace(await _graph(self._second, text), asked_again=True)


def _transformer(chat: ChatModel, max_tokens: int, instructions: str, focus: Focus) -> Any:
    from langchain_core.runnables import RunnableLambda
    from langchain_experimental.graph_transformers import LLMGraphTransformer

    from systems.common.langchain_chat import MeteredChatModel

    model = MeteredChatModel(chat=chat, max_tokens=max_tokens)
    transformer = LLMGraphTransformer(
        llm=model,
        additional_instructions=instructions,
        allowed_nodes=list(focus.entity_types),
        allowed_relationships=list(focus.relation_types),
        relationship_properties=["date"] if focus.dates else False,
    )
    transformer.chain = transformer.chain | RunnableLambda(_parsed)
    return transformer


async def _parsed(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply; raises its parsing error, which the transformer would turn into an empty graph."""
    if reply["parsing_error"]:
        raise reply["parsing_error"]
    return reply


async def _graph(transformer: Any, text: str) -> TextGraph:
    from langchain_core.documents import Document
    from langsmith.run_helpers import tracing_context

    # Otherwise an environment configured for LangSmith would send every passage there.
    with tracing_context(enabled=False):
        found = await transformer.aprocess_response(Document(page_content=text))
    ends = (end for relation in found.relationships for end in (relation.source, relation.target))
    triplets = [
        Triplet(str(relation.source.id), relation.type, str(relation.target.id))
        for relation in found.relationships
    ]
    stated = ((relation.properties or {}).get("date") for relation in found.relationships)
    dates = ((one, one_line(str(date))) for one, date in zip(triplets, stated, strict=True) if date)
    return TextGraph(
        entities=tuple(dict.fromkeys(_entities((*found.nodes, *ends)))),
        triplets=tuple(dict.fromkeys(triplets)),
        dates=tuple(dates),
    )


def _entities(nodes: Iterable[Any]) -> Iterable[FoundEntity]:
    for node in nodes:
        yield FoundEntity(str(node.id), "" if node.type == _NO_KIND else node.type)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
