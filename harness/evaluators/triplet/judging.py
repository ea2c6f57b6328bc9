"""The five measures, one judgement at a time."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from harness.evaluators.extracted import judged_extractions, texts_of
from harness.evaluators.judged import Judgement, NotApplicable, judged_measure
from harness.evaluators.kg.graphs.similar import TOLERANCE
from harness.evaluators.normalise import canonical
from harness.evaluators.sides import reference_answer, settled
from harness.evaluators.triplet.cosine import highest_cosines, texts_of_triplets, windows_of_contexts
from harness.evaluators.triplet.excerpts import excerpts
from harness.evaluators.triplet.questions import LONGEST, questions_answered
from harness.evaluators.triplet.verdicts import stated_in, supporting_passages
from harness.protocols import Case, EvaluationRuntime, Measure, PanelFigure, Sides
from harness.records import Triplet

TripletMetric = Literal[
    "response_relevancy",
    "faithfulness",
    "faithfulness_cosine",
    "factual_correctness",
    "factual_correctness_cosine",
]
_LONGEST_PASSAGES = 12_000
_LONGEST_ANSWER = 6_000
_EQUAL = "the answer equals the reference"


_FIGURE = PanelFigure(
    "judged_triplet",
    "Triplets",
    "Facts as triplets: by a judge's verdict, and by cosine where the title says so",
)


def _measure(name: TripletMetric, summary: str, reads: Sides, **more: Any) -> Measure:
    title = name.replace("_cosine", " by cosine").replace("_", " ")
    return judged_measure(f"triplet_{name}", f"{summary} (LLM-eval)", reads, _FIGURE, title=title, **more)


MEASURES: dict[TripletMetric, Measure] = {
    "response_relevancy": _measure(
        "response_relevancy",
        "cosine of the question and the nearest that the contexts answer",
        frozenset({"question", "contexts"}),
        range=(-1.0, 1.0),
    ),
    "faithfulness": _measure(
        "faithfulness",
        "share of the answer's triplets that a context supports",
        frozenset({"answer", "contexts"}),
        queries="all",
    ),
    "faithfulness_cosine": _measure(
        "faithfulness_cosine",
        "mean cosine of the answer's triplets and their nearest contexts",
        frozenset({"answer", "contexts"}),
        queries="all",
        range=(-1.0, 1.0),
        twin_of="triplet_faithfulness",
    ),
    "factual_correctness": _measure(
        "factual_correctness",
        "share of the reference's triplets that the answer states",
        frozenset({"question", "answer", "reference"}),
    ),
    "factual_correctness_cosine": _measure(
        "factual_correctness_cosine",
        "share of the reference's triplets near one of the answer's by cosine",
        frozenset({"answer", "reference"}),
        twin_of="triplet_factual_correctness",
    ),
}
_NAMES = {measure: name for name, measure in MEASURES.items()}


class Judging:
    """The judgements of one run: what several of them need of a text is extracted once."""

    def __init__(self, runtime: EvaluationRuntime, questions: int, threshold: float) -> None:
        self._runtime = runtime
        self._questions, self._threshold = questions, threshold
        self._extractions = judged_extractions(runtime.judge)
        self._plans: Mapping[TripletMetric, Callable[[Case], Awaitable[Judgement]]] = {
            "response_relevancy": self._response_relevancy,
            "faithfulness": self._faithfulness,
            "faithfulness_cosine": self._faithfulness_cosine,
            "factual_correctness": self._factual_correctness,
            "factual_correctness_cosine": self._factual_correctness_cosine,
        }

    async def judge(self, case: Case, measure: Measure) -> Judgement:
        """Value and explanation. Raises NotApplicable, Unreadable, and whatever the models' clients raise."""
        name = _NAMES[measure]
        if "reference" not in measure.reads:
            return await self._plans[name](case)
        # Asked first, so that the reference alone decides which queries count, not what a system answers to them.
        await self._reference_triplets(case)
        known = settled(case, measure)
        if known and known.value is not None:
            return known.value, known.explanation
        if canonical(case.prediction.answer or "") == canonical(reference_answer(case.reference)):
            return 1.0, _EQUAL
        return await self._plans[name](case)

    async def _response_relevancy(self, case: Case) -> Judgement:
        read = excerpts(texts_of(case.prediction.contexts), LONGEST)
        asked = await questions_answered(self._runtime.judge, read.texts, self._questions)
        cosines = await highest_cosines(self._runtime.embedder, asked, [case.query.text])
        best = asked[int(cosines.argmax())]
        return float(cosines.max()), _joined(read.note, f"nearest of {len(asked)}: {best}")

    async def _faithfulness(self, case: Case) -> Judgement:
        triplets = await self._answer_triplets(case)
        read = excerpts(texts_of(case.prediction.contexts), _LONGEST_PASSAGES)
        numbers = await supporting_passages(self._runtime.judge, read.texts, triplets)
        by = f"supported, by passages {' '.join(map(str, numbers))}"
        return _share(triplets, [number > 0 for number in numbers], by, read.note)

    async def _faithfulness_cosine(self, case: Case) -> Judgement:
        facts = texts_of_triplets(await self._answer_triplets(case))
        contexts = windows_of_contexts(case.prediction.contexts)
        cosines = await highest_cosines(self._runtime.embedder, facts, contexts)
        return float(cosines.mean()), f"highest cosines {_rounded(cosines.tolist())}"

    async def _factual_correctness(self, case: Case) -> Judgement:
        triplets = await self._reference_triplets(case)
        read = excerpts([case.prediction.answer or ""], _LONGEST_ANSWER)
        stated = await stated_in(self._runtime.judge, case.query.text, read.texts[0], triplets)
        return _share(triplets, [number > 0 for number in stated], "stated", read.note)

    async def _factual_correctness_cosine(self, case: Case) -> Judgement:
        triplets = await self._reference_triplets(case)
        answered = await self._extractions.of(case.prediction.answer or "")
        if not answered:
            return 0.0, "the answer states no triplet"
        facts, others = texts_of_triplets(triplets), texts_of_triplets(answered)
        cosines = (await highest_cosines(self._runtime.embedder, facts, others)).tolist()
        near = [cosine >= self._threshold - TOLERANCE for cosine in cosines]
        return _share(triplets, near, f"at a cosine of {self._threshold:g}", _rounded(cosines))

    async def _answer_triplets(self, case: Case) -> tuple[Triplet, ...]:
        triplets = await self._extractions.of(case.prediction.answer or "")
        if not triplets:
            raise NotApplicable("the answer states no triplet")
        return triplets

    async def _reference_triplets(self, case: Case) -> tuple[Triplet, ...]:
        triplets = await self._extractions.of(reference_answer(case.reference))
        if not triplets:
            raise NotApplicable("the reference states no triplet")
        return triplets


def _share(triplets: Sequence[Triplet], found: Sequence[bool], how: str, note: str) -> Judgement:
    """How many were found, and the first that was not."""
    missing = [" | ".join(triplet) for triplet, is_found in zip(triplets, found, strict=True) if not is_found]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    count = f"{sum(found)} of {len(found)} {how}"
    return sum(found) / len(found), _joined(count, note, f"not: {missing[0]}{more}" if missing else "")


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _rounded(cosines: Sequence[float]) -> str:
    return " ".join(f"{cosine:.2f}" for cosine in cosines)
