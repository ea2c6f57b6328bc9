"""The texts that a metric reads, and its score if one of them is missing or empty."""

from functools import lru_cache

from harness.core.records import Reference, Score
from harness.evaluators.answer_normalisation import abstains, canonical, is_verdict, normalise
from harness.evaluators.run_scoring import NO_CONTEXTS, NO_GENERATOR, NO_REFERENCE
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import Measure, RunFacts, ScoringInput


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
    """The kind of the query, if the metric is about another kind."""
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
    return _say_nothing(reference.answers)


@lru_cache(maxsize=4096)
def _say_nothing(reference_answers: tuple[str, ...]) -> bool:
    # Cached, because a report checks the same references for every run.
    answers = _non_blank(reference_answers)
    return bool(answers) and all(map(abstains, answers))


def is_only_verdict(reference: Reference) -> bool:
    """Whether the right answer to this query is a bare yes or no."""
    answers = stated_answers(reference)
    return bool(answers) and all(map(is_verdict, answers))


def stated_answers(reference: Reference) -> list[str]:
    """The reference answers that are not blank."""
    return _non_blank(reference.answers)


def _non_blank(answers: tuple[str, ...]) -> list[str]:
    return [answer for answer in answers if canonical(answer)]
