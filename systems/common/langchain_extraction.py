"""Extracts triplets with LangChain's LLMGraphTransformer, as in the thesis. For capable models: its lists are
unbounded.

Importing LangChain takes a second: import this module only when needed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_experimental.graph_transformers import LLMGraphTransformer
from langsmith.run_helpers import tracing_context
from pydantic import BaseModel

from harness.core.records import Triplet
from harness.extraction.entity_names import one_line
from harness.extraction.types import Focus, FoundEntity, TextGraph
from harness.llm_utils.structured_output import Unreadable, parse_object
from harness.protocols import ChatModel, Message

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
_MAX_TOKENS = 1500
"""Of a reply."""


class LangChainExtractor:
    def __init__(self, chat: ChatModel, focus: Focus) -> None:
        self._first = _transformer(chat, "", focus)
        self._second = _transformer(chat, _REMINDER, focus)

    async def read(self, text: str) -> TextGraph:
        """The graph of a text. If a reply is not a graph (prose, JSON cut off at max_tokens), the model is asked
        once more with a reminder, which makes it another request; LangChain itself would return an empty graph.
        Raises Unreadable after the second, and the errors of the model's client.
        """
        try:
            return await _graph(self._first, text)
        except ValueError:
            pass
        try:
            return replace(await _graph(self._second, text), asked_again=True)
        except ValueError as error:
            raise Unreadable(f"the model's reply is no graph: {one_line(str(error))[:200]}") from error


_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "human": "user",
    "ai": "assistant",
}


# The type checker does not follow LangChain, so the base is Any.
class MeteredChatModel(BaseChatModel):  # type: ignore[misc]
    """Every call goes through `chat`, without a cache; only asynchronous calls are supported."""

    chat: Any
    """A `harness.protocols.ChatModel`; pydantic could not check a protocol."""
    max_tokens: int
    cache: Literal[False] = False

    @property
    def _llm_type(self) -> str:
        return "metered"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("the metered model is called asynchronously: use ainvoke")

    async def _agenerate(
        self, messages: list[BaseMessage], *, json_schema: Mapping[str, Any] | None = None, **_: Any
    ) -> ChatResult:
        chat: ChatModel = self.chat
        reply = await chat.complete(
            [Message(_ROLES[message.type], str(message.text)) for message in messages],
            max_tokens=self.max_tokens,
            json_schema=json_schema,
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=reply))])

    def with_structured_output(self, schema: type[BaseModel], **_: Any) -> Runnable[Any, Any]:
        """Calls that return, as elsewhere in LangChain with `include_raw`, a dict of "raw" (the message), "parsed"
        (None if the reply does not fit `schema`) and "parsing_error" (then a ValueError).
        """

        async def read(raw: AIMessage) -> dict[str, Any]:
            try:
                parsed, error = schema.model_validate(parse_object(str(raw.text))), None
            except ValueError as problem:
                parsed, error = None, problem
            return {"raw": raw, "parsed": parsed, "parsing_error": error}

        strict = convert_to_openai_function(schema, strict=True)["parameters"]
        return self.bind(json_schema=strict) | RunnableLambda(read)


def _transformer(chat: ChatModel, instructions: str, focus: Focus) -> Any:
    model = MeteredChatModel(chat=chat, max_tokens=_MAX_TOKENS)
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
