"""The metrics of `harness.evaluators.ragas`, and what they judge, without an import of ragas."""

from dataclasses import dataclass
from typing import Literal

RagasMetric = Literal[
    "context_precision_no_reference",
    "context_precision",
    "context_recall",
    "faithfulness",
    "factual_correctness",
    "answer_correctness",
    "coverage",
    "response_relevancy",
    "context_relevance",
]


@dataclass(frozen=True)
class RagasRow:
    """One answered query in ragas' terms."""

    question: str
    answer: str
    contexts: tuple[str, ...]
    """In rank order, for a verdict on each."""
    reference: str
    windows: tuple[str, ...] = ()
    """The contexts for a joint verdict, in windows that the judge can read. Empty: all in one, as in ragas."""
    ranks: tuple[int, ...] = ()
    """The rank of each item in `contexts`, which may be part of a context. Empty: each is a whole context."""

    @property
    def shown_at_once(self) -> tuple[tuple[str, ...], ...]:
        """The windows of contexts for a joint verdict."""
        return tuple((window,) for window in self.windows) or (self.contexts,)
