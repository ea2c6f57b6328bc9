"""Replies in OpenAI's protocol, for models that answer in another one or are scripted."""

from collections.abc import Sequence
from typing import Any


def chat_reply(
    text: str,
    *,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cached_tokens: int = 0,
    finish_reason: str = "stop",
) -> dict[str, Any]:
    """A chat completion; without token counts it counts as unmetered, never as 0.

    `cached_tokens`: those of `input_tokens` from a prompt cache. `finish_reason`: `length` if max_tokens ended it.
    """
    reply: dict[str, Any] = {
        "id": "translated",
        "object": "chat.completion",
        "created": 0,
        "model": "translated",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
        ],
    }
    return reply | _usage(input_tokens, output_tokens, cached_tokens)


def embeddings_reply(vectors: Sequence[Sequence[float]], *, input_tokens: int | None = None) -> dict[str, Any]:
    """Vectors in the order of the texts; token counts as in `chat_reply`."""
    # Those of an array are numbers that JSON does not know.
    rows = [[float(value) for value in row] for row in vectors]
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    return {"object": "list", "model": "translated", "data": data, **_usage(input_tokens, 0)}


def _usage(input_tokens: int | None, output_tokens: int | None, cached_tokens: int = 0) -> dict[str, Any]:
    if input_tokens is None or output_tokens is None:
        return {}
    total = input_tokens + output_tokens
    counted = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens, "total_tokens": total}
    return {"usage": {**counted, "prompt_tokens_details": {"cached_tokens": cached_tokens}}}
