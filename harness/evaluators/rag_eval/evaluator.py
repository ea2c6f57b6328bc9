"""The RAG-Eval evaluator: the judge calls for a case, and the scores from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from harness.core.records import Dimension
from harness.evaluators.context_windows import LONGEST, ContextCharacters, ContextReading, reading_of
from harness.evaluators.judge_calls import Judge, JudgedEvaluator, Judgement
from harness.evaluators.rag_eval.confidence import (
    Weights,
    band_of,
    combined,
    confidence_of,
    normalised,
)
from harness.evaluators.rag_eval.criteria import METRICS, GradeName
from harness.evaluators.rag_eval.grades import HIGHEST
from harness.evaluators.rag_eval.grading import Graded, ask_form, ask_grades
from harness.evaluators.rag_eval.prompts import Material, material, spoken
from harness.llm_utils.concurrency import Once
from harness.protocols import (
    ChatModel,
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
    ScoringInput,
)

_SAYS: dict[GradeName, str] = {
    "query_relevance": "grade: does the answer give what the query asks for",
    "factual_accuracy": "grade: do the contexts state what the answer states",
    "coverage": "grade: does the answer contain everything that the contexts say about the query",
    "coherence": "grade: do the parts of the answer fit together",
    "fluency": "grade: is the answer well written",
}


_FIGURE = PanelFigure(
    "judged_rag_eval", "RAG-Eval", "Grades of RAG-Eval as shares of the best grade, by a judge model"
)


_STANDS_FOR: dict[str, Dimension] = {
    "query_relevance": "response_relevancy",
    "factual_accuracy": "faithfulness",
    "coverage": "coverage",
    "coherence": "coherence",
    "fluency": "fluency",
    "confidence": "quality",
}


def _measure(name: str, summary: str) -> Measure:
    return Measure(
        name=f"rag_eval_{name}",
        summary=f"{summary} (RAG-Eval)",
        failure_value=0.0,
        title=name.replace("_", " "),
        section="Judged measures",
        reads=frozenset({"question", "answer", "contexts"}),
        range=(0.0, 1.0),
        stands_for=_STANDS_FOR.get(name),
        panel=Panel(_FIGURE),
    )


_GRADED = {_measure(name, summary): name for name, summary in _SAYS.items()}
_MEASURE_OF = {name: measure for measure, name in _GRADED.items()}
CONFIDENCE = replace(_measure("confidence", "weighted sum of the five grades"), live=True)
TRUSTWORTHY = replace(
    _measure("trustworthy", "share of answers with a confidence of .75 and more"), binary=True, panel=None
)
MISALIGNED = replace(
    _measure("misaligned", "share of answers with a confidence below .50"),
    failure_value=1.0,
    higher_is_better=False,
    binary=True,
    panel=None,
)
MEASURES = (CONFIDENCE, *_GRADED, TRUSTWORTHY, MISALIGNED)


class RagEvalParams(Params):
    """Parameters of `per_evaluator.rag_eval`."""

    weights: Weights = (0.25, 0.25, 0.25, 0.125, 0.125)
    """Weights of query relevance, factual accuracy, coverage, coherence, fluency."""
    calls: Literal["one", "parallel", "published"] = "one"
    """The five grades of an answer in one call, or in five; `published`: five calls in the form that the paper
    prints (`harness.evaluators.rag_eval.forms`).
    """
    context_characters: ContextCharacters = LONGEST
    """Size of a window of contexts: longer contexts are graded window by window."""


class RagEvalEvaluator(JudgedEvaluator):
    """Five grades, the confidence and its bands. If a grade fails, so does the confidence, but not the others."""

    def __init__(self, params: RagEvalParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """The metrics of one answer share its calls."""
        return _Grading(self._params, self._runtime.judge).judge

    def ordered(self, cases: Sequence[ScoringInput]) -> Sequence[ScoringInput]:
        """Start with one metric for each call about an answer."""
        first = [_MEASURE_OF[group[0]] for group in _calls(self._params)]
        leading = [replace(case, measures=_among(case, first, within=True)) for case in cases]
        return [*leading, *(replace(case, measures=_among(case, first, within=False)) for case in cases)]


def _among(case: ScoringInput, first: Sequence[Measure], *, within: bool) -> tuple[Measure, ...]:
    return tuple(measure for measure in case.measures if (measure in first) is within)


def _calls(params: RagEvalParams) -> tuple[tuple[GradeName, ...], ...]:
    """The metrics graded in one call."""
    return (METRICS,) if params.calls == "one" else tuple((name,) for name in METRICS)


class _Grading:
    """The judgements of one run; shared calls are made once."""

    def __init__(self, params: RagEvalParams, judge: ChatModel) -> None:
        self._params, self._judge = params, judge
        self._published = params.calls == "published"
        self._together = {name: group for group in _calls(params) for name in group}
        self._asked: Once[tuple[str, int, int, tuple[GradeName, ...]], Graded] = Once()

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        """The value of a metric."""
        reading = reading_of(case.prediction.contexts, self._params.context_characters)
        texts = [_material(case, window.text) for window in reading.windows]
        value, explanation = await self._value(_Shown(case, reading, texts), measure)
        return value, explanation, reading.share_read

    async def _value(self, shown: "_Shown", measure: Measure) -> tuple[float, str]:
        if name := _GRADED.get(measure):
            grades = await self._grades(shown, name)
            grade = combined(name, grades, shown.reading)
            return normalised(grade), "; ".join([f"{grade:.3g} of {HIGHEST}", *_windows(grades), *shown.cuts])
        combined_grades = {
            name: combined(name, await self._grades(shown, name), shown.reading) for name in METRICS
        }
        value = confidence_of(combined_grades, self._params.weights)
        if measure == CONFIDENCE:
            listed = ", ".join(f"{spoken(name)} {grade:.3g}" for name, grade in combined_grades.items())
            return value, "; ".join([f"{band_of(value)}: {listed}", *shown.cuts])
        band = "trustworthy" if measure == TRUSTWORTHY else "misaligned"
        return float(band_of(value) == band), f"confidence {value:g}: {band_of(value)}"

    async def _grades(self, shown: "_Shown", name: GradeName) -> list[int]:
        """The grades of each window."""
        group, record = self._together[name], shown.case.record
        grades = []
        for number, texts in enumerate(shown.texts):
            key = (record.query_id, record.repeat, number, group)
            asked = (
                partial(ask_form, self._judge, texts, name)
                if self._published
                else (partial(ask_grades, self._judge, texts, group))
            )
            graded = await self._asked.of(key, asked)
            grades.append(graded.of(name))
        return grades


@dataclass(frozen=True)
class _Shown:
    """The parts of one answer that the judge sees, window by window."""

    case: ScoringInput
    reading: ContextReading
    texts: Sequence[Material]

    @property
    def cuts(self) -> tuple[str, ...]:
        """What was truncated in the query or answer; the same in every window."""
        return self.texts[0].cuts


SPEC = EvaluatorSpec(
    name="rag_eval",
    version="8",
    summary="RAG-Eval: five grades of an answer by a judge, one confidence and its bands",
    params=RagEvalParams,
    measures=lambda _params: MEASURES,
    build=RagEvalEvaluator,
    roles=frozenset({"judge"}),
)


def _material(case: ScoringInput, contexts: str) -> Material:
    return material(case.query.text, contexts, case.prediction.answer or "")


def _windows(grades: Sequence[int]) -> list[str]:
    """The grades of each window, if there are several."""
    return [f"windows {' '.join(map(str, grades))}"] if len(grades) > 1 else []
