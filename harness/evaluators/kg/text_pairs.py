"""The pairs of texts of a case that are compared."""

from typing import Literal, NamedTuple

from harness.core.records import Dimension
from harness.evaluators.score_preconditions import reference_answer
from harness.evaluators.triplet_extraction import TextContent, content_of_contexts
from harness.protocols import ScoringInput, Side, Sides

PairName = Literal["context_relevancy", "answer_relevancy", "faithfulness", "factual_correctness"]


class TextPair(NamedTuple):
    """The text that is scored, and the text that it is compared with."""

    input: Side
    context: Side
    title: str
    on_null_queries: bool
    """Whether it applies to null queries."""
    dimension: Dimension
    """The dimension that people rate."""

    @property
    def reads(self) -> Sides:
        """Both texts."""
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


def content_of(case: ScoringInput, side: Side) -> TextContent:
    """The text to compare; of several reference answers the first that is not blank."""
    if side == "contexts":
        return content_of_contexts(case.prediction.contexts)
    texts = {
        "question": case.query.text,
        "answer": case.prediction.answer or "",
        "reference": reference_answer(case.reference),
    }
    return TextContent((texts[side],))
