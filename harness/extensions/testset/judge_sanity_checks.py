"""Tests the judge on known cases: one that always says yes would otherwise look careful."""

from collections.abc import Sequence

from harness.core.errors import HarnessError
from harness.evaluators.answer import is_right
from harness.extensions.testset.model_checks import QuestionJudging
from harness.extensions.testset.models import WriterModels
from harness.extensions.testset.types import Candidate
from harness.extensions.testset.work_folder import Control
from harness.llm_utils.bounded_concurrency import Progress

SWAPPED, SEARCHED = 10, 5
"""Maximum tries of each control."""
_ACCEPTED = "the judge accepted the answer of another question"
_MISSED = "an answerable question was called unanswerable"


async def controls_of(
    models: WriterModels, judging: QuestionJudging, candidates: Sequence[Candidate], told: Progress
) -> list[Control]:
    """Answers of other questions that the judge accepts as right, and questions with an answer for which the check
    of unanswerable ones finds none. Raises BudgetReached.
    """
    answerable = [one for one in candidates if one.survives and one.kind != "unanswerable"]
    beside = zip(answerable, [*answerable[1:], *answerable[:1]], strict=True)
    swapped = [two for two in beside if not is_right(two[1].answer, [two[0].answer])][:SWAPPED]
    is_searched = judging.search and any(one.kind == "unanswerable" for one in candidates)
    single = [one for one in answerable if one.kind == "single_fact"][:SEARCHED] if is_searched else []
    wrong: list[bool] = []
    for one, other in swapped:
        wrong.append(await _accepted(models, judging, one, other))
        told(len(wrong), len(swapped) + len(single))
    for one in single:
        wrong.append(await _missed(models, judging, one))
        told(len(wrong), len(swapped) + len(single))
    parts = ((_ACCEPTED, wrong[: len(swapped)]), (_MISSED, wrong[len(swapped) :]))
    return [Control(name=name, wrong=sum(part), of=len(part)) for name, part in parts if part]


async def _accepted(models: WriterModels, judging: QuestionJudging, one: Candidate, other: Candidate) -> bool:
    with models.charge():
        try:
            return await judging.same(one.question, one.answer, other.answer)
        except HarnessError:
            raise
        except Exception:
            return False


async def _missed(models: WriterModels, judging: QuestionJudging, one: Candidate) -> bool:
    with models.charge():
        try:
            return bool((await judging.not_found(one.question)).passed)
        except HarnessError:
            raise
        except Exception:
            return False
