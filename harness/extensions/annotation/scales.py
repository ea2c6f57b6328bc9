"""The four questions about each answer, with the meaning of each label from 1 to 5.

The dimensions are those of Dong et al.; the anchors are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.records import Dimension, Prediction


@dataclass(frozen=True)
class LabelScale:
    """One dimension of labels."""

    dimension: Dimension
    title: str
    asks: str
    anchors: tuple[str, str, str, str, str]
    """The meaning of 1, 2, 3, 4 and 5."""


SCALES = (
    LabelScale(
        "factual_correctness",
        "Factual correctness",
        "Is the answer correct? Compare it with the reference answer if there is one.",
        (
            "wrong: its main statement is false",
            "mostly wrong: something is right, but the main statement is wrong",
            "half: as much is right as wrong, or the main statement is partly right",
            "mostly right: the main statement is right, a detail is wrong or missing",
            "right: nothing in it is false, and nothing is missing",
        ),
    ),
    LabelScale(
        "context_relevancy",
        "Context relevancy",
        "Are the contexts relevant to the question? Whether the answer uses them does not matter here.",
        (
            "none of them is relevant to the question",
            "they are on its subject, but nothing in them helps to answer",
            "they contain some of the needed information, among much else",
            "they contain most of the needed information",
            "they contain all of the needed information, and little else",
        ),
    ),
    LabelScale(
        "response_relevancy",
        "Response relevancy",
        "Does the answer address the question? Whether it is true does not matter here.",
        (
            "it does not address the question",
            "it is on the subject, but does not answer the question",
            "it answers a part, or a similar question",
            "it answers, but something is missing or superfluous",
            "it answers the whole question and nothing else",
        ),
    ),
    LabelScale(
        "faithfulness",
        "Faithfulness",
        "Do the contexts support the answer? Whether it is true in the world does not matter here.",
        (
            "they support nothing of it, or contradict it",
            "they support little of it",
            "they support about half of it",
            "they support nearly all of it, except a detail",
            "they support all of it",
        ),
    ),
)
"""In the order of the form."""
LOWEST, HIGHEST = 1, 5


def asked_of(prediction: Prediction) -> Sequence[LabelScale]:
    """The dimensions that apply: contexts and answers must exist."""
    lacking: set[Dimension] = set()
    if not prediction.contexts:
        lacking |= {"context_relevancy", "faithfulness"}
    if prediction.answer is None:
        lacking |= {"factual_correctness", "response_relevancy", "faithfulness"}
    return [scale for scale in SCALES if scale.dimension not in lacking]
