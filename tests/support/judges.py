"""A judge and an embedder that reply by a script, for evaluators that ask a model."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.protocols import Message

if TYPE_CHECKING:
    from harness.protocols import Vectors

Reply = str | Exception | Callable[[str], str]


class ScriptedJudge:
    """A `ChatModel`: the first key found at the beginning of the prompt (its first 500 characters) has the reply.

    An exception is raised, a function is given the whole prompt. A prompt that no key fits fails the test.
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
        """What the script says; it counts no call."""
        reply = next((reply for key, reply in self.replies.items() if key in prompt[:500]), None)
        assert reply is not None, f"no reply for {prompt[:200]!r}"
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else reply(prompt)


class WordEmbedder:
    """An `Embedder`: a text is its words, so that the cosine of two texts can be counted by hand."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self.embedded: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        """See `harness.protocols.Embedder`."""
        return np.array([self.vector(text) for text in texts], dtype=np.float32)

    async def embed_query(self, text: str) -> "Vectors":
        """See `harness.protocols.Embedder`."""
        return self.vector(text)

    def vector(self, text: str) -> "Vectors":
        """A one for each word, at unit length."""
        self.embedded.append(text)
        row = np.zeros(64, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            row[self._words.setdefault(word, len(self._words))] = 1.0
        unit: Vectors = row / np.linalg.norm(row)
        return unit


def quoted_in(prompt: str, tag: str) -> str:
    """The text of others that a prompt quotes between these tags."""
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", prompt, re.DOTALL)
    assert found, f"nothing is quoted as {tag}: {prompt[:200]!r}"
    return found[1]


def input_of(prompt: str) -> dict[str, Any]:
    """The input of a prompt of ragas: the JSON object that it ends with."""
    _, _, behind = prompt.rpartition("Now perform the same with the following input\ninput: ")
    found, _ = json.JSONDecoder().raw_decode(behind)
    assert isinstance(found, dict)
    return found
