"""A LangChain chat model on top of the metered one.

Importing LangChain takes a second: import this module only when needed.
"""

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel

from harness.llm_utils.structured_output import parse_object
from harness.protocols import ChatModel, Message

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
