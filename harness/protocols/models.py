"""The contracts of models. Metering, journal, rate limits and retries happen behind these interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
else:
    # numpy takes long to import.
    Vectors = Any

Role = Literal["generator", "embedder"]
"""The role of a model for a system."""
EvaluatorRole = Literal["judge", "judge_embedder"]
"""The role of a model for an evaluator."""


class Message(NamedTuple):
    """A message of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class ChatModel(Protocol):
    """A metered language model. Journal, token counts, rate limits and retries happen behind this interface."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The reply as text; with `json_schema`, the server constrains the text to that schema.

        Raises `harness.core.errors.ModelUnavailable` if no query can succeed (server down, key refused), and the
        client's exception if only this call failed.
        """
        ...


@runtime_checkable
class LogprobModel(Protocol):
    """A metered language model with log probabilities."""

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        """Probabilities that the reply begins with each of these letters, normalised over these letters. One call
        with one token.

        Raises `harness.core.errors.NoLogprobs` if the server refuses log probabilities or a reply has none, and
        ValueError if the letters together have less than half of the probability.
        """
        ...


class Tool(NamedTuple):
    """A function that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""


class ToolCall(NamedTuple):
    """What a model wants to call."""

    name: str
    arguments: Mapping[str, Any]


@runtime_checkable
class ToolModel(Protocol):
    """A metered language model that may be able to call tools by its provider's own protocol."""

    @property
    def calls_tools(self) -> bool:
        """Whether it can; if not, ask for structured output."""
        ...

    async def call(
        self, messages: Sequence[Message], tools: Sequence[Tool], *, max_tokens: int | None = None
    ) -> ToolCall:
        """The first call of the reply; the model must call one of the tools.

        Raises as `ChatModel.complete`, and ValueError if the reply has no call that can be read.
        """
        ...


class Embedder(Protocol):
    """A metered embedding model; vectors are unit vectors, float32."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d). Cached by content across runs, so the same text is embedded once."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Shape (d,). Not cached across runs, so that the latency is real."""
        ...


class Entailment(Protocol):
    """A natural language inference model."""

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        """Probability from 0 to 1 that each premise entails the hypothesis, against neutral and contradiction."""
        ...


class Reranker(Protocol):
    """A cross-encoder, which reads question and passage together, or late interaction, which compares their
    tokens. Runs in this process and counts no tokens.
    """

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """Relevance of each passage, higher is better; finite, and comparable only within one question."""
        ...
