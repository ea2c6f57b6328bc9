"""Response relevancy: questions that the contexts answer."""

from collections.abc import Mapping
from typing import Any

from harness.llm_utils.json_schema_builders import list_of, object_of, string_of
from harness.llm_utils.quoting import RULE, quoted
from harness.llm_utils.structured_output import Question, ask_json
from harness.protocols import ChatModel, Message

_LONGEST_QUESTION = 160
_ROLE = f"You write questions about a text. {RULE}"


async def questions_answered(judge: ChatModel, text: str, count: int) -> tuple[str, ...]:
    """This number of questions that the text answers, written in one call without knowing the query.

    A second call if the reply has another number; then `Unreadable`.
    """
    task = _task(count)
    messages = [Message("system", f"{_ROLE}\n{task}"), Message("user", f"{quoted('text', text)}\n\n{task}")]
    listed = {**list_of(string_of(_LONGEST_QUESTION), count), "minItems": count}

    def read(reply: Mapping[str, Any]) -> tuple[str, ...]:
        return _read(reply, count)

    # 160 characters are about 40 tokens.
    asked = Question(messages, object_of({"questions": listed}), read, max_tokens=20 + 50 * count)
    return (await ask_json(judge, asked)).value


def _task(count: int) -> str:
    wanted = "one short question" if count == 1 else f"{count} different short questions"
    return (
        f"Write {wanted} that the text answers. Each can be understood without the text: it names the people, "
        'things and places that it asks about. Reply with JSON only: {"questions": ["..."]}'
    )


def _read(reply: Mapping[str, Any], count: int) -> tuple[str, ...]:
    listed = reply.get("questions")
    if not isinstance(listed, list) or len(listed) != count:
        raise ValueError(f"no list of {count} questions")
    if not all(isinstance(text, str) and text.strip() for text in listed):
        raise ValueError("one of its questions is empty or no text")
    return tuple(" ".join(text.split())[:_LONGEST_QUESTION] for text in listed)
