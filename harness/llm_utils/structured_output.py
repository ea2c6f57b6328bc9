"""JSON from a model: schemas, the call, and a second call if the reply is invalid."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from harness.protocols import ChatModel, Message


def object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def string_of(length: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": length}


def list_of(items: Mapping[str, Any], length: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": length, "items": dict(items)}


def integer_of(lowest: int, highest: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": lowest, "maximum": highest}


T = TypeVar("T")

_REMINDER = "Your last reply could not be read. Reply with the JSON object alone, and keep it short."
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
"""A string, which is kept, or a comma before a closing bracket."""


class Unreadable(Exception):
    """Two replies in a row were not in the requested form; the message says why the second was not."""


def parse_object(reply: str) -> dict[str, Any]:
    """The JSON object in a reply, also between a code fence or a sentence around it; ValueError without one."""
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0:
        raise ValueError(f"no JSON object in {reply[:60]!r}")
    text = reply[start : end + 1] if end > start else reply[start:]
    try:
        parsed = json.loads(_TRAILING_COMMA.sub(lambda found: found[0].rstrip(","), text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"broken JSON ({str(error)[:80]}), perhaps cut off at max_tokens") from error
    if not isinstance(parsed, dict):
        raise ValueError("the JSON is not an object")
    return parsed


@dataclass(frozen=True)
class Question(Generic[T]):
    """A request, and the parser of its reply."""

    messages: Sequence[Message]
    schema: Mapping[str, Any]
    """JSON Schema of an object. Servers that know schemas hold the model to it; others only read the prompt."""
    read: Callable[[Mapping[str, Any]], T]
    """Parses the reply's JSON object; raises ValueError if it is not usable."""
    max_tokens: int
    parse: Callable[[str], Mapping[str, Any]] = parse_object
    """From the reply to the object, for what models say in other ways too; raises ValueError without one."""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """A reply that could be read."""

    value: T
    asked_again: bool


async def ask_json(chat: ChatModel, question: Question[T]) -> Answered[T]:
    """Send the request; if the reply cannot be read, once more with a reminder, which makes it another request.

    Raises Unreadable after the second, and the errors of the model's client.
    """
    try:
        return Answered(await _ask(chat, question, question.messages), asked_again=False)
    except ValueError:
        *before, last = question.messages
        reminded = last._replace(content=f"{last.content}\n\n{_REMINDER}")
    try:
        return Answered(await _ask(chat, question, [*before, reminded]), asked_again=True)
    except ValueError as error:
        raise Unreadable(f"the model's reply is not what was asked for: {error}") from error


async def _ask(chat: ChatModel, question: Question[T], messages: Sequence[Message]) -> T:
    reply = await chat.complete(messages, max_tokens=question.max_tokens, json_schema=question.schema)
    return question.read(question.parse(reply))
