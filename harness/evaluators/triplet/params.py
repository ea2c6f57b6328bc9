"""Parameters of `per_evaluator.triplet`."""

from typing import Literal, get_args

from pydantic import Field

from harness.evaluators.context_windows import LONGEST, ContextCharacters
from harness.protocols import Params

TripletMetric = Literal[
    "response_relevancy",
    "faithfulness",
    "faithfulness_cosine",
    "factual_correctness",
    "factual_correctness_cosine",
]


class TripletParams(Params):
    metrics: tuple[TripletMetric, ...] = Field(get_args(TripletMetric), min_length=1)
    questions: int = Field(3, ge=1, le=10)
    """Number of questions written for each window of the contexts, in one call, for response relevancy."""
    threshold: float = Field(0.9, ge=-1, le=1)
    """Minimum cosine of two triplets that are the same fact, in `factual_correctness_cosine`."""
    context_characters: ContextCharacters = LONGEST
    """Size of a window of contexts: longer contexts are judged window by window."""
