"""The five measures as an evaluator: see the package."""

from collections.abc import Sequence
from dataclasses import replace

from harness.core.records import Score
from harness.evaluators.judge_calls import Judge, JudgedEvaluator
from harness.evaluators.score_preconditions import score_without_reading
from harness.evaluators.triplet.measures import MEASURES, Judging
from harness.evaluators.triplet.params import TripletParams
from harness.protocols import EvaluationRuntime, EvaluatorSpec, Measure, ScoringInput


class TripletEvaluator(JudgedEvaluator):
    """The measures of the package's table; the extractions of a run are shared by all."""

    def __init__(self, params: TripletParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """What several measures need of a text is extracted once."""
        return Judging(self._runtime, self._params).judge

    def settled(self, case: ScoringInput, measure: Measure) -> Score | None:
        """The score of an empty answer, for a metric that reads the reference: depends on the reference first."""
        score = score_without_reading(case, measure)
        return None if score and score.status == "scored" and "reference" in measure.reads else score

    def ordered(self, cases: Sequence[ScoringInput]) -> Sequence[ScoringInput]:
        """The stand-ins last: before, they would wait for the same extractions as the metrics they stand
        in for.
        """
        each = [replace(case, measures=(measure,)) for case in cases for measure in case.measures]
        return sorted(each, key=lambda case: bool(case.measures[0].twin_of))


def measures(params: TripletParams) -> tuple[Measure, ...]:
    """The chosen ones in the order of the package's table."""
    return tuple(measure for name, measure in MEASURES.items() if name in params.metrics)


SPEC = EvaluatorSpec(
    name="triplet",
    version="7",
    summary="facts as triplets: faithfulness and correctness by a judge and by cosine, relevancy of the contexts",
    params=TripletParams,
    measures=measures,
    build=TripletEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
)
