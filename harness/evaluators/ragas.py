"""Seven metrics of ragas 0.4.3, asked over the metered seam instead of through `ragas.evaluate()`.

| measure `ragas_...` | reads (and the question) | value | calls |
|--|--|--|--|
| `context_precision_no_reference` | answer, contexts | mean precision at useful contexts' ranks | one a context |
| `context_precision` | reference, contexts | likewise, useful for the reference answer | one a context |
| `context_recall` | reference, contexts | share of the reference's sentences that the contexts state | 1 |
| `faithfulness` | answer, contexts | share of the answer's statements that the contexts imply | 2 |
| `factual_correctness` | answer, reference; no question | F1 of the claims of the two, to two decimals | 4 |
| `response_relevancy` | answer | mean cosine of the question and those asked back from the answer | `strictness` |
| `context_relevance` | contexts | mean of two ratings 0, 1, 2, divided by 2 | 2 |

Prompts, parsing, the repair of a reply that cannot be read (up to three more calls) and formulas are the
package's (Es et al. 2024, https://arxiv.org/abs/2309.15217; context relevance is NVIDIA's). The reference is the
first of the reference answers; contexts are the texts that the generator saw, in rank order.

What differs from `ragas.evaluate()`, each because a value would otherwise be silent or wrong:

- `ragas.evaluate()` turns a failure into NaN; here it is a failed score with its reason. Also failed: a reply that
  ends within its JSON (LangChain's parser would complete what max_tokens cut off), a verdict other than 0 and 1
  (the package takes any other number for 1), and an empty list of statements, claims or verdicts (in the package
  NaN for faithfulness and context recall, 0 for factual correctness).
- Context relevance: the package takes any reply that holds the digit 2 for a 2, so also "0 out of 2"; here the
  first number of the reply must agree with that. A reply without a rating is not asked for again, and both prompts
  must be rated; the package asks five times and then makes do with the first prompt alone.
- The temperature is the judge's (0 unless configured), not 0.01, 0.1 or 0.3 by metric. At temperature 0 one
  question asked back is as good as three, so `strictness` is 1, not 3: more make sense with a temperature above 0
  and no seed. Each is a call of its own, since servers count the tokens of n choices differently.
- With `constrained` (the default) the server holds the judge to the JSON schema that stands in the prompt, with
  verdicts 0 or 1, so that a small model's replies can be read. `constrained: false`
  asks just what the package asks.

Where a query or an answer leaves nothing to ask, nothing is asked:

| | score |
|--|--|
| no generator, no contexts in the whole run, no reference answer | not applicable to what reads it |
| a null query (the corpus does not hold the answer) | only faithfulness and response relevancy apply |
| an empty answer | 0 in whatever reads the answer |
| an abstention | 0 in factual correctness, where the reference says that it is wrong; else not applicable |
| no context, in a run that has them | 0 in whatever reads contexts: nothing is useful, nothing implies anything |

KG-eval used ragas 0.3.3. Its prompts and formulas are the same, but its context relevance saw only the first 7,000
characters of the contexts, and its response relevancy was 0 if any (now: if all) of the questions asked back came
with the verdict "evasive answer".
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, get_args

from pydantic import Field

from harness.errors import MissingDependency
from harness.evaluators.judged import Judgement, judge_each
from harness.evaluators.ragas_metrics.asking import Asking, MetricName, Row
from harness.evaluators.sides import Sides, reference_answer, settled, why_not
from harness.protocols import Case, EvaluationRuntime, EvaluatorSpec, Measure, Params, RunFacts
from harness.records import Reference, Score

if TYPE_CHECKING:
    from harness.evaluators.ragas_metrics.judging import Ragas

RAGAS_VERSION = "0.4.3"
_PREFIX = "ragas_"


@dataclass(frozen=True)
class _Metric:
    """What a metric reads beside the question, and whether it means anything where no answer exists."""

    summary: str
    reads: Sides
    on_null_queries: bool = False
    lowest: float = 0.0


_METRICS: dict[MetricName, _Metric] = {
    "context_precision_no_reference": _Metric(
        "useful contexts rank first, judged by the answer (RAGAS)", frozenset({"answer", "contexts"})
    ),
    "context_precision": _Metric(
        "useful contexts rank first, judged by the reference (RAGAS)", frozenset({"reference", "contexts"})
    ),
    "context_recall": _Metric(
        "share of the reference that the contexts state (RAGAS)", frozenset({"reference", "contexts"})
    ),
    "faithfulness": _Metric(
        "share of the answer's statements that the contexts imply (RAGAS)",
        frozenset({"answer", "contexts"}),
        on_null_queries=True,
    ),
    "factual_correctness": _Metric(
        "F1 of the claims of answer and reference (RAGAS)", frozenset({"answer", "reference"})
    ),
    "response_relevancy": _Metric(
        "cosine of the question and one asked back from the answer (RAGAS)",
        frozenset({"answer"}),
        on_null_queries=True,
        lowest=-1.0,
    ),
    "context_relevance": _Metric(
        "do the contexts hold what answers the question (RAGAS)", frozenset({"contexts"})
    ),
}


class RagasParams(Params):
    """What `per_evaluator.ragas` may set."""

    metrics: tuple[MetricName, ...] = Field(get_args(MetricName), min_length=1)
    strictness: int = Field(1, ge=1, le=10)
    """Questions asked back for response relevancy, a call each; a judge of temperature 0 asks the same again."""
    constrained: bool = True
    """Hold the judge to the JSON schema of each prompt. False: as `ragas.evaluate()` asks."""


class RagasEvaluator:
    """The metrics of the table above."""

    def __init__(self, params: RagasParams, runtime: EvaluationRuntime) -> None:
        check_ragas(params)
        self._runtime = runtime
        embedder = runtime.embedder if "response_relevancy" in params.metrics else None
        self._asking = Asking(runtime.judge, embedder, params.strictness, params.constrained)

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """No generator, no contexts or no reference where the metric reads them; most metrics on null queries."""
        metric = _metric(measure)
        return why_not(metric.reads, reference, run, on_null_queries=metric.on_null_queries)

    async def evaluate(self, cases: Sequence[Case]) -> list[Score]:
        """Every measure of every case; each judgement is charged and fails by itself."""
        scores: list[Score] = []
        asked: list[Case] = []
        for case in cases:
            known = {measure: _without_judge(case, measure) for measure in case.measures}
            scores += [score for score in known.values() if score]
            if left := tuple(measure for measure, score in known.items() if not score):
                asked.append(replace(case, measures=left))
        return scores + await judge_each(asked, self._runtime, self._judge)

    def close(self) -> None:
        """Nothing is open."""

    @cached_property
    def _ragas(self) -> "Ragas":
        return load_ragas()(self._asking)

    async def _judge(self, case: Case, measure: Measure) -> Judgement:
        return await self._ragas.score(_name(measure), _row(case))


def measures(params: RagasParams) -> tuple[Measure, ...]:
    """The chosen metrics in the order of the table above."""
    return tuple(
        Measure(name=_PREFIX + name, summary=metric.summary, failure_value=0.0, range=(metric.lowest, 1.0))
        for name, metric in _METRICS.items()
        if name in params.metrics
    )


def load_ragas() -> "type[Ragas]":
    """The metrics; the first call imports ragas, which takes seconds."""
    # Else it calls home, and where there is no network waits for it.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    from harness.evaluators.ragas_metrics.judging import Ragas

    return Ragas


def check_ragas(_params: Params) -> None:
    """Raise MissingDependency unless ragas is installed in the version whose values are promised here."""
    try:
        found = version("ragas")
    except PackageNotFoundError:
        found = ""
    if found != RAGAS_VERSION:
        what = f"ragas {found} is installed, not {RAGAS_VERSION}" if found else "ragas is not installed"
        raise MissingDependency(what, "pip install 'rag-harness[ragas]'")


SPEC = EvaluatorSpec(
    name="ragas",
    version="1",
    summary="RAGAS 0.4.3: context precision, recall, relevance; faithfulness, correctness, relevancy (by a judge)",
    params=RagasParams,
    measures=measures,
    build=RagasEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
    preflight=check_ragas,
)


def _without_judge(case: Case, measure: Measure) -> Score | None:
    """The score that follows from there being nothing to judge; None where the judge is to be asked."""
    reads = _metric(measure).reads
    return settled(case, measure, reads, abstention_is_wrong="reference" in reads)


def _row(case: Case) -> Row:
    return Row(
        question=case.query.text,
        answer=case.prediction.answer or "",
        contexts=tuple(context.text for context in case.prediction.contexts),
        reference=reference_answer(case.reference),
    )


def _metric(measure: Measure) -> _Metric:
    return _METRICS[_name(measure)]


def _name(measure: Measure) -> MetricName:
    return next(name for name in _METRICS if _PREFIX + name == measure.name)
