"""Which two texts of a case are held against each other."""

from typing import Literal, NamedTuple

from harness.core.records import Dimension
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.triplet_extraction import Stated, stated_by
from harness.protocols import ScoringInput, Side, Sides

PairName = Literal["context_relevancy", "answer_relevancy", "faithfulness", "factual_correctness"]


class TextPair(NamedTuple):
    """The side whose entities are judged, and the side that they are looked for in."""

    input: Side
    context: Side
    title: str
    on_null_queries: bool
    """Whether it means anything where no answer exists."""
    dimension: Dimension
    """What a person is asked in its place."""

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
    """What a side says; of several reference answers the first that says anything."""
    if side == "contexts":
        return stated_by(case.prediction.contexts)
    texts = {
        "question": case.query.text,
        "answer": case.prediction.answer or "",
        "reference": reference_answer(case.reference),
    }
    return Stated((texts[side],))
