"""From contexts to an answer."""

from collections.abc import Sequence

from harness.protocols import Message, Runtime
from harness.records import Context, Query
from systems.parts.prompts.answers import AnswerStyle, answer_messages


async def generate_answer(
    runtime: Runtime, query: Query, contexts: Sequence[Context], style: AnswerStyle
) -> str | None:
    """The answer to `query` from `contexts` under the answer contract; see `generate`."""
    return await generate(runtime, answer_messages(query.text, contexts, style))


async def generate(runtime: Runtime, messages: Sequence[Message]) -> str | None:
    """One generation, timed as the stage `generate`; None without a generator."""
    if runtime.chat is None:
        return None
    with runtime.stage("generate"):
        reply = await runtime.chat.complete(messages)
    return reply.strip()
