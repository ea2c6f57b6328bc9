"""What a measure reads of a case, and what follows where one of those sides is missing or says nothing."""

from typing import Literal

from harness.evaluators.base import NO_CONTEXTS, NO_GENERATOR, NO_REFERENCE
from harness.evaluators.normalise import abstains, canonical, normalise
from harness.evaluators.scores import not_applicable, scored
from harness.protocols import Case, Measure, RunFacts
from harness.records import Reference, Score

Side = Literal["question", "answer", "contexts", "reference"]
Sides = frozenset[Side]


def why_not(reads: Sides, reference: Reference, run: RunFacts, *, on_null_queries: bool) -> str:
    """Why a measure that reads these sides does not apply to a query; empty where it does. Blind to the answer."""
    if "answer" in reads and not run.has_generator:
        return NO_GENERATOR
    if "contexts" in reads and not run.has_contexts:
        return NO_CONTEXTS
    if "reference" in reads and not reference_answer(reference):
        return NO_REFERENCE
    if is_null(reference) and not on_null_queries:
        return "the query is a null query"
    return ""


def settled(case: Case, measure: Measure, reads: Sides, *, abstention_is_wrong: bool = False) -> Score | None:
    """The score that follows from a side that says nothing; None where there is something to read.

    An empty answer, and no context at all, are worth 0. An abstention is its own status: not applicable, or 0
    where the measure knows by the reference that it is wrong.
    """
    answer = case.prediction.answer or ""
    if "answer" in reads and not normalise(answer):
        return scored(case, measure, 0.0, "the answer is empty")
    if "answer" in reads and abstains(answer):
        reason = "the answer abstains"
        return scored(case, measure, 0.0, reason) if abstention_is_wrong else not_applicable(case, measure, reason)
    if "contexts" in reads and not any(context.text.strip() for context in case.prediction.contexts):
        return scored(case, measure, 0.0, "no contexts were retrieved")
    return None


def reference_answer(reference: Reference) -> str:
    """The first of the reference answers that says anything; empty where none does."""
    return next(iter(said(reference)), "")


def is_null(reference: Reference) -> bool:
    """Whether the right answer to this query is that there is none."""
    answers = said(reference)
    return bool(answers) and all(map(abstains, answers))


def said(reference: Reference) -> list[str]:
    """The reference answers that say anything."""
    return [answer for answer in reference.answers if canonical(answer)]
