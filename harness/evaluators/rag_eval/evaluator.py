"""The evaluator: what is asked of the judge for a case, and which scores follow."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from pydantic import Field

from harness.asking.once import Once
from harness.evaluators.judged import Judge, JudgedEvaluator, Judgement
from harness.evaluators.rag_eval.confidence import Weights, band_of, confidence_of, normalised
from harness.evaluators.rag_eval.grades import HIGHEST
from harness.evaluators.rag_eval.grading import Graded, Grades, ask_grades
from harness.evaluators.rag_eval.prompts import METRICS, GradeName, Material, material, spoken
from harness.protocols import (
    Case,
    ChatModel,
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    Panel,
    PanelFigure,
    Params,
)

_SAYS: dict[GradeName, str] = {
    "query_relevance": "grade of how far the answer gives what the query asks for",
    "factual_accuracy": "grade of how far the contexts state what the answer states",
    "coverage": "grade of how much of what the contexts say on the query the answer holds",
    "coherence": "grade of how well the parts of the answer fit together",
    "fluency": "grade of how well the answer is written",
}


_FIGURE = PanelFigure(
    "judged_rag_eval", "RAG-Eval", "Grades of RAG-Eval as shares of the best grade, by a judge model"
)


def _measure(name: str, summary: str) -> Measure:
    return Measure(
        name=f"rag_eval_{name}",
        summary=f"{summary} (RAG-Eval)",
        failure_value=0.0,
        title=name.replace("_", " "),
        section="Judged measures",
        reads=frozenset({"answer", "contexts"}),
        range=(0.0, 1.0),
        panel=Panel(_FIGURE),
    )


_GRADED = {_measure(name, summary): name for name, summary in _SAYS.items()}
_MEASURE_OF = {name: measure for measure, name in _GRADED.items()}
CONFIDENCE = _measure("confidence", "weighted sum of the five grades")
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
    """What `per_evaluator.rag_eval` may set."""

    weights: Weights = (0.25, 0.25, 0.25, 0.125, 0.125)
    """Of query relevance, factual accuracy, coverage, coherence, fluency."""
    calls: Literal["one", "parallel"] = "one"
    """The five grades of an answer in one call, or in five."""
    context_characters: int = Field(6_000, ge=1)
    """What the judge is sent of the contexts; the default fits into a window of 8,192 tokens with all else."""


class RagEvalEvaluator(JudgedEvaluator):
    """Five grades, the confidence and its bands; a grade that fails takes the confidence with it, not the
    others."""

    def __init__(self, params: RagEvalParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params

    async def begin(self, _cases: Sequence[Case]) -> Judge:
        """The calls about one answer are shared by its measures."""
        return _Grading(self._params, self._runtime.judge).judge

    def ordered(self, cases: Sequence[Case]) -> Sequence[Case]:
        """First one measure for each call about an answer."""
        first = [_MEASURE_OF[group[0]] for group in _calls(self._params)]
        leading = [replace(case, measures=_among(case, first, within=True)) for case in cases]
        return [*leading, *(replace(case, measures=_among(case, first, within=False)) for case in cases)]


def _among(case: Case, first: Sequence[Measure], *, within: bool) -> tuple[Measure, ...]:
    return tuple(measure for measure in case.measures if (measure in first) is within)


def _calls(params: RagEvalParams) -> tuple[tuple[GradeName, ...], ...]:
    """The grades that are asked for together."""
    return (METRICS,) if params.calls == "one" else tuple((name,) for name in METRICS)


class _Grading:
    """The judgements of one run; calls that several of them need are made once."""

    def __init__(self, params: RagEvalParams, judge: ChatModel) -> None:
        self._params, self._judge = params, judge
        self._together = {name: group for group in _calls(params) for name in group}
        self._asked: Once[tuple[str, int, tuple[GradeName, ...]], Graded] = Once()

    async def judge(self, case: Case, measure: Measure) -> Judgement:
        """The value of any measure."""
        texts = _material(case, self._params.context_characters)
        if name := _GRADED.get(measure):
            grade = await self._grade(case, texts, name)
            return normalised(grade), "; ".join([f"{grade} of {HIGHEST}", *texts.cuts])
        grades: Grades = {name: await self._grade(case, texts, name) for name in METRICS}
        value = confidence_of(grades, self._params.weights)
        if measure == CONFIDENCE:
            return value, "; ".join([f"{band_of(value)}: {_listed(grades)}", *texts.cuts])
        band = "trustworthy" if measure == TRUSTWORTHY else "misaligned"
        return float(band_of(value) == band), f"confidence {value:g}: {band_of(value)}"

    async def _grade(self, case: Case, texts: Material, name: GradeName) -> int:
        group = self._together[name]
        key = (case.record.query_id, case.record.repeat, group)
        graded = await self._asked.of(key, partial(ask_grades, self._judge, texts, group))
        return graded.of(name)


SPEC = EvaluatorSpec(
    name="rag_eval",
    version="1",
    summary="RAG-Eval: five grades of an answer by a judge, one confidence and its bands",
    params=RagEvalParams,
    measures=lambda _params: MEASURES,
    build=RagEvalEvaluator,
    roles=frozenset({"judge"}),
)


def _material(case: Case, context_characters: int) -> Material:
    contexts = [context.text for context in case.prediction.contexts]
    return material(case.query.text, contexts, case.prediction.answer or "", context_characters)


def _listed(grades: Grades) -> str:
    return ", ".join(f"{spoken(name)} {grade}" for name, grade in grades.items())
