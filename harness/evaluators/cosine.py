"""Similarity of whole texts and sentences: cosines of embeddings, without a judge.

| measure `cosine_...` | value |
|--|--|
| `answer_reference` | cosine of the answer and the reference answer, the nearest of several |
| `reference_found` | mean over the reference's sentences of the highest cosine with an answer sentence: a recall |
| `answer_backed` | mean over the answer's sentences of the highest cosine with a reference sentence: a precision |
| `answer_question` | cosine of the answer and the question |
| `answer_contexts` | mean over the answer's sentences of the highest cosine with a window of the contexts |
| `contexts_question` | mean over the contexts of the highest cosine of a window with the question |

The embedder is `models.judge_embedder`; scores of different embedders are not comparable. Of several reference
answers the best counts. A text longer than the default embedder's window (256 tokens) is split into windows of
1,000 characters; its vector is their mean, weighted by length.

A cosine is not a share of anything: "A beat B" is similar to "B beat A". docs/validity.md compares these metrics
with human labels.

Not applicable: a run without a generator, or without contexts; a data set without reference answers; a null query
for metrics that read the reference or the contexts; a bare yes or no as the right answer; an answer that abstains.
An empty answer, and no context in a run that has some, score 0.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.core.scripts import SENTENCE_END
from harness.evaluators.judge_calls import JudgedEvaluator, Judgement, NotApplicable
from harness.evaluators.score_preconditions import stated_answers
from harness.evaluators.scores import graded
from harness.evaluators.text_vectors import cosines, rows_of, unit_rows, windows_of_texts
from harness.protocols import Embedder, EvaluatorSpec, Measure, Panel, PanelFigure, Params, ScoringInput, Sides

if TYPE_CHECKING:
    from harness.evaluators.text_vectors import Numbers

_FIGURE = PanelFigure(
    "cosine", "Cosines of texts", "Cosines of whole texts, or of their sentences, by embeddings", zoomed=True
)
_GOLD: Sides = frozenset({"answer", "reference"})


def _measure(name: str, title: str, summary: str, reads: Sides) -> Measure:
    about = {"section": "Cosines", "reads": reads, "range": (-1.0, 1.0), "panel": Panel(_FIGURE, title)}
    queries = "worded" if "reference" in reads else "answerable"
    return graded(f"cosine_{name}", f"cosine of {title}", summary, _FIGURE, queries=queries, **about)


class CosineEvaluator(JudgedEvaluator):
    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        return await _COMPARISONS[measure](self._runtime.embedder, case)


async def _answer_reference(embedder: Embedder, case: ScoringInput) -> Judgement:
    answer = await whole_of(embedder, _answer(case))
    found = [float(cosines(answer, await whole_of(embedder, one)).max()) for one in stated_answers(case.reference)]
    return max(found), f"the nearest of {len(found)} reference answers"


async def _reference_found(embedder: Embedder, case: ScoringInput) -> Judgement:
    answer = sentences_of(_answer(case))
    return max([await _nearest(embedder, sentences_of(one), answer) for one in stated_answers(case.reference)])


async def _answer_backed(embedder: Embedder, case: ScoringInput) -> Judgement:
    answer = sentences_of(_answer(case))
    return max([await _nearest(embedder, answer, sentences_of(one)) for one in stated_answers(case.reference)])


async def _answer_question(embedder: Embedder, case: ScoringInput) -> Judgement:
    rows = await whole_of(embedder, _answer(case)), await whole_of(embedder, case.query.text)
    return float(cosines(*rows).max()), ""


async def _answer_contexts(embedder: Embedder, case: ScoringInput) -> Judgement:
    windows = windows_of_texts(context.text for context in case.prediction.contexts)
    return await _nearest(embedder, sentences_of(_answer(case)), windows)


async def _contexts_question(embedder: Embedder, case: ScoringInput) -> Judgement:
    question = await whole_of(embedder, case.query.text)
    found = []
    for context in case.prediction.contexts:
        if windows := windows_of_texts([context.text]):
            found.append(float(cosines(await rows_of(embedder, windows), question).max()))
    return float(np.mean(found)), f"of {len(found)} contexts"


async def _nearest(embedder: Embedder, texts: Sequence[str], others: Sequence[str]) -> tuple[float, str]:
    highest = cosines(await rows_of(embedder, texts), await rows_of(embedder, others)).max(axis=1)
    return float(highest.mean()), f"{len(texts)} against {len(others)}, the lowest {highest.min():.2f}"


async def whole_of(embedder: Embedder, text: str) -> "Numbers":
    """The unit row of a whole text, shape (1, d): the mean of its windows, weighted by length."""
    windows = windows_of_texts([text])
    rows = await rows_of(embedder, windows)
    return unit_rows([text], {text: np.array([len(window) for window in windows], dtype=np.float64) @ rows})


def _answer(case: ScoringInput) -> str:
    return case.prediction.answer or ""


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that hold a letter or digit, in order; long ones in windows. NotApplicable without
    any.
    """
    found = windows_of_texts(part for part in SENTENCE_END.split(text) if any(map(str.isalnum, part)))
    if not found:
        raise NotApplicable("one of the texts has no sentence")
    return found


_COMPARISONS = {
    _measure(
        "answer_reference", "answer and reference", "cosine of the answer and the nearest reference answer", _GOLD
    ): _answer_reference,
    _measure(
        "reference_found",
        "the reference's sentences in the answer",
        "mean over the reference's sentences of the highest cosine with a sentence of the answer",
        _GOLD,
    ): _reference_found,
    _measure(
        "answer_backed",
        "the answer's sentences in the reference",
        "mean over the answer's sentences of the highest cosine with a sentence of the reference",
        _GOLD,
    ): _answer_backed,
    _measure(
        "answer_question",
        "answer and question",
        "cosine of the answer and the question",
        frozenset({"answer", "question"}),
    ): _answer_question,
    _measure(
        "answer_contexts",
        "the answer's sentences in the contexts",
        "mean over the answer's sentences of the highest cosine with a window of the contexts",
        frozenset({"answer", "contexts"}),
    ): _answer_contexts,
    _measure(
        "contexts_question",
        "contexts and question",
        "mean over the contexts of the highest cosine of a window with the question",
        frozenset({"contexts", "question"}),
    ): _contexts_question,
}
SPEC = EvaluatorSpec(
    name="cosine",
    version="4",
    summary="cosines of answer, reference, contexts and question, whole and by sentence (MiniLM; no judge)",
    params=Params,
    measures=lambda _params: tuple(_COMPARISONS),
    build=lambda _params, runtime: CosineEvaluator(runtime),
    roles=frozenset({"judge_embedder"}),
)
