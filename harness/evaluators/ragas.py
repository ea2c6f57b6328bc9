"""Metrics of ragas 0.4.3, called through the metered client instead of `ragas.evaluate()`.

| measure `ragas_...` | reads (and the question) | value | calls |
|--|--|--|--|
| `context_precision_no_reference` | answer, contexts | mean precision at useful contexts' ranks | one a context |
| `context_precision` | reference, contexts | likewise, useful for the reference answer | one a context |
| `context_recall` | reference, contexts | share of the reference's sentences that the contexts state | 1 |
| `faithfulness` | answer, contexts | share of the answer's statements that the contexts imply | 2 |
| `factual_correctness` | answer, reference; no question | F1 of the claims of the two, to two decimals | 4 |
| `answer_correctness` | answer, reference | .75 * F1 of their statements + .25 * cosine of the texts | 3 |
| `coverage` | answer, reference; no question | share of the reference's claims that the answer implies | 2 |
| `response_relevancy` | answer | mean cosine of the question and generated questions | `strictness` |
| `context_relevance` | contexts | mean of two ratings 0, 1, 2, divided by 2 | 2 |

Prompts, parsing, the repair of an invalid reply (up to three more calls) and formulas are the package's (Es et al.
2024, https://arxiv.org/abs/2309.15217; context relevance is NVIDIA's). The reference is the first of the reference
answers; contexts are those that the generator saw. Answer correctness and coverage are judged only if `metrics`
names them: with ROUGE-L and faithfulness they are the measures of GraphRAG-Bench, which has prompts of its own.
The package has no coverage: claims and verdicts are those of its factual correctness, in one direction.

Contexts longer than `context_characters` are judged window by window (`harness.evaluators.context_windows`), never
truncated. A statement, or a sentence of the reference, is supported if any window supports it (where the judge
splits the reference otherwise for each window, the best one's share counts); a context of several parts is useful
if any is; context relevance is that of the best window. So a statement that needs two windows counts as
unsupported, and a long prompt has more chances. With one window the values are the package's.

Differences from `ragas.evaluate()`, each of which avoids a silent or wrong value:

- A failure is a failed score with its reason, not NaN. Also failed: truncated JSON, a verdict other than 0 and 1
  (the package reads any other number as 1), an empty list of statements, claims or verdicts, a blank statement or
  claim, another number of verdicts than of statements or claims, and in answer correctness TP + FP other than the
  answer's statements or FN beyond the reference's.
- Context relevance: the package reads any reply with the digit 2 as a 2, even "0 out of 2"; here the first
  number of the reply must agree. A reply without a rating is not retried, and both prompts need a rating.
- The temperature is the judge's, not 0.01, 0.1 or 0.3 by metric. At temperature 0 one generated question is as
  good as three, so `strictness` is 1, not 3. Each is a separate call, because servers count the tokens of n
  choices differently.
- With `constrained` (the default) the server enforces the JSON schema of the prompt, with verdicts 0 or 1,
  so that replies of small models are valid. `constrained: false` sends the package's requests unchanged.

Cases that need no judge:

| | score |
|--|--|
| no generator, no contexts in the whole run, no reference answer | metrics that read it are not applicable |
| a null query (the corpus does not contain the answer) | only faithfulness and response relevancy apply |
| an empty answer | 0 in metrics that read the answer |
| an abstention | 0 in factual correctness if the reference shows that it is wrong; otherwise not applicable |
| no context, in a run that has them | 0 in metrics that read contexts |

KG-eval used ragas 0.3.3. Its prompts and formulas are the same, but its context relevance saw only the first 7,000
characters of the contexts, and its response relevancy was 0 if any (now: if all) of the generated questions had
the verdict "evasive answer".
"""

from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, get_args

from pydantic import Field

from harness.core.errors import MissingDependency, install
from harness.core.records import Score
from harness.evaluators.context_windows import LONGEST, ContextCharacters, reading_of
from harness.evaluators.judge_calls import JudgedEvaluator, Judgement, judged_measures
from harness.evaluators.ragas_rows import RagasMetric, RagasRow
from harness.evaluators.score_preconditions import reference_answer, score_without_reading
from harness.evaluators.scores import scored
from harness.protocols import (
    EvaluationRuntime,
    EvaluatorSpec,
    Measure,
    PanelFigure,
    Params,
    ScoringInput,
    Side,
    Sides,
)

if TYPE_CHECKING:
    from harness.evaluators.ragas_adapter import Ragas

RAGAS_VERSION = "0.4.3"
_ON_REQUEST: frozenset[RagasMetric] = frozenset({"answer_correctness", "coverage"})
"""Metrics that are judged only if a config names them; the others are the default."""
_FIGURE = PanelFigure("judged_ragas", "RAGAS", "Scores of RAGAS, by a judge model and its embedder")


