"""ROUGE-L F1 of answer and reference (Lin 2004), without a model call.

    precision = longest common subsequence of words / words of the answer
    recall = longest common subsequence of words / words of the reference

Words are those of `harness.evaluators.support`: runs of letters and digits in lower case, without citations, and
without stemming. Of several references the best counts. A long answer is penalised by its precision, and function
words count.

Not applicable: no reference, a null query, an answer that abstains. An empty answer scores 0.
"""

from harness.core.records import Score
from harness.evaluators.score_preconditions import CaseEvaluator, score_without_reading, stated_answers
from harness.evaluators.scores import graded, scored
from harness.evaluators.support import common_subsequence, words_of
from harness.protocols import EvaluatorSpec, PanelFigure, Params, ScoringInput

ROUGE_L = graded(
    "rouge_l",
    "ROUGE-L",
    "F1 of the longest common subsequence of answer and reference, in words (ROUGE-L)",
    PanelFigure("rouge", "ROUGE", "Words of the reference in the answer, in order"),
    section="Words of answer and reference",
    reads=frozenset({"answer", "reference"}),
)


def rouge_l(answer: str, reference: str) -> float:
    """ROUGE-L F1, 0 to 1."""
    said, wanted = words_of(answer), words_of(reference)
    if not said or not wanted:
        return 0.0
    return 2 * common_subsequence(said, wanted) / (len(said) + len(wanted))


class RougeEvaluator(CaseEvaluator):
    def scores(self, case: ScoringInput) -> list[Score]:
        if known := score_without_reading(case, ROUGE_L):
            return [known]
        answers = stated_answers(case.reference)
        value = max(rouge_l(case.prediction.answer or "", reference) for reference in answers)
        return [scored(case, ROUGE_L, value, f"the nearest of {len(answers)} reference answers")]


SPEC = EvaluatorSpec(
    name="rouge",
    version="2",
    summary="ROUGE-L F1 of answer and reference (no model call)",
    params=Params,
    measures=lambda _params: (ROUGE_L,),
    build=RougeEvaluator,
)
