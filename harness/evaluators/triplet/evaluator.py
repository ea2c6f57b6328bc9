"""The triplet evaluator: the metrics of the package's table, one judgement at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from harness.core.records import Score, Triplet
from harness.evaluators.answer_normalisation import canonical
from harness.evaluators.context_windows import ContextReading, reading_of
from harness.evaluators.judge_calls import Judge, Judgement, NotApplicable, judged_measures
from harness.evaluators.kg.graphs.graph import TOLERANCE
from harness.evaluators.score_preconditions import reference_answer, score_without_reading
from harness.evaluators.text_vectors import cosine_matrix, windows_of_texts
from harness.evaluators.triplet.published import PublishedMetrics
from harness.evaluators.triplet.verdicts import (
    MATERIAL,
    PUBLISHED,
    TripletMetric,
    TripletParams,
    ask,
    joined,
    rounded,
    share_found,
    texts_of_triplets,
    verdicts_on,
)
from harness.evaluators.triplet_extraction import judged_extractions
from harness.extraction.text_windows import Extractions, windows_of
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.structured_output import list_of, string_of
from harness.protocols import EvaluatorSpec, Measure, PanelFigure, ScoringInput, Sides

_LONGEST_ANSWER = 6_000
"""Characters of a window of an answer."""
_LONGEST_QUESTION = 160
_FIGURE = PanelFigure(
    "judged_triplet",
    "Triplets",
    "Triplets of facts: by a judge's verdict, or by cosine if the title says so",
)


_FAITHFUL: Sides = frozenset({"answer", "contexts"})
_CORRECT: Sides = frozenset({"answer", "reference"})
_DESCRIBED: dict[TripletMetric, tuple[str, Sides, dict[str, Any]]] = {
    "response_relevancy": (
        "cosine of the question and the nearest question that the contexts answer",
        frozenset({"question", "contexts"}),
        {"range": (-1.0, 1.0), "stands_for": "context_relevancy"},
    ),
    "faithfulness": (
        "share of the answer's triplets that a context supports",
        _FAITHFUL,
        {"queries": "all", "stands_for": "faithfulness"},
    ),
    "faithfulness_cosine": (
        "mean cosine of the answer's triplets and their nearest contexts",
        _FAITHFUL,
        {"queries": "all", "range": (-1.0, 1.0), "twin_of": "triplet_faithfulness", "stands_for": "faithfulness"},
    ),
    "factual_correctness": (
        "share of the reference's triplets that the answer states",
        frozenset({"question", "answer", "reference"}),
        {"stands_for": "factual_correctness"},
    ),
    "factual_correctness_cosine": (
        "share of the reference's triplets near one of the answer's by cosine",
        _CORRECT,
        {"twin_of": "triplet_factual_correctness", "stands_for": "factual_correctness"},
    ),
    "faithfulness_published": (
        "share of the answer's triplets that passages support which were extracted with them",
        _FAITHFUL,
        {"queries": "all"},
    ),
    "faithfulness_cosine_published": (
        "mean cosine of the answer's triplets and the nearest of the extracted passages",
        _FAITHFUL,
        {"queries": "all", "range": (-1.0, 1.0), "twin_of": "triplet_faithfulness_published"},
    ),
    "factual_correctness_published": (
        "TP / (TP + FN), as a judge counts them in the triplets of answer and reference",
        _CORRECT,
        {},
    ),
    "factual_correctness_cosine_published": (
        "TP / (TP + FN), TP among the answer's triplets, FN among the reference's, by cosine",
        _CORRECT,
        {"twin_of": "triplet_factual_correctness_published"},
    ),
}
MEASURES = judged_measures("triplet", "LLM-eval", _FIGURE, _DESCRIBED)
_NAMES = {measure: name for name, measure in MEASURES.items()}


class TripletEvaluator(PublishedMetrics):
    """A method for each metric, by its name; each text of a run is extracted once."""

    _extractions: Extractions

    async def begin(self, cases: Sequence[ScoringInput]) -> Judge:
        self._extractions = judged_extractions(self._runtime.judge)
        return await super().begin(cases)

    def settled(self, case: ScoringInput, measure: Measure) -> Score | None:
        """The score of an empty answer. Our metrics that read the reference check the reference first."""
        score = score_without_reading(case, measure)
        is_ours = measure.name.removeprefix("triplet_") not in PUBLISHED
        waits = is_ours and "reference" in measure.reads
        return None if score and score.status == "scored" and waits else score

    def call_of(self, measure: Measure) -> object:
        """A cosine variant reads what its judged metric extracts."""
        return measure.twin_of or measure.name

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        name = _NAMES[measure]
        judged: Callable[[ScoringInput], Awaitable[Judgement]] = getattr(self, name)
        if "reference" not in measure.reads or name in PUBLISHED:
            return await judged(case)
        # The reference first: only the reference decides which queries count, not a system's answer.
        await self._reference_triplets(case)
        known = score_without_reading(case, measure)
        if known and known.value is not None:
            return known.value, known.explanation
        if canonical(case.prediction.answer or "") == canonical(reference_answer(case.reference)):
            return 1.0, "the answer equals the reference"
        return await judged(case)

    async def response_relevancy(self, case: ScoringInput) -> Judgement:
        reading = self._reading(case)
        asked: list[str] = []
        each = self._params.questions
        for window in reading.windows:
            asked += await self._questions(window.text, each)
        cosines = (await cosine_matrix(self._runtime.embedder, asked, [case.query.text])).max(axis=1).tolist()
        highest = [max(cosines[start : start + each]) for start in range(0, len(cosines), each)]
        several = f"windows {rounded(highest)}" if len(highest) > 1 else ""
        nearest = f"nearest of {len(asked)}: {asked[cosines.index(max(cosines))]}"
        return reading.mean(highest), joined(several, nearest), reading.share_read

    async def _questions(self, text: str, count: int) -> list[str]:
        """This number of questions that the text answers, written in one call without knowing the query."""
        wanted = "one short question" if count == 1 else f"{count} different short questions"
        task = (
            f"Write {wanted} that the text answers. Each can be understood without the text: it names the people, "
            'things and places that it asks about. Reply with JSON only: {"questions": ["..."]}'
        )
        schema = {"questions": {**list_of(string_of(_LONGEST_QUESTION), count), "minItems": count}}

        def read(reply: Mapping[str, Any]) -> list[str]:
            listed = reply.get("questions")
            if not isinstance(listed, list) or len(listed) != count:
                raise ValueError(f"no list of {count} questions")
            if not all(isinstance(one, str) and one.strip() for one in listed):
                raise ValueError("one of its questions is empty or no text")
            return [" ".join(one.split())[:_LONGEST_QUESTION] for one in listed]

        system, user = f"You write questions about a text. {RULE}\n{task}", f"{quoted('text', text)}\n\n{task}"
        # 160 characters are about 40 tokens.
        return await ask(self._runtime.judge, system, user, schema, read, 20 + 50 * count)

    async def faithfulness(self, case: ScoringInput) -> Judgement:
        triplets = await self._answer_triplets(case)
        reading = self._reading(case)
        windows = [
            await verdicts_on(
                self._runtime.judge,
                triplets,
                role=f"You look for the passage that supports a statement. {MATERIAL}",
                task="For each statement give the number of the passage that states it, or 0 if no passage does.",
                material=quoted("passages", window.text),
                name="passages",
                numbers=window.ranks,
            )
            for window in reading.windows
        ]
        numbers = [next(filter(None, of_triplet), 0) for of_triplet in zip(*windows, strict=True)]
        by = f"supported, by passages {' '.join(map(str, numbers))}"
        return *share_found(triplets, [number > 0 for number in numbers], by), reading.share_read

    async def faithfulness_cosine(self, case: ScoringInput) -> Judgement:
        facts = texts_of_triplets(await self._answer_triplets(case))
        contexts = windows_of_texts(context.text for context in case.prediction.contexts)
        cosines = (await cosine_matrix(self._runtime.embedder, facts, contexts)).max(axis=1)
        return float(cosines.mean()), f"highest cosines {rounded(cosines.tolist())}"

    async def factual_correctness(self, case: ScoringInput) -> Judgement:
        triplets = await self._reference_triplets(case)
        windows = [
            await verdicts_on(
                self._runtime.judge,
                triplets,
                role=f"You compare an answer to a question with statements. {MATERIAL}",
                task="For each statement give 1 if the answer, as a reply to the question, says the same in any "
                "words, and 0 if it says something else or nothing about it.",
                material=f"{quoted('question', case.query.text)}\n\n{quoted('answer', part)}",
                name="stated",
            )
            for part in windows_of(case.prediction.answer or "", _LONGEST_ANSWER)
        ]
        return share_found(triplets, [any(of_triplet) for of_triplet in zip(*windows, strict=True)], "stated")

    async def factual_correctness_cosine(self, case: ScoringInput) -> Judgement:
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
        return await self._triplets(case.prediction.answer or "", "answer")

    async def _reference_triplets(self, case: ScoringInput) -> tuple[Triplet, ...]:
        return await self._triplets(reference_answer(case.reference), "reference")

    async def _triplets(self, text: str, side: str) -> tuple[Triplet, ...]:
        if triplets := await self._extractions.of(text):
            return triplets
        raise NotApplicable(f"no triplet was extracted from the {side}")


SPEC = EvaluatorSpec(
    name="triplet",
    version="9",
    summary="triplets of facts: faithfulness and correctness by a judge and by cosine, relevancy of the contexts",
    params=TripletParams,
    measures=lambda params: tuple(measure for name, measure in MEASURES.items() if name in params.metrics),
    build=TripletEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
)
