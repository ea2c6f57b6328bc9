"""Removes tokens of chat templates from texts, so that they cannot begin or end a turn.

A server renders all messages into one text and finds the template's tokens anywhere in it (llama.cpp, and servers
built on Hugging Face tokenizers). A text with `<|im_end|>` and `<|im_start|>assistant` would end the prompt early
and write the model's reply itself. A space after the first character makes such a token plain text.
"""

import re
from typing import Any

_TOKENS = re.compile(
    # Qwen, Llama 3, Phi: <|im_end|>, <|eot_id|>, <|user|>. Not any name: LightRAG uses <|COMPLETE|> itself.
    r"<\|(?=\w{1,60}\|>)(?:\w*(?:start|end|begin|eo[tm]|fim|pad|sep|tag|system|user|assistant|tool|message"
    r"|channel|return|call|reserved|repo)\w*|[A-Z_]+_TOKEN)\|>"
    r"|<｜[^｜\n]{1,40}｜>"  # noqa: RUF001 - DeepSeek's bars are wide
    r"|<(?:start|end)_of_turn>|</?s>|<[be]os>|<<SYS>>"  # Gemma, Llama 2, Mistral
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\]"
)


def without_template_tokens(request: dict[str, Any]) -> dict[str, Any]:
    """A chat request whose messages contain no such token; the same object if nothing changes."""
    messages = request.get("messages")
    if not isinstance(messages, list):
        return request
    plain = [_plain_message(message) for message in messages]
    return request if plain == messages else {**request, "messages": plain}


def _plain_message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, list):
        is_text = [isinstance(part, dict) and isinstance(part.get("text"), str) for part in content]
        parts = zip(content, is_text, strict=True)
        content = [{**part, "text": plain_text(part["text"])} if texts else part for part, texts in parts]
        return {**message, "content": content}
    return {**message, "content": plain_text(content)} if isinstance(content, str) else message


def plain_text(text: str) -> str:
    """The text, with a space inserted into each template token."""
    return _TOKENS.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
