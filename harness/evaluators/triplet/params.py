"""What `per_evaluator.triplet` may set."""

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
    """What `per_evaluator.triplet` may set."""

    metrics: tuple[TripletMetric, ...] = Field(get_args(TripletMetric), min_length=1)
    questions: int = Field(3, ge=1, le=10)
    """Written from each window of the contexts for response relevancy, in one call."""
    threshold: float = Field(0.9, ge=-1, le=1)
    """The cosine from which two triplets are one fact, in `factual_correctness_cosine`."""
    context_characters: ContextCharacters = LONGEST
    """Of a window of contexts: longer ones are judged window by window."""
