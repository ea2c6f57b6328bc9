"""Checks by a model: the answer follows from the quotes and not without them; an unanswerable question has no
answer in what retrieval finds.

The model is never asked whether a question is good. It answers, and its answer is compared by the rule of
accuracy; only if that says they differ is it asked whether both mean the same.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from harness.core.errors import HarnessError
from harness.core.records import Evidence
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import abstains, is_verdict
from harness.extensions.testset.prompts import answer_from, same_answer, stated_answer
from harness.extensions.testset.retrieval_check import PassageSearch
from harness.extensions.testset.text_checks import cannot_agree, gives_away
from harness.extensions.testset.types import Candidate, QuestionCheck, QuestionSlot
from harness.llm_utils.answer_contract import closed_book_messages
from harness.llm_utils.structured_output import ask_json
from harness.protocols import ChatModel, Message

ANSWER_TOKENS = 64


@dataclass(frozen=True)
class QuestionJudging:
    """The models of the checks, and the searched documents."""

    judge: ChatModel
    search: PassageSearch | None
    """None: no unanswerable questions are written."""

    async def check(self, candidate: Candidate, site: QuestionSlot) -> Candidate:
        """Adds the verdicts up to the first failure."""
        if site.kind == "unanswerable":
            return candidate.checked(await _told("not_found", self.not_found(candidate.question)))
        candidate = candidate.checked(await _told("follows", self._follows(candidate, site)))
        if candidate.survives:
            candidate = candidate.checked(await _told("closed_book", self._closed_book(candidate)))
        if candidate.survives and site.kind == "bridge":
            candidate = candidate.checked(await _told("needs_both", self._needs_both(candidate, site)))
        return candidate

    async def same(self, question: str, one: str, other: str) -> bool:
        """Whether the judge says that two answers mean the same. Raises `Unreadable`."""
        return (await ask_json(self.judge, same_answer(question, one, other))).value

    async def not_found(self, question: str) -> QuestionCheck:
        """Whether the passages retrieved from all documents do not answer the question."""
        contexts = await self.search.search(question) if self.search else []
        looked = f"{len(contexts)} passages of {len({one.doc_ids for one in contexts})} documents"
        passages = [context.text for context in contexts]
        answer = await self._answered(answer_from(question, passages, polar=False))
        if abstains(answer):
            return QuestionCheck(name="not_found", passed=True, note=f"from {looked}: no answer")
        asked = stated_answer(question, answer, passages)
        stated = (await ask_json(self.judge, asked)).value
        verdict = "stated there" if stated else "not stated there"
        return QuestionCheck(
            name="not_found", passed=not stated, note=f"from {looked}: '{answer}', judged {verdict}"
        )

    async def _follows(self, candidate: Candidate, site: QuestionSlot) -> QuestionCheck:
        answer = await self._from_quotes(candidate, candidate.evidence, site)
        passed, how = await self._compared(candidate, answer)
        return QuestionCheck(name="follows", passed=passed, note=f"from the quotes: '{answer}', {how}")

    async def _closed_book(self, candidate: Candidate) -> QuestionCheck:
        guess = await self._answered(closed_book_messages(candidate.question, "short"))
        right, how = await self._compared(candidate, guess)
        note = f"without documents: '{guess}', {how}"
        if right and gives_away(candidate.question, candidate.answer):
            return QuestionCheck(
                name="closed_book", passed=None, note=f"{note}; a guess among the named options may be right"
            )
        return QuestionCheck(name="closed_book", passed=not right, note=note)

    async def _needs_both(self, candidate: Candidate, site: QuestionSlot) -> QuestionCheck:
        for doc_id in site.doc_ids:
            alone = [item for item in candidate.evidence if item.doc_id == doc_id]
            answer = await self._from_quotes(candidate, alone, site)
            if is_right(answer, [candidate.answer]):
                note = f"from the quotes of '{doc_id}' alone: '{answer}'"
                return QuestionCheck(name="needs_both", passed=False, note=note)
        return QuestionCheck(name="needs_both", passed=True)

    async def _compared(self, candidate: Candidate, answer: str) -> tuple[bool, str]:
        """Whether an answer is that of the candidate, and how that was decided."""
        if is_right(answer, [candidate.answer]):
            return True, "equal"
        if abstains(answer) or not answer:
            return False, "no answer"
        if cannot_agree(answer, candidate.answer):
            return False, "another"
        same = await self.same(candidate.question, candidate.answer, answer)
        return same, "judged the same" if same else "judged another"

    async def _from_quotes(self, candidate: Candidate, evidence: Sequence[Evidence], site: QuestionSlot) -> str:
        quotes, polar = [_quote(item, site) for item in evidence], is_verdict(candidate.answer)
        return await self._answered(answer_from(candidate.question, quotes, polar=polar))

    async def _answered(self, messages: Sequence[Message]) -> str:
        return (await self.judge.complete(messages, max_tokens=ANSWER_TOKENS)).strip()


async def _told(name: str, verdict: Awaitable[QuestionCheck]) -> QuestionCheck:
    """The verdict; if the judge gives none or a call fails, the check counts as failed."""
    try:
        return await verdict
    except HarnessError:
        raise
    except Exception as error:
        note = f"no verdict ({type(error).__name__}: {str(error)[:200]})"
        return QuestionCheck(name=name, passed=False, note=note)


def _quote(item: Evidence, site: QuestionSlot) -> str:
    headings = (one.heading for one in site.excerpts if one.document.doc_id == item.doc_id)
    heading = next(headings, "")
    return f"{heading}\n{item.fact}" if heading else item.fact
