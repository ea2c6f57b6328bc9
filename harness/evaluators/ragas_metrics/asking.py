"""What is asked, of whom. Imports nothing heavy."""

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


@dataclass(frozen=True)
class RagasRow:
    """One answered query as ragas sees it."""

    question: str
    answer: str
    contexts: tuple[str, ...]
    """In rank order."""
    reference: str


@dataclass(frozen=True)
class Asking:
    """Whom to ask, and how."""

    judge: ChatModel
    embedder: Embedder | None
    """For response relevancy."""
    strictness: int
    constrained: bool
