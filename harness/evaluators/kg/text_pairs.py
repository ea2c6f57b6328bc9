"""Which two texts of a case are held against each other."""

from typing import Literal, NamedTuple

from harness.core.records import Dimension
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.triplet_extraction import Stated, stated_by
from harness.protocols import ScoringInput, Side, Sides

PairName = Literal["context_relevancy", "answer_relevancy", "faithfulness", "factual_correctness"]


class TextPair(NamedTuple):
    """The side whose entities are scored, and the side in which they are searched."""

    input: Side
    context: Side
    title: str
    on_null_queries: bool
    """Whether it means anything where no answer exists."""
    dimension: Dimension
    """The dimension that people rate."""

    @property
    def reads(self) -> Sides:
        """Both sides."""
        return frozenset({self.input, self.context})


PAIRS: dict[PairName, TextPair] = {
    "context_relevancy": TextPair(
        "question", "contexts", "question in contexts", on_null_queries=False, dimension="context_relevancy"
    ),
    "answer_relevancy": TextPair(
        "question", "answer", "question in answer", on_null_queries=True, dimension="response_relevancy"
    ),
    "faithfulness": TextPair(
        "answer", "contexts", "answer in contexts", on_null_queries=True, dimension="faithfulness"
    ),
    "factual_correctness": TextPair(
        "answer", "reference", "answer in reference", on_null_queries=False, dimension="factual_correctness"
    ),
}


def said_by(case: ScoringInput, side: Side) -> Stated:
    """The text of a side; of several reference answers the first that is not blank."""
    if side == "contexts":
        return stated_by(case.prediction.contexts)
    texts = {
        "question": case.query.text,
        "answer": case.prediction.answer or "",
        "reference": reference_answer(case.reference),
    }
    return Stated((texts[side],))
