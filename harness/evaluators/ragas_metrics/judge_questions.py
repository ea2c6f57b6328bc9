"""The questions for the judge; imports nothing heavy."""

from dataclasses import dataclass
from typing import Literal

from harness.protocols import ChatModel, Embedder

RagasMetric = Literal[
    "context_precision_no_reference",
    "context_precision",
    "context_recall",
    "faithfulness",
    "factual_correctness",
    "response_relevancy",
    "context_relevance",
]
ONE_BY_ONE: frozenset[RagasMetric] = frozenset({"context_precision", "context_precision_no_reference"})
"""A verdict on each context; the others judge all contexts together, or none."""


@dataclass(frozen=True)
class RagasRow:
    """One answered query as ragas sees it."""

    question: str
    answer: str
    contexts: tuple[str, ...]
    """In rank order, for a verdict on each."""
    reference: str
    windows: tuple[str, ...] = ()
    """The contexts for a verdict on all of them, in parts that the judge can read. Empty: all at once, as ragas
    does."""
    ranks: tuple[int, ...] = ()
    """Of the context that each of `contexts` is, or is a part of. Empty: each is one."""

    @property
    def shown_at_once(self) -> tuple[tuple[str, ...], ...]:
        """The contexts that the judge sees at once, if it judges them together."""
        return tuple((window,) for window in self.windows) or (self.contexts,)


@dataclass(frozen=True)
class Asking:
    """Whom to ask, and how."""

    judge: ChatModel
    embedder: Embedder | None
    """For response relevancy."""
    strictness: int
    constrained: bool
