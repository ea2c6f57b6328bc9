"""Which two texts of a case are held against each other."""

from typing import Literal, NamedTuple

from harness.evaluators import sides
from harness.evaluators.extracted import texts_of
from harness.protocols import Case

PairName = Literal["context_relevancy", "answer_relevancy", "faithfulness", "factual_correctness"]


class Pair(NamedTuple):
    """The side whose entities are judged, and the side that they are looked for in."""

    input: sides.Side
    context: sides.Side
    summary: str
    on_null_queries: bool
    """Whether it means anything where no answer exists."""

    @property
    def reads(self) -> sides.Sides:
        """Both sides."""
        return frozenset({self.input, self.context})


PAIRS: dict[PairName, Pair] = {
    "context_relevancy": Pair("question", "contexts", "of the question in the contexts", on_null_queries=False),
    "answer_relevancy": Pair("question", "answer", "of the question in the answer", on_null_queries=True),
    "faithfulness": Pair("answer", "contexts", "of the answer in the contexts", on_null_queries=True),
    "factual_correctness": Pair("answer", "reference", "of the answer in the reference", on_null_queries=False),
}


def side_texts(case: Case, side: sides.Side) -> tuple[str, ...]:
    """The texts of a side; of several reference answers the first that says anything."""
    if side == "contexts":
        return texts_of(case.prediction.contexts)
    texts = {
        "question": case.query.text,
        "answer": case.prediction.answer or "",
        "reference": sides.reference_answer(case.reference),
    }
    return (texts[side],)
