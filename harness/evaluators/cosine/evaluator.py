"""The cosine evaluator: see the package."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from harness.evaluators.cosine.text_vectors import highest, mean_of, parts_of, rows_of, sentences_of, whole_of
from harness.evaluators.judge_calls import Judge, JudgedEvaluator, Judgement, NotApplicable
from harness.evaluators.score_preconditions import stated_answers
from harness.protocols import (
    Embedder,
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
    ScoringInput,
    Sides,
)

_FIGURE = PanelFigure(
    "cosine", "Cosines of texts", "Cosines of whole texts, or of their sentences, by embeddings", zoomed=True
)
_GOLD: Sides = frozenset({"answer", "reference"})


def _measure(name: str, title: str, summary: str, reads: Sides) -> Measure:
    return Measure(
        name=f"cosine_{name}",
        summary=summary,
        failure_value=0.0,
        title=f"cosine of {title}",
        section="Cosines",
        reads=reads,
        queries="worded" if "reference" in reads else "answerable",
        range=(-1.0, 1.0),
        panel=Panel(_FIGURE, title),
    )


ANSWER_REFERENCE = _measure(
    "answer_reference", "answer and reference", "cosine of the answer and the nearest reference answer", _GOLD
)
REFERENCE_FOUND = _measure(
    "reference_found",
    "the reference's sentences in the answer",
    "mean over the reference's sentences of the highest cosine with a sentence of the answer",
    _GOLD,
)
ANSWER_BACKED = _measure(
    "answer_backed",
    "the answer's sentences in the reference",
    "mean over the answer's sentences of the highest cosine with a sentence of the reference",
    _GOLD,
)
ANSWER_QUESTION = _measure(
    "answer_question",
    "answer and question",
    "cosine of the answer and the question",
    frozenset({"answer", "question"}),
)
ANSWER_CONTEXTS = _measure(
    "answer_contexts",
    "the answer's sentences in the contexts",
    "mean over the answer's sentences of the highest cosine with a window of the contexts",
    frozenset({"answer", "contexts"}),
)
CONTEXTS_QUESTION = _measure(
    "contexts_question",
    "contexts and question",
    "mean over the contexts of the highest cosine of a window with the question",
    frozenset({"contexts", "question"}),
)
MEASURES = (
    ANSWER_REFERENCE,
    REFERENCE_FOUND,
    ANSWER_BACKED,
    ANSWER_QUESTION,
    ANSWER_CONTEXTS,
    CONTEXTS_QUESTION,
)


class CosineEvaluator(JudgedEvaluator):
    """The cosine metrics; each text is embedded once."""

    def __init__(self, _params: Params, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """Each metric compares two lists of texts."""
        embedder = self._runtime.embedder

        async def judge(case: ScoringInput, measure: Measure) -> Judgement:
            return await _COMPARISONS[measure](embedder, case)

        return judge


async def _answer_reference(embedder: Embedder, case: ScoringInput) -> Judgement:
    answer = await whole_of(embedder, _answer(case))
    found = [highest(answer, await whole_of(embedder, one))[0] for one in stated_answers(case.reference)]
    return max(found), f"the nearest of {len(found)} reference answers"


async def _reference_found(embedder: Embedder, case: ScoringInput) -> Judgement:
    answer = _sentences(_answer(case))
    return max([await _nearest(embedder, _sentences(one), answer) for one in stated_answers(case.reference)])


async def _answer_backed(embedder: Embedder, case: ScoringInput) -> Judgement:
    answer = _sentences(_answer(case))
    return max([await _nearest(embedder, answer, _sentences(one)) for one in stated_answers(case.reference)])


async def _answer_question(embedder: Embedder, case: ScoringInput) -> Judgement:
    rows = await whole_of(embedder, _answer(case)), await whole_of(embedder, case.query.text)
    return highest(*rows)[0], ""


async def _answer_contexts(embedder: Embedder, case: ScoringInput) -> Judgement:
    windows = [window for context in case.prediction.contexts for window in parts_of(context.text)]
    return await _nearest(embedder, _sentences(_answer(case)), windows)


async def _contexts_question(embedder: Embedder, case: ScoringInput) -> Judgement:
    question = await whole_of(embedder, case.query.text)
    found = []
    for context in case.prediction.contexts:
        if windows := parts_of(context.text):
            found.append(max(highest(await rows_of(embedder, windows), question)))
    return mean_of(found), f"of {len(found)} contexts"


_COMPARISONS: Mapping[Measure, Callable[[Embedder, ScoringInput], Awaitable[Judgement]]] = {
    ANSWER_REFERENCE: _answer_reference,
    REFERENCE_FOUND: _reference_found,
    ANSWER_BACKED: _answer_backed,
    ANSWER_QUESTION: _answer_question,
    ANSWER_CONTEXTS: _answer_contexts,
    CONTEXTS_QUESTION: _contexts_question,
}


async def _nearest(embedder: Embedder, texts: Sequence[str], others: Sequence[str]) -> tuple[float, str]:
    cosines = highest(await rows_of(embedder, texts), await rows_of(embedder, others))
    return mean_of(cosines), f"{len(texts)} against {len(others)}, the lowest {min(cosines):.2f}"


def _answer(case: ScoringInput) -> str:
    return case.prediction.answer or ""


def _sentences(text: str) -> list[str]:
    """Raises NotApplicable for a text without words."""
    found = sentences_of(text)
    if not found:
        raise NotApplicable("one of the texts has no sentence")
    return found


SPEC = EvaluatorSpec(
    name="cosine",
    version="3",
    summary="cosines of answer, reference, contexts and question, whole and by sentence (MiniLM; no judge)",
    params=Params,
    measures=lambda _params: MEASURES,
    build=CosineEvaluator,
    roles=frozenset({"judge_embedder"}),
)
