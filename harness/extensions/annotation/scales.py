"""The four questions about each answer, with the meaning of each label from 1 to 5.

The dimensions are those of Dong et al.; the anchors are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.records import Dimension, Prediction


@dataclass(frozen=True)
class LabelScale:
    """One dimension."""

    dimension: Dimension
    title: str
    asks: str
    anchors: tuple[str, str, str, str, str]
    """What 1, 2, 3, 4 and 5 say."""


SCALES = (
    LabelScale(
        "factual_correctness",
        "Factual correctness",
        "Is what the answer says right? Hold it against the reference answer where there is one.",
        (
            "wrong: its main statement is false",
            "mostly wrong: something is right, the main statement is not",
            "half: right and wrong statements weigh the same, or the main one is right in part",
            "mostly right: the main statement is right, a detail is wrong or missing",
            "right: nothing in it is false, nothing that was asked is missing",
        ),
    ),
    LabelScale(
        "context_relevancy",
        "Context relevancy",
        "Do the contexts bear on the question? Whether the answer uses them does not matter here.",
        (
            "none of them bears on the question",
            "they share its subject, and nothing in them helps to answer",
            "some of what is needed stands there, among much else",
            "most of what is needed stands there",
            "all that is needed stands there, and little else",
        ),
    ),
    LabelScale(
        "response_relevancy",
        "Response relevancy",
        "Does the answer answer the question that was asked? Whether it is true does not matter here.",
        (
            "it answers nothing that was asked",
            "it is on the subject, and leaves the question open",
            "it answers a part, or another question that is close",
            "it answers, with something left out or something idle besides",
            "it answers the whole question and nothing else",
        ),
    ),
    LabelScale(
        "faithfulness",
        "Faithfulness",
        "Is what the answer says said by the contexts? Whether it is true of the world does not matter here.",
        (
            "nothing of it stands in the contexts, or they say the opposite",
            "little of it does",
            "about half of it does",
            "nearly all does; a detail goes beyond them",
            "all of it does",
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
