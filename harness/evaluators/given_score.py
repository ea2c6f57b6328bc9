"""The score that another tool gave an imported answer, from 0 to 1, without a model call.

It makes the other tool's own metric comparable query by query. A note of the run says which metric it is: runs
with scores of different metrics are not comparable by it. A failed query has 0, an answer without a score none.
"""

from harness.core.records import REPORTED_SCORE, Score
from harness.evaluators.score_preconditions import CaseEvaluator
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import EvaluatorSpec, Measure, Params, ScoringInput

GIVEN_SCORE = Measure(
    name="given_score",
    summary="the score that another tool gave an imported answer, from 0 to 1",
    failure_value=0.0,
    title="score of the other tool",
    section="Scores of other tools",
    reads=frozenset({"answer"}),
    range=(0.0, 1.0),
)


class GivenScoreEvaluator(CaseEvaluator):
    def scores(self, case: ScoringInput) -> list[Score]:
        said = [step.content for step in case.prediction.trace if step.name == REPORTED_SCORE]
        if not said:
            return [not_applicable(case, GIVEN_SCORE, "the imported file gives no score")]
        return [scored(case, GIVEN_SCORE, float(said[0]), "as the imported file says")]


SPEC = EvaluatorSpec(
    name="given_score",
    version="1",
    summary="the score that another tool gave an imported answer (no model call)",
    params=Params,
    measures=lambda _params: (GIVEN_SCORE,),
    build=GivenScoreEvaluator,
)
