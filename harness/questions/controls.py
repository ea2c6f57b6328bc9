"""What the judge says where the truth is known: else one that always says yes would look like a careful one."""

from collections.abc import Sequence

from harness.errors import HarnessError
from harness.evaluators.answer import is_right
from harness.questions.files import Control
from harness.questions.judging import QuestionJudging
from harness.questions.models import WriterModels
from harness.questions.nouns import Candidate

_SWAPPED, _SEARCHED = 10, 5


async def controls_of(
    models: WriterModels, judging: QuestionJudging, candidates: Sequence[Candidate]
) -> list[Control]:
    """Answers of other questions that the judge takes for the right one, and questions with an answer that the
    check of unanswerable ones finds none for. BudgetReached as always.
    """
    answerable = [one for one in candidates if one.survives and one.kind != "unanswerable"]
    found = []
    pairs = [
        (one, other)
        for one, other in zip(answerable, [*answerable[1:], *answerable[:1]], strict=True)
        if not is_right(other.answer, [one.answer])
    ][:_SWAPPED]
    if pairs:
        accepted = [await _accepted(models, judging, one, other) for one, other in pairs]
        found.append(
            Control(name="the judge accepted the answer of another question", wrong=sum(accepted), of=len(pairs))
        )
    if judging.search and any(one.kind == "unanswerable" for one in candidates):
        single = [one for one in answerable if one.kind == "single_fact"][:_SEARCHED]
        missed = [await _missed(models, judging, one) for one in single]
        if missed:
            name = "an answerable question was called unanswerable"
            found.append(Control(name=name, wrong=sum(missed), of=len(missed)))
    return found


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
