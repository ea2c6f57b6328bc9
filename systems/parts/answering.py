"""From contexts to an answer."""

from collections.abc import Sequence

from harness.protocols import Runtime
from harness.records import Context, Query
from systems.parts.prompts import AnswerStyle, answer_messages


async def generate_answer(
    runtime: Runtime, query: Query, contexts: Sequence[Context], style: AnswerStyle
) -> str | None:
    """One generation under the answer contract, timed as the stage `generate`; None without a generator."""
    if runtime.chat is None:
        return None
    with runtime.stage("generate"):
        reply = await runtime.chat.complete(answer_messages(query.text, contexts, style))
    return reply.strip()
