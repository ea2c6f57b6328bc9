"""What a model promises to whoever calls it: metered, journaled, limited and retried below this line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Role = Literal["generator", "embedder"]
"""What a model does for a system."""
EvaluatorRole = Literal["judge", "judge_embedder"]
"""What a model does for an evaluator."""


class Message(NamedTuple):
    """One turn of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class ChatModel(Protocol):
    """A metered language model: every call is journaled, counted, limited and retried below this line."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The model's reply as text; with `json_schema`, text the server constrained to that schema.

        Raises `harness.core.errors.ModelUnavailable` where no query can succeed (server down, key refused), and
        the client's own exception where this one call failed.
        """
        ...


@runtime_checkable
class LetterModel(Protocol):
    """A metered language model whose log probabilities can be read."""

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        """How likely the reply begins with each of these letters, as shares of all that begin with one of them:
        one call of one token, read from its log probabilities.

        Raises `harness.core.errors.ModelUnavailable` where the server gives none, and ValueError where none of the
        letters is among the likely replies.
        """
        ...


class Embedder(Protocol):
    """A metered embedding model; rows are unit vectors, float32."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d). Cached by content across runs: the same text is embedded once."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Shape (d,). Never taken from another run's cache, so that latency stays honest."""
        ...


class Entailment(Protocol):
    """A model that says what follows from a sentence (natural language inference)."""

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        """How likely each premise entails the hypothesis, 0 to 1, beside neutral and contradiction."""
        ...


class Reranker(Protocol):
    """A model that reads a question and a passage together, a cross-encoder; in this process, without tokens."""

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """How well each passage fits, the higher the better; finite, and comparable within one question only."""
        ...
