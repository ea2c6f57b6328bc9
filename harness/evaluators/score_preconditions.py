"""The texts that a metric reads, and its score if one of them is missing or empty."""

from collections.abc import Iterable, Sequence

from harness.core.records import Reference, Score
from harness.evaluators.answer_normalisation import abstains, canonical, is_verdict, normalise
from harness.evaluators.run_scoring import NO_CONTEXTS, NO_GENERATOR, NO_REFERENCE
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import EvaluationRuntime, Measure, Params, RunFacts, ScoringInput


class CaseEvaluator:
    """Base of evaluators that score each case alone, without a model: override `scores`."""

    def __init__(self, params: Params, runtime: EvaluationRuntime) -> None:
        """Neither is needed."""

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        return why_not(measure, reference, run)

    def scores(self, case: ScoringInput) -> Iterable[Score]:
        """Every measure of the case."""
        raise NotImplementedError

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        return [score for case in cases for score in self.scores(case)]

    def close(self) -> None:
        """Nothing to close."""


def why_not(measure: Measure, reference: Reference, run: RunFacts) -> str:
    """Why a metric does not apply to a query; empty if it does. Independent of the answer."""
    if "answer" in measure.reads and not run.has_generator:
        return NO_GENERATOR
    if "contexts" in measure.reads and not run.has_contexts:
        return NO_CONTEXTS
    if "reference" in measure.reads and not stated_answers(reference):
        return NO_REFERENCE
    return _of_another_kind(measure, reference)


def _of_another_kind(measure: Measure, reference: Reference) -> str:
    if measure.queries in {"answerable", "worded"} and is_null(reference):
        return "the query is a null query"
    if measure.queries == "worded" and is_only_verdict(reference):
        return "the right answer is a bare yes or no"
    if measure.queries == "null" and not is_null(reference):
        return "the query is answerable"
    return ""


def score_without_reading(
    case: ScoringInput, measure: Measure, *, abstention_is_wrong: bool = False
) -> Score | None:
    """The score if a text is empty; None if the texts must be read.

    An empty answer, or no context at all, gets the worst value. An abstention is not applicable, or gets the worst
    value if the reference shows that it is wrong.
    """
    answer, least = case.prediction.answer or "", measure.failure_value or 0.0
    if "answer" in measure.reads and not normalise(answer):
        return scored(case, measure, least, "the answer is empty")
    if "answer" in measure.reads and abstains(answer):
        reason = "the answer abstains"
        if abstention_is_wrong:
            return scored(case, measure, least, reason)
        return not_applicable(case, measure, reason)
    if "contexts" in measure.reads and not any(context.text.strip() for context in case.prediction.contexts):
        return scored(case, measure, least, "no contexts were retrieved")
    return None


def reference_answer(reference: Reference) -> str:
    """The first of the reference answers that is not blank; empty if there is none."""
    return next(iter(stated_answers(reference)), "")


def is_null(reference: Reference) -> bool:
    """Whether the right answer to this query is that there is none."""
    answers = stated_answers(reference)
    return bool(answers) and all(map(abstains, answers))


def is_only_verdict(reference: Reference) -> bool:
    """Whether the right answer to this query is a bare yes or no."""
    answers = stated_answers(reference)
    return bool(answers) and all(map(is_verdict, answers))


def stated_answers(reference: Reference) -> list[str]:
    return [answer for answer in reference.answers if canonical(answer)]
