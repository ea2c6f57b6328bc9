"""The metrics and their cosine variants, one judgement at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from harness.core.records import Triplet
from harness.evaluators.answer_normalisation import canonical
from harness.evaluators.context_windows import ContextReading, reading_of
from harness.evaluators.judge_calls import Judgement, NotApplicable, judged_measure
from harness.evaluators.kg.graphs.similar_edges import TOLERANCE
from harness.evaluators.score_preconditions import reference_answer, score_without_reading
from harness.evaluators.triplet.fact_comparison import (
    cosine_matrix,
    joined,
    rounded,
    share_found,
    texts_of_triplets,
    windows_of_texts,
)
from harness.evaluators.triplet.published import PublishedJudging
from harness.evaluators.triplet.verdicts import (
    PUBLISHED,
    TripletMetric,
    TripletParams,
    questions_answered,
    stated_triplets,
    supporting_passages,
)
from harness.evaluators.triplet_extraction import judged_extractions
from harness.extraction.text_windows import windows_of
from harness.protocols import EvaluationRuntime, Measure, PanelFigure, ScoringInput, Sides

_LONGEST_ANSWER = 6_000
"""Characters of a window of an answer."""
_EQUAL = "the answer equals the reference"


_FIGURE = PanelFigure(
    "judged_triplet",
    "Triplets",
    "Triplets of facts: by a judge's verdict, or by cosine if the title says so",
)


def _measure(name: TripletMetric, summary: str, reads: Sides, **more: Any) -> Measure:
    title = name.replace("_cosine", " by cosine").replace("_published", ", as published").replace("_", " ")
    return judged_measure(f"triplet_{name}", f"{summary} (LLM-eval)", reads, _FIGURE, title=title, **more)


MEASURES: dict[TripletMetric, Measure] = {
    "response_relevancy": _measure(
        "response_relevancy",
        "cosine of the question and the nearest question that the contexts answer",
        frozenset({"question", "contexts"}),
        range=(-1.0, 1.0),
        stands_for="context_relevancy",
    ),
    "faithfulness": _measure(
        "faithfulness",
        "share of the answer's triplets that a context supports",
        frozenset({"answer", "contexts"}),
        queries="all",
        stands_for="faithfulness",
    ),
    "faithfulness_cosine": _measure(
        "faithfulness_cosine",
        "mean cosine of the answer's triplets and their nearest contexts",
        frozenset({"answer", "contexts"}),
        queries="all",
        range=(-1.0, 1.0),
        twin_of="triplet_faithfulness",
        stands_for="faithfulness",
    ),
    "factual_correctness": _measure(
        "factual_correctness",
        "share of the reference's triplets that the answer states",
        frozenset({"question", "answer", "reference"}),
        stands_for="factual_correctness",
    ),
    "factual_correctness_cosine": _measure(
        "factual_correctness_cosine",
        "share of the reference's triplets near one of the answer's by cosine",
        frozenset({"answer", "reference"}),
        twin_of="triplet_factual_correctness",
        stands_for="factual_correctness",
    ),
    "faithfulness_published": _measure(
        "faithfulness_published",
        "share of the answer's triplets that passages support which were extracted with them",
        frozenset({"answer", "contexts"}),
        queries="all",
    ),
    "faithfulness_cosine_published": _measure(
        "faithfulness_cosine_published",
        "mean cosine of the answer's triplets and the nearest of the extracted passages",
        frozenset({"answer", "contexts"}),
        queries="all",
        range=(-1.0, 1.0),
        twin_of="triplet_faithfulness_published",
    ),
    "factual_correctness_published": _measure(
        "factual_correctness_published",
        "TP / (TP + FN), as a judge counts them in the triplets of answer and reference",
        frozenset({"answer", "reference"}),
    ),
    "factual_correctness_cosine_published": _measure(
        "factual_correctness_cosine_published",
        "TP / (TP + FN), TP among the answer's triplets, FN among the reference's, by cosine",
        frozenset({"answer", "reference"}),
        twin_of="triplet_factual_correctness_published",
    ),
}
_NAMES = {measure: name for name, measure in MEASURES.items()}


class Judging:
    """The judgements of one run; each text is extracted once."""

    def __init__(self, runtime: EvaluationRuntime, params: TripletParams) -> None:
        self._runtime, self._params = runtime, params
        self._extractions = judged_extractions(runtime.judge)
        self._plans: Mapping[TripletMetric, Callable[[ScoringInput], Awaitable[Judgement]]] = {
            "response_relevancy": self._response_relevancy,
            "faithfulness": self._faithfulness,
            "faithfulness_cosine": self._faithfulness_cosine,
            "factual_correctness": self._factual_correctness,
            "factual_correctness_cosine": self._factual_correctness_cosine,
            **PublishedJudging(runtime, params).plans,
        }

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        """Value and explanation. Raises NotApplicable, Unreadable, and the errors of the models' clients."""
        name = _NAMES[measure]
        if "reference" not in measure.reads or name in PUBLISHED:
            return await self._plans[name](case)
        # The reference first: only the reference decides which queries count, not a system's answer.
        await self._reference_triplets(case)
        known = score_without_reading(case, measure)
        if known and known.value is not None:
            return known.value, known.explanation
        if canonical(case.prediction.answer or "") == canonical(reference_answer(case.reference)):
            return 1.0, _EQUAL
        return await self._plans[name](case)

    async def _response_relevancy(self, case: ScoringInput) -> Judgement:
        reading = self._reading(case)
        asked: list[str] = []
        for window in reading.windows:
            asked += await questions_answered(self._runtime.judge, window.text, self._params.questions)
        cosines = (await cosine_matrix(self._runtime.embedder, asked, [case.query.text])).max(axis=1).tolist()
        each = self._params.questions
        highest = [max(cosines[start : start + each]) for start in range(0, len(cosines), each)]
        several = f"windows {rounded(highest)}" if len(highest) > 1 else ""
        nearest = f"nearest of {len(asked)}: {asked[cosines.index(max(cosines))]}"
        return reading.mean(highest), joined(several, nearest), reading.share_read

    async def _faithfulness(self, case: ScoringInput) -> Judgement:
        triplets = await self._answer_triplets(case)
        reading = self._reading(case)
        judge = self._runtime.judge
        windows = [await supporting_passages(judge, window, triplets) for window in reading.windows]
        numbers = [next(filter(None, of_triplet), 0) for of_triplet in zip(*windows, strict=True)]
        by = f"supported, by passages {' '.join(map(str, numbers))}"
        return *share_found(triplets, [number > 0 for number in numbers], by), reading.share_read

    async def _faithfulness_cosine(self, case: ScoringInput) -> Judgement:
        facts = texts_of_triplets(await self._answer_triplets(case))
        contexts = windows_of_texts(context.text for context in case.prediction.contexts)
        cosines = (await cosine_matrix(self._runtime.embedder, facts, contexts)).max(axis=1)
        return float(cosines.mean()), f"highest cosines {rounded(cosines.tolist())}"

    async def _factual_correctness(self, case: ScoringInput) -> Judgement:
        triplets = await self._reference_triplets(case)
        judge, parts = self._runtime.judge, windows_of(case.prediction.answer or "", _LONGEST_ANSWER)
        windows = [await stated_triplets(judge, case.query.text, part, triplets) for part in parts]
        return share_found(triplets, [any(of_triplet) for of_triplet in zip(*windows, strict=True)], "stated")

    async def _factual_correctness_cosine(self, case: ScoringInput) -> Judgement:
        triplets = await self._reference_triplets(case)
        answered = await self._extractions.of(case.prediction.answer or "")
        if not answered:
            return 0.0, "no triplet was extracted from the answer"
        facts, others = texts_of_triplets(triplets), texts_of_triplets(answered)
        cosines = (await cosine_matrix(self._runtime.embedder, facts, others)).max(axis=1).tolist()
        threshold = self._params.threshold
        near = [cosine >= threshold - TOLERANCE for cosine in cosines]
        return share_found(triplets, near, f"at a cosine of {threshold:g}", rounded(cosines))

    def _reading(self, case: ScoringInput) -> ContextReading:
        return reading_of(case.prediction.contexts, self._params.context_characters)

    async def _answer_triplets(self, case: ScoringInput) -> tuple[Triplet, ...]:
        triplets = await self._extractions.of(case.prediction.answer or "")
        if not triplets:
            raise NotApplicable("no triplet was extracted from the answer")
        return triplets

    async def _reference_triplets(self, case: ScoringInput) -> tuple[Triplet, ...]:
        triplets = await self._extractions.of(reference_answer(case.reference))
        if not triplets:
            raise NotApplicable("no triplet was extracted from the reference")
        return triplets