_CONTEXTS, _ANSWER = frozenset[Side]({"contexts"}), frozenset[Side]({"answer"})
_REFERENCE, _QUESTION = frozenset[Side]({"reference"}), frozenset[Side]({"question"})
_DESCRIBED: dict[RagasMetric, tuple[str, Sides, dict[str, Any]]] = {
    "context_precision_no_reference": (
        "precision of context ranking, usefulness judged by the answer",
        _QUESTION | _ANSWER | _CONTEXTS,
        {},
    ),
    "context_precision": (
        "precision of context ranking, usefulness judged by the reference",
        _QUESTION | _REFERENCE | _CONTEXTS,
        {},
    ),
    "context_recall": ("share of the reference that the contexts state", _QUESTION | _REFERENCE | _CONTEXTS, {}),
    "faithfulness": (
        "share of the answer's statements that the contexts imply",
        _QUESTION | _ANSWER | _CONTEXTS,
        {"queries": "all", "stands_for": "faithfulness"},
    ),
    "factual_correctness": (
        "F1 of the claims of answer and reference",
        _ANSWER | _REFERENCE,
        {"stands_for": "factual_correctness"},
    ),
    "answer_correctness": (
        "F1 of the statements of answer and reference, and the cosine of the two",
        _QUESTION | _ANSWER | _REFERENCE,
        {"stands_for": "factual_correctness"},
    ),
    "coverage": ("share of the reference's claims that the answer implies", _ANSWER | _REFERENCE, {}),
    "response_relevancy": (
        "cosine of the question and a question generated from the answer",
        _QUESTION | _ANSWER,
        {"queries": "all", "range": (-1.0, 1.0), "stands_for": "response_relevancy"},
    ),
    "context_relevance": (
        "relevance of the contexts to the question",
        _QUESTION | _CONTEXTS,
        {"stands_for": "context_relevancy"},
    ),
}
_MEASURES = judged_measures("ragas", "RAGAS", _FIGURE, _DESCRIBED)
_NAMES = {measure: name for name, measure in _MEASURES.items()}


class RagasParams(Params):
    metrics: tuple[RagasMetric, ...] = Field(
        tuple(name for name in get_args(RagasMetric) if name not in _ON_REQUEST), min_length=1
    )
    strictness: int = Field(1, ge=1, le=10)
    """Questions generated for response relevancy, one call each; at temperature 0 they are all the same."""
    constrained: bool = True
    """Enforce the JSON schema of each prompt. False: as in `ragas.evaluate()`."""
    context_characters: ContextCharacters = LONGEST
    """Size of a window of contexts: longer contexts are judged window by window."""


class RagasEvaluator(JudgedEvaluator):
    def __init__(self, params: RagasParams, runtime: EvaluationRuntime) -> None:
        check_ragas(params)
        super().__init__(runtime)
        self._params = params

    def settled(self, case: ScoringInput, measure: Measure) -> Score | None:
        """An abstention is wrong if the reference says so; contexts that only repeat the question are not relevant
        to it, as in the package.
        """
        if score := score_without_reading(case, measure, abstention_is_wrong="reference" in measure.reads):
            return score
        texts = "\n".join(context.text for context in case.prediction.contexts)
        if _NAMES[measure] == "context_relevance" and texts.strip() in case.query.text.strip():
            return scored(case, measure, 0.0, "the contexts say nothing beyond the question")
        return None

    @cached_property
    def _ragas(self) -> "Ragas":
        """Imports ragas, which takes seconds."""
        from harness.evaluators.ragas_adapter import Ragas

        embeds = {"response_relevancy", "answer_correctness"} & set(self._params.metrics)
        embedder = self._runtime.embedder if embeds else None
        return Ragas(self._runtime.judge, embedder, self._params.strictness, self._params.constrained)

    async def judge(self, case: ScoringInput, measure: Measure) -> Judgement:
        # Without contexts one call is enough, however many windows they would fill.
        contexts = case.prediction.contexts if "contexts" in measure.reads else ()
        reading = reading_of(contexts, self._params.context_characters)
        row = RagasRow(
            question=case.query.text,
            answer=case.prediction.answer or "",
            contexts=tuple(unit.text for unit in reading.units),
            reference=reference_answer(case.reference),
            windows=tuple(window.text for window in reading.windows),
            ranks=tuple(unit.rank for unit in reading.units),
        )
        value, explanation = await self._ragas.score(_NAMES[measure], row)
        return (value, explanation, reading.share_read) if "contexts" in measure.reads else (value, explanation)


def check_ragas(_params: Params) -> None:
    """Raise MissingDependency if the supported version of ragas is not installed."""
    try:
        found = version("ragas")
    except PackageNotFoundError:
        found = ""
    if found != RAGAS_VERSION:
        what = f"ragas {found} is installed, not {RAGAS_VERSION}" if found else "ragas is not installed"
        raise MissingDependency(what, install("evaluator-ragas"))


SPEC = EvaluatorSpec(
    name="ragas",
    version="8",
    summary="RAGAS 0.4.3: context precision, recall, relevance; faithfulness, correctness, relevancy (by a judge)",
    params=RagasParams,
    measures=lambda params: tuple(measure for name, measure in _MEASURES.items() if name in params.metrics),
    build=RagasEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
    preflight=check_ragas,
)
