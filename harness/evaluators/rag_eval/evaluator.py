"""The RAG-Eval evaluator: the judge calls for a case, and the scores from them."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import fsum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from harness.core.records import Dimension
from harness.evaluators.context_windows import LONGEST, ContextCharacters, reading_of
from harness.evaluators.judge_calls import Judge, JudgedEvaluator, Judgement, judged_measures
from harness.evaluators.rag_eval.grades import HIGHEST
from harness.evaluators.rag_eval.prompts import (
    METRICS,
    Graded,
    GradeName,
    Material,
    ask_form,
    ask_grades,
    material,
    spoken,
)
from harness.llm_utils.concurrency import Once
from harness.llm_utils.structured_output import Unreadable
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    PanelFigure,
    Params,
    ScoringInput,
    Sides,
)

Band = Literal["trustworthy", "grounded but partial", "misaligned"]
TRUSTWORTHY_FROM = 0.75
MISALIGNED_BELOW = 0.50

_DECIMALS = 9
"""Far coarser than float errors, far finer than the difference of two weighted sums."""

Weight = Annotated[float, Field(ge=0)]


def _sum_to_one(weights: tuple[float, ...]) -> tuple[float, ...]:
    if len(weights) != len(METRICS):
        raise ValueError(f"must be five numbers that sum to 1 ({len(weights)} given)")
    if abs(fsum(weights) - 1) > 10**-_DECIMALS:
        raise ValueError(f"must be five numbers that sum to 1 (the sum is {fsum(weights):.10g})")
    return weights


Weights = Annotated[tuple[Weight, ...], AfterValidator(_sum_to_one)]
"""In the order of METRICS, none negative; they sum to 1."""


def confidence_of(grades: Mapping[GradeName, float], weights: tuple[float, ...]) -> float:
    """The weighted sum of all five normalised grades, from 0.2 to 1, to nine decimals."""
    weighted = (weight * grades[name] for name, weight in zip(METRICS, weights, strict=True))
    return round(fsum(weighted) / HIGHEST, _DECIMALS)


def band_of(confidence: float) -> Band:
    """The band of a confidence; its lower edge belongs to it."""
    if confidence >= TRUSTWORTHY_FROM:
        return "trustworthy"
    return "misaligned" if confidence < MISALIGNED_BELOW else "grounded but partial"


_FIGURE = PanelFigure(
    "judged_rag_eval", "RAG-Eval", "Grades of RAG-Eval as shares of the best grade, by a judge model"
)
_SAYS: dict[str, tuple[str, Dimension]] = {
    "confidence": ("weighted sum of the five grades", "quality"),
    "query_relevance": ("grade: does the answer give what the query asks for", "response_relevancy"),
    "factual_accuracy": ("grade: do the contexts state what the answer states", "faithfulness"),
    "coverage": ("grade: does the answer contain everything that the contexts say about the query", "coverage"),
    "coherence": ("grade: do the parts of the answer fit together", "coherence"),
    "fluency": ("grade: is the answer well written", "fluency"),
}
_READS: Sides = frozenset({"question", "answer", "contexts"})
_BAND: dict[str, Any] = {"queries": "all", "binary": True, "panel": None}
_BY_NAME = judged_measures(
    "rag_eval",
    "RAG-Eval",
    _FIGURE,
    {
        **{
            name: (says, _READS, {"queries": "all", "stands_for": to, "live": name == "confidence"})
            for name, (says, to) in _SAYS.items()
        },
        "trustworthy": ("share of answers with a confidence of .75 and more", _READS, _BAND),
        "misaligned": (
            "share of answers with a confidence below .50",
            _READS,
            {**_BAND, "failure_value": 1.0, "higher_is_better": False},
        ),
    },
)
_GRADED = {_BY_NAME[name]: name for name in METRICS}
CONFIDENCE, TRUSTWORTHY = _BY_NAME["confidence"], _BY_NAME["trustworthy"]


class RagEvalParams(Params):
    weights: Weights = (0.25, 0.25, 0.25, 0.125, 0.125)
    """Weights of query relevance, factual accuracy, coverage, coherence, fluency."""
    calls: Literal["one", "parallel", "published"] = "one"
    """The five grades of an answer in one call, or in five; `published`: five calls in the form that the paper
    prints (`harness.evaluators.rag_eval.prompts`).
    """
    context_characters: ContextCharacters = LONGEST
    """Size of a window of contexts: longer contexts are graded window by window."""


class RagEvalEvaluator(JudgedEvaluator):
    """Five grades, the confidence and its bands. If a grade fails, so does the confidence, but not the others."""

    def __init__(self, params: RagEvalParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params
        self._asked: Once[tuple[str, int, int, tuple[GradeName, ...]], Graded] = Once()

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """Calls are shared within a run."""
        self._asked = Once()
        return self.judge

    def call_of(self, measure: Measure) -> object:
        """The confidence and its bands follow from the grades."""
        name = _GRADED.get(measure)
        return METRICS if name and self._params.calls == "one" else name

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        reading = reading_of(case.prediction.contexts, self._params.context_characters)
        answer = case.prediction.answer or ""
        texts = [material(case.query.text, window.text, answer) for window in reading.windows]
        name = _GRADED.get(measure)
        grades = {one: await self._grades(case, texts, one) for one in ((name,) if name else METRICS)}
        # A fact is supported if any window states it.
        grade_of = {
            one: max(found) if one == "factual_accuracy" else reading.mean(found) for one, found in grades.items()
        }
        # What was truncated in the query or answer is the same in every window.
        cuts = texts[0].cuts
        if name:
            windows = [f"windows {' '.join(map(str, grades[name]))}"] if len(grades[name]) > 1 else []
            said = "; ".join([f"{grade_of[name]:.3g} of {HIGHEST}", *windows, *cuts])
            return grade_of[name] / HIGHEST, said, reading.share_read
        value = confidence_of(grade_of, self._params.weights)
        band = band_of(value)
        if measure == CONFIDENCE:
            listed = ", ".join(f"{spoken(one)} {grade:.3g}" for one, grade in grade_of.items())
            return value, "; ".join([f"{band}: {listed}", *cuts]), reading.share_read
        wanted = "trustworthy" if measure == TRUSTWORTHY else "misaligned"
        return float(band == wanted), f"confidence {value:g}: {band}", reading.share_read

    async def _grades(self, case: ScoringInput, windows: Sequence[Material], name: GradeName) -> list[int]:
        """The grades of each window."""
        group, record = METRICS if self._params.calls == "one" else (name,), case.record
        grades = []
        for number, texts in enumerate(windows):
            asked = partial(ask_grades, self._runtime.judge, texts, group)
            if self._params.calls == "published":
                asked = partial(ask_form, self._runtime.judge, texts, name)
            given, missing = await self._asked.of((record.query_id, record.repeat, number, group), asked)
            if name not in given:
                raise Unreadable(missing)
            grades.append(given[name])
        return grades


SPEC = EvaluatorSpec(
    name="rag_eval",
    version="9",
    summary="RAG-Eval: five grades of an answer by a judge, one confidence and its bands",
    params=RagEvalParams,
    measures=lambda _params: tuple(_BY_NAME.values()),
    build=RagEvalEvaluator,
    roles=frozenset({"judge"}),
)
