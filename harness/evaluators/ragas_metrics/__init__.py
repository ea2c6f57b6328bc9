"""Adapter to the ragas package for `harness.evaluators.ragas`. Here: the inputs of a judgement, nothing heavy."""

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
ON_REQUEST: frozenset[RagasMetric] = frozenset({"answer_correctness", "coverage"})
"""Metrics that are judged only if a config names them; the others are the default."""
ONE_BY_ONE: frozenset[RagasMetric] = frozenset({"context_precision", "context_precision_no_reference"})
"""Metrics with a verdict on each context; the others judge all contexts together, or none."""


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
