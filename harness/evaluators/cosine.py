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

from collections.abc import Awaitable, Callable, Sequence
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


_MEAN = "mean over the {} of the highest cosine with a {}"
MEASURES = (
    _measure(
        "answer_reference", "answer and reference", "cosine of the answer and the nearest reference answer", _GOLD
    ),
    _measure(
        "reference_found",
        "the reference's sentences in the answer",
        _MEAN.format("reference's sentences", "sentence of the answer"),
        _GOLD,
    ),
    _measure(
        "answer_backed",
        "the answer's sentences in the reference",
        _MEAN.format("answer's sentences", "sentence of the reference"),
        _GOLD,
    ),
    _measure(
        "answer_question",
        "answer and question",
        "cosine of the answer and the question",
        frozenset({"answer", "question"}),
    ),
    _measure(
        "answer_contexts",
        "the answer's sentences in the contexts",
        _MEAN.format("answer's sentences", "window of the contexts"),
        frozenset({"answer", "contexts"}),
    ),
    _measure(
        "contexts_question",
        "contexts and question",
        "mean over the contexts of the highest cosine of a window with the question",
        frozenset({"contexts", "question"}),
    ),
)


class CosineEvaluator(JudgedEvaluator):
    """A method for each metric, by its name."""

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        compare: Callable[[ScoringInput, str], Awaitable[Judgement]]
        compare = getattr(self, measure.name.removeprefix("cosine_"))
        return await compare(case, case.prediction.answer or "")

    async def answer_reference(self, case: ScoringInput, answer: str) -> Judgement:
        row, references = await self._whole(answer), stated_answers(case.reference)
        found = [float(cosines(row, await self._whole(one)).max()) for one in references]
        return max(found), f"the nearest of {len(found)} reference answers"

    async def reference_found(self, case: ScoringInput, answer: str) -> Judgement:
        said, references = sentences_of(answer), stated_answers(case.reference)
        return max([await self._nearest(sentences_of(one), said) for one in references])

    async def answer_backed(self, case: ScoringInput, answer: str) -> Judgement:
        said, references = sentences_of(answer), stated_answers(case.reference)
        return max([await self._nearest(said, sentences_of(one)) for one in references])

    async def answer_question(self, case: ScoringInput, answer: str) -> Judgement:
        return float(cosines(await self._whole(answer), await self._whole(case.query.text)).max()), ""

    async def answer_contexts(self, case: ScoringInput, answer: str) -> Judgement:
        windows = windows_of_texts(context.text for context in case.prediction.contexts)
        return await self._nearest(sentences_of(answer), windows)

    async def contexts_question(self, case: ScoringInput, _answer: str) -> Judgement:
        question, embedder = await self._whole(case.query.text), self._runtime.embedder
        listed = (windows_of_texts([context.text]) for context in case.prediction.contexts)
        found = [float(cosines(await rows_of(embedder, one), question).max()) for one in listed if one]
        return float(np.mean(found)), f"of {len(found)} contexts"

    async def _whole(self, text: str) -> "Numbers":
        return await whole_of(self._runtime.embedder, text)

    async def _nearest(self, texts: Sequence[str], others: Sequence[str]) -> tuple[float, str]:
        rows, their_rows = [await rows_of(self._runtime.embedder, each) for each in (texts, others)]
        highest = cosines(rows, their_rows).max(axis=1)
        return float(highest.mean()), f"{len(texts)} against {len(others)}, the lowest {highest.min():.2f}"


async def whole_of(embedder: Embedder, text: str) -> "Numbers":
    """The unit row of a whole text, shape (1, d): the mean of its windows, weighted by length."""
    windows = windows_of_texts([text])
    rows = await rows_of(embedder, windows)
    return unit_rows([text], {text: np.array([len(window) for window in windows], dtype=np.float64) @ rows})


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that hold a letter or digit, in order; long ones in windows. NotApplicable without
    any.
    """
    found = windows_of_texts(part for part in SENTENCE_END.split(text) if any(map(str.isalnum, part)))
    if not found:
        raise NotApplicable("one of the texts has no sentence")
    return found


SPEC = EvaluatorSpec(
    name="cosine",
    version="4",
    summary="cosines of answer, reference, contexts and question, whole and by sentence (MiniLM; no judge)",
    params=Params,
    measures=lambda _params: MEASURES,
    build=lambda _params, runtime: CosineEvaluator(runtime),
    roles=frozenset({"judge_embedder"}),
)
