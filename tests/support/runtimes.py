"""A `Runtime` for tests of one system: without transport and process; it records all requests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness import protocols
from harness.core.records import AnswerStyle, Context, Evidence, Usage
from harness.llm_utils.answer_contract import answer_messages, generate
from harness.models.fake_model import bag_of_words
from harness.protocols import ChatModel, Entailment, Message, ModelProxy, Reranker, Route, System, Vectors


class Embedder:
    """The fake's bag of words, or another vector for a text; records its requests."""

    def __init__(self, vector: Callable[[str], Sequence[float]] = bag_of_words) -> None:
        self._vector = vector
        self.documents: list[str] = []
        self.queries: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.documents += texts
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    async def embed_query(self, text: str) -> Vectors:
        self.queries.append(text)
        return np.array(self._vector(text), dtype=np.float32)


@dataclass(frozen=True)
class Asked:
    """One call of the model."""

    messages: list[Message]
    max_tokens: int | None
    json_schema: Mapping[str, Any] | None

    @property
    def text(self) -> str:
        """Every message, joined."""
        return "\n".join(message.content for message in self.messages)


class Chat:
    """Answers each call with the result of `reply` (text, or an exception), and records the calls."""

    def __init__(self, reply: Callable[[Asked], str] = lambda _: " reply\n") -> None:
        self.calls: list[Asked] = []
        self._reply = reply

    @property
    def prompts(self) -> list[list[Message]]:
        """The messages of every call."""
        return [call.messages for call in self.calls]

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        asked = Asked(list(messages), max_tokens, json_schema)
        self.calls.append(asked)
        return self._reply(asked)


class KeepingOrder:
    """A reranker that scores all passages equally."""

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        return [0.0] * len(passages)


class Doubting:
    """An entailment model that never finds entailment."""

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        return [0.0] * len(premises)


@dataclass
class BareRuntime:
    """See `harness.protocols.Runtime`."""

    index_dir: Path
    chat: ChatModel | None = field(default_factory=Chat)
    embedder: protocols.Embedder = field(default_factory=Embedder)
    reranker: Reranker = field(default_factory=KeepingOrder)
    entailment: Entailment = field(default_factory=Doubting)
    seed: int = 0
    answer_style: AnswerStyle = "short"
    gold: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)
    told: list[tuple[int, int, str]] = field(default_factory=list)
    routed_systems: Mapping[str, System] = field(default_factory=dict)
    retrieves_only: bool = False
    has_answers: bool = False
    own: list[Usage | None] = field(default_factory=list)
    """Reported usage of unmetered models."""
    warned: list[str] = field(default_factory=list)

    async def lend(self) -> ModelProxy:
        return ModelProxy("http://127.0.0.1:1/v1", "a-made-up-key", "generator", "embedding")

    def lent_url(self) -> str:
        return "http://127.0.0.1:1/own/v1"

    def routed(self, route: Route) -> System:
        return self.routed_systems[route.key]

    def own_usage(self, usage: Usage | None) -> None:
        self.own.append(usage)

    def warn(self, line: str) -> None:
        self.warned.append(line)

    async def answer(self, question: str, contexts: Sequence[Context]) -> str | None:
        return await generate(self, answer_messages(question, contexts, self.answer_style))

    @contextmanager
    def throttled(self) -> Iterator[None]:
        self.stages.append("throttled")
        yield

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.stages.append(name)
        yield

    def progress(self, done: int, total: int, doing: str) -> None:
        self.told.append((done, total, doing))
