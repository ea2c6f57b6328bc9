"""The five measures as an evaluator: see the package."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from pydantic import Field

from harness.evaluators.judged import judge_each
from harness.evaluators.sides import settled, why_not
from harness.evaluators.triplet.judging import METRICS, PREFIX, Judging, MetricName, name_of
from harness.protocols import Case, EvaluationRuntime, EvaluatorSpec, Measure, Params, RunFacts
from harness.records import Reference, Score


class TripletParams(Params):
    """What `per_evaluator.triplet` may set."""

    metrics: tuple[MetricName, ...] = Field(get_args(MetricName), min_length=1)
    questions: int = Field(3, ge=1, le=10)
    """Written from the contexts for response relevancy, in one call."""
    threshold: float = Field(0.9, ge=-1, le=1)
    """The cosine from which two triplets are one fact, in `factual_correctness_cosine`."""


class TripletEvaluator:
    """Every judgement is charged and fails by itself."""

    def __init__(self, params: TripletParams, runtime: EvaluationRuntime) -> None:
        self._params, self._runtime = params, runtime

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """No generator, no contexts or no reference where the measure reads them; most on null queries."""
        metric = METRICS[name_of(measure)]
        return why_not(metric.reads, reference, run, on_null_queries=metric.on_null_queries)

    async def evaluate(self, cases: Sequence[Case]) -> list[Score]:
        """Every measure of every case; the extractions of a run are shared by all."""
        scores: list[Score] = []
        asked: list[Case] = []
        for one in (replace(case, measures=(measure,)) for case in cases for measure in case.measures):
            if score := _without_judge(one, one.measures[0]):
                scores.append(score)
            else:
                asked.append(one)
        # The twins last: beside the measures they stand in for, they would wait for the same extractions.
        asked.sort(key=lambda case: bool(case.measures[0].twin_of))
        judging = Judging(self._runtime, self._params.questions, self._params.threshold)
        return scores + await judge_each(asked, self._runtime, judging.judge)

    def close(self) -> None:
        """Nothing is open."""


def measures(params: TripletParams) -> tuple[Measure, ...]:
    """The chosen ones in the order of the package's table."""
    return tuple(
        Measure(
            name=PREFIX + name,
            summary=metric.summary,
            failure_value=0.0,
            range=(metric.lowest, 1.0),
            twin_of=PREFIX + metric.twin_of if metric.twin_of else "",
        )
        for name, metric in METRICS.items()
        if name in params.metrics
    )


SPEC = EvaluatorSpec(
    name="triplet",
    version="1",
    summary="facts as triplets: faithfulness and correctness by a judge and by cosine, relevancy of the contexts",
    params=TripletParams,
    measures=measures,
    build=TripletEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
)


def _without_judge(case: Case, measure: Measure) -> Score | None:
    """The score that follows from there being nothing to judge; None where the judge is to be asked. What an empty
    answer is worth to a measure that reads the reference, the reference decides first.
    """
    reads = METRICS[name_of(measure)].reads
    score = settled(case, measure, reads)
    return None if score and score.status == "scored" and "reference" in reads else score
