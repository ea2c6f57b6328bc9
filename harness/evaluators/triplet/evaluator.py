"""The triplet evaluator: see the package."""

from collections.abc import Sequence
from dataclasses import replace

from harness.core.records import Score
from harness.evaluators.judge_calls import Judge, JudgedEvaluator
from harness.evaluators.score_preconditions import score_without_reading
from harness.evaluators.triplet.measures import MEASURES, Judging
from harness.evaluators.triplet.verdicts import PUBLISHED, TripletParams
from harness.protocols import EvaluationRuntime, EvaluatorSpec, Measure, ScoringInput


class TripletEvaluator(JudgedEvaluator):
    """The metrics of the package's table; they share the extractions of a run."""

    def __init__(self, params: TripletParams, runtime: EvaluationRuntime) -> None:
        super().__init__(runtime)
        self._params = params

    async def begin(self, _cases: Sequence[ScoringInput]) -> Judge:
        """Start the judgements of one run, which share its extractions."""
        return Judging(self._runtime, self._params).judge

    def settled(self, case: ScoringInput, measure: Measure) -> Score | None:
        """The score of an empty answer. Our metrics that read the reference check the reference first."""
        score = score_without_reading(case, measure)
        is_ours = measure.name.removeprefix("triplet_") not in PUBLISHED
        waits = is_ours and "reference" in measure.reads
        return None if score and score.status == "scored" and waits else score

    def ordered(self, cases: Sequence[ScoringInput]) -> Sequence[ScoringInput]:
        """The cosine variants last: otherwise they would wait for the same extractions as the judged metrics."""
        each = [replace(case, measures=(measure,)) for case in cases for measure in case.measures]
        return sorted(each, key=lambda case: bool(case.measures[0].twin_of))


def measures(params: TripletParams) -> tuple[Measure, ...]:
    """The selected metrics in the order of the package's table."""
    return tuple(measure for name, measure in MEASURES.items() if name in params.metrics)


SPEC = EvaluatorSpec(
    name="triplet",
    version="8",
    summary="triplets of facts: faithfulness and correctness by a judge and by cosine, relevancy of the contexts",
    params=TripletParams,
    measures=measures,
    build=TripletEvaluator,
    roles=frozenset({"judge", "judge_embedder"}),
)
