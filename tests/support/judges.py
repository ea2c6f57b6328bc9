"""A judge and an embedder with scripted replies."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.protocols import Message, Vectors

Reply = str | Exception | Callable[[str], str]


class ScriptedJudge:
    """A `ChatModel`: the first key found in the first 500 characters of the prompt selects the reply.

    An exception is raised, a function is called with the whole prompt. A prompt without a matching key fails the
    test.
    """

    def __init__(self, replies: Mapping[str, Reply]) -> None:
        self.replies = dict(replies)
        self.asked: list[tuple[str, Mapping[str, Any] | None]] = []
        """Every (prompt, schema), in order."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """See `harness.protocols.ChatModel`."""
        assert [message.role for message in messages] == ["user"]
        assert max_tokens is None
        self.asked.append((messages[0].content, json_schema))
        return self.reply_to(messages[0].content)

    def reply_to(self, prompt: str) -> str:
        """The scripted reply, without counting a call."""
        reply = next((reply for key, reply in self.replies.items() if key in prompt[:500]), None)
        assert reply is not None, f"no reply for {prompt[:200]!r}"
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else reply(prompt)


class WordEmbedder:
    """An `Embedder`: the vector of a text counts its words, so cosines can be computed by hand."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self.embedded: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """See `harness.protocols.Embedder`."""
        return np.array([self.vector(text) for text in texts], dtype=np.float32)

    async def embed_query(self, text: str) -> Vectors:
        """See `harness.protocols.Embedder`."""
        return self.vector(text)

    def vector(self, text: str) -> Vectors:
        """1 for each word, at unit length."""
        self.embedded.append(text)
        row = np.zeros(256, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            row[self._words.setdefault(word, len(self._words))] = 1.0
        unit: Vectors = row / np.linalg.norm(row)
        return unit


def quoted_in(prompt: str, tag: str) -> str:
    """The quoted text between these tags of a prompt."""
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", prompt, re.DOTALL)
    assert found, f"nothing is quoted as {tag}: {prompt[:200]!r}"
    return found[1]


def input_of(prompt: str) -> dict[str, Any]:
    """The input of a ragas prompt: the JSON object at its end."""
    _, _, behind = prompt.rpartition("Now perform the same with the following input\ninput: ")
    found, _ = json.JSONDecoder().raw_decode(behind)
    assert isinstance(found, dict)
    return found
