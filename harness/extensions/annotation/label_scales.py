"""What annotators are asked about an answer: the four dimensions of Dong et al., or the five of RAG-Eval and a
verdict on the whole. The anchors are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.records import Dimension, Prediction


@dataclass(frozen=True)
class LabelScale:
    dimension: Dimension
    title: str
    asks: str
    anchors: tuple[str, ...]
    """What each label means, from 1 to 5."""


def _scale(dimension: Dimension, title: str, asks: str, *anchors: str) -> LabelScale:
    return LabelScale(dimension, title, asks, anchors)


SCALES = (
    _scale(
        "factual_correctness",
        "Factual correctness",
        "Is the answer correct? Compare it with the reference answer if there is one.",
        "wrong: its main statement is false",
        "mostly wrong: something is right, but the main statement is wrong",
        "half: as much is right as wrong, or the main statement is partly right",
        "mostly right: the main statement is right, a detail is wrong or missing",
        "right: nothing in it is false, and nothing is missing",
    ),
    _scale(
        "context_relevancy",
        "Context relevancy",
        "Are the contexts relevant to the question? Whether the answer uses them does not matter here.",
        "none of them is relevant to the question",
        "they are on its subject, but nothing in them helps to answer",
        "they contain some of the needed information, among much else",
        "they contain most of the needed information",
        "they contain all of the needed information, and little else",
    ),
    _scale(
        "response_relevancy",
        "Response relevancy",
        "Does the answer address the question? Whether it is true does not matter here.",
        "it does not address the question",
        "it is on the subject, but does not answer the question",
        "it answers a part, or a similar question",
        "it answers, but something is missing or superfluous",
        "it answers the whole question and nothing else",
    ),
    _scale(
        "faithfulness",
        "Faithfulness",
        "Do the contexts support the answer? Whether it is true in the world does not matter here.",
        "they support nothing of it, or contradict it",
        "they support little of it",
        "they support about half of it",
        "they support nearly all of it, except a detail",
        "they support all of it",
    ),
)
RAG_EVAL_SCALES = (
    _scale(
        "query_relevance",
        "Query relevance",
        "Does the answer give what the question asks for, and nothing else?",
        "it is about something else",
        "it is on the subject, and gives nothing that was asked",
        "it gives a part",
        "it gives what was asked, with something missing or superfluous",
        "it gives exactly what was asked",
    ),
    _scale(
        "factual_accuracy",
        "Factual accuracy",
        "Do the contexts say what the answer says?",
        "they contradict it, or say nothing of it",
        "they support little of it",
        "they support about half of it",
        "they support all of it except a detail",
        "they support all of it",
    ),
    _scale(
        "coverage",
        "Coverage",
        "Does the answer contain what the contexts say about the question?",
        "nothing of it",
        "little, and most main points are missing",
        "some, and a main point is missing",
        "every main point, and a detail is missing",
        "every point",
    ),
    _scale(
        "coherence",
        "Coherence",
        "Do the parts of the answer fit together?",
        "it contradicts itself or falls apart",
        "its parts stand side by side",
        "it can be followed, with gaps",
        "it is clear except for one step",
        "it is one clear line of thought",
    ),
    _scale(
        "fluency",
        "Fluency",
        "Is the answer well written? Whether it is true does not matter here.",
        "it can hardly be read",
        "it has mistakes in most sentences",
        "it can be read, with mistakes",
        "it has one slight mistake",
        "it has no mistake",
    ),
    _scale(
        "quality",
        "The answer as a whole",
        "How good is the answer, all in all?",
        "useless or misleading",
        "poor: it helps little",
        "fair: it helps, and has to be checked",
        "good: only small things are wrong or missing",
        "very good: it can be used as it is",
    ),
)
"""Akindele et al.; the last one is what weights of the others are fitted to."""
SCALE_SETS = {"kg-eval": SCALES, "rag-eval": RAG_EVAL_SCALES}
LOWEST, HIGHEST = 1, 5
_OF_CONTEXTS: frozenset[Dimension] = frozenset(
    {"context_relevancy", "faithfulness", "factual_accuracy", "coverage"}
)


def asked_of(prediction: Prediction, scales: Sequence[LabelScale]) -> list[LabelScale]:
    """The dimensions that apply: contexts and answers must exist."""
    kept = [scale for scale in scales if prediction.contexts or scale.dimension not in _OF_CONTEXTS]
    # Of contexts alone only their relevance can be judged.
    return [scale for scale in kept if prediction.answer is not None or scale.dimension == "context_relevancy"]


def labelled_scales(dimensions: Sequence[Dimension | None]) -> list[LabelScale]:
    """The scales of every set of which something was labelled."""
    said = set(dimensions)
    return [scale for own in SCALE_SETS.values() if said & {one.dimension for one in own} for scale in own]
