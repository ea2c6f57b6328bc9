"""Checks by a model, which is never asked whether a question is good.

It answers the question, and its answer is compared by the rule of accuracy; only if that says they differ is it
asked whether both mean the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import HarnessError, need
from harness.core.records import Context, Document, Evidence
from harness.core.scripts import bm25_terms
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import abstains, is_verdict
from harness.extensions.testset.documents import passages_of
from harness.extensions.testset.prompts import answer_from, same_answer, stated_answer
from harness.extensions.testset.question_records import Candidate, Control, QuestionCheck, QuestionSlot
from harness.extensions.testset.text_checks import cannot_agree, gives_away
from harness.llm_utils.answer_contract import closed_book_messages
from harness.llm_utils.concurrency import Progress
from harness.llm_utils.structured_output import ask_json
from harness.protocols import ChatModel, Message
from harness.runner.writer_models import WriterModels

if TYPE_CHECKING:
    from harness.protocols import Embedder, Vectors

PASSAGE = 800
"""Characters."""
FOUND = 8
"""Number of passages that are checked."""
_RANK_OFFSET = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""

ANSWER_TOKENS = 64

SWAPPED, SEARCHED = 10, 5
"""Maximum tries of each control."""
_ACCEPTED = "the judge accepted the answer of another question"
_MISSED = "an answerable question was called unanswerable"


class PassageSearch:
    """Lexical and vector search over all passages of some documents."""

    def __init__(self, documents: Sequence[Document], embedder: "Embedder | None") -> None:
        need("questions", "bm25s")
        self._passages = [
            Context(text=f"{title}\n{text}" if title else text, doc_ids=(document.doc_id,))
            for document in documents
            for title in (" ".join(document.title.split()),)
            for text in passages_of(document.text, PASSAGE)
        ]
        self._embedder = embedder
        self._vectors: Vectors | None = None
        words = bm25_terms([passage.text for passage in self._passages])
        self._words: Any = None
        # bm25s cannot index a corpus without any word.
        if any(words):
            import bm25s

            self._words = bm25s.BM25(method="lucene")
            self._words.index(words, show_progress=False)

    async def prepare(self) -> None:
        """Embed all passages; must run inside a charge."""
        if self._embedder and self._passages:
            self._vectors = await self._embedder.embed_documents([passage.text for passage in self._passages])

    async def search(self, question: str) -> list[Context]:
        rankings = [await asyncio.to_thread(self._by_words, question)]
        if self._embedder and self._vectors is not None:
            near = self._vectors @ await self._embedder.embed_query(question)
            rankings.append([int(place) for place in np.argsort(-near, kind="stable")[:FOUND]])
        merit: dict[int, float] = {}
        for ranking in rankings:
            for rank, place in enumerate(ranking):
                merit[place] = merit.get(place, 0.0) + 1 / (_RANK_OFFSET + rank)
        best = sorted(merit, key=lambda place: (-merit[place], place))[:FOUND]
        return [self._passages[place] for place in best]

    def _by_words(self, question: str) -> list[int]:
        (words,) = bm25_terms([question])
        if self._words is None or not words:
            return []
        scores = self._words.get_scores(words)
        return [int(place) for place in np.argsort(-scores, kind="stable")[:FOUND] if scores[place] > 0]


@dataclass(frozen=True)
class QuestionJudging:
    judge: ChatModel
    search: PassageSearch | None
    """None: no unanswerable questions are written."""

    async def check(self, candidate: Candidate, slot: QuestionSlot) -> Candidate:
        """Adds the missing verdicts up to the first failure."""
        if candidate.kind == "unanswerable":
            return candidate.checked(await _told("not_found", self.not_found(candidate.question)))
        judged = {check.name for check in candidate.checks}
        if "follows" not in judged:
            candidate = candidate.checked(await _told("follows", self._follows(candidate, slot)))
        if candidate.survives and "closed_book" not in judged:
            candidate = candidate.checked(await _told("closed_book", self._closed_book(candidate)))
        if candidate.survives and candidate.kind == "bridge":
            candidate = candidate.checked(await _told("needs_both", self._needs_both(candidate, slot)))
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
        stated = (await ask_json(self.judge, stated_answer(question, answer, passages))).value
        note = f"from {looked}: '{answer}', judged {'stated there' if stated else 'not stated there'}"
        return QuestionCheck(name="not_found", passed=not stated, note=note)

    async def _follows(self, candidate: Candidate, slot: QuestionSlot) -> QuestionCheck:
        answer = await self._from_quotes(candidate, candidate.evidence, slot)
        passed, how = await self._compared(candidate, answer)
        return QuestionCheck(name="follows", passed=passed, note=f"from the quotes: '{answer}', {how}")

    async def _closed_book(self, candidate: Candidate) -> QuestionCheck:
        guess = await self._answered(closed_book_messages(candidate.question, "short"))
        right, how = await self._compared(candidate, guess)
        note = f"without documents: '{guess}', {how}"
        if right and gives_away(candidate.question, candidate.answer):
            note = f"{note}; a guess among the named options may be right"
            return QuestionCheck(name="closed_book", passed=None, note=note)
        return QuestionCheck(name="closed_book", passed=not right, note=note)

    async def _needs_both(self, candidate: Candidate, slot: QuestionSlot) -> QuestionCheck:
        for doc_id in slot.doc_ids:
            alone = [item for item in candidate.evidence if item.doc_id == doc_id]
            answer = await self._from_quotes(candidate, alone, slot)
            if is_right(answer, [candidate.answer]):
                note = f"from the quotes of '{doc_id}' alone: '{answer}'"
                return QuestionCheck(name="needs_both", passed=False, note=note, document=doc_id)
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

    async def _from_quotes(self, candidate: Candidate, evidence: Sequence[Evidence], slot: QuestionSlot) -> str:
        headings = {one.document.doc_id: f"{one.heading}\n" for one in slot.excerpts if one.heading}
        quotes = [headings.get(item.doc_id, "") + item.fact for item in evidence]
        return await self._answered(answer_from(candidate.question, quotes, polar=is_verdict(candidate.answer)))

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


async def controls_of(
    models: WriterModels, judging: QuestionJudging, candidates: Sequence[Candidate], told: Progress
) -> list[Control]:
    """Tests the judge on known cases, because one that always says yes would look careful: answers of other
    questions, and answerable questions in the check of unanswerable ones. Raises BudgetExhausted.
    """
    answerable = [one for one in candidates if one.survives and one.kind != "unanswerable"]
    beside = zip(answerable, [*answerable[1:], *answerable[:1]], strict=True)
    swapped = [two for two in beside if not is_right(two[1].answer, [two[0].answer])][:SWAPPED]
    is_searched = judging.search and any(one.kind == "unanswerable" for one in candidates)
    single = [one for one in answerable if one.kind == "single_fact"][:SEARCHED] if is_searched else []
    wrong: list[bool] = []

    async def ask(judge: Callable[[], Awaitable[bool]]) -> None:
        """A judge that fails is not wrong."""
        async with models.charge():
            try:
                wrong.append(await judge())
            except HarnessError:
                raise
            except Exception:
                wrong.append(False)
        told(len(wrong), len(swapped) + len(single))

    for one, other in swapped:
        await ask(partial(judging.same, one.question, one.answer, other.answer))
    for one in single:
        await ask(partial(_is_called_unanswerable, judging, one.question))
    parts = ((_ACCEPTED, wrong[: len(swapped)]), (_MISSED, wrong[len(swapped) :]))
    return [Control(name=name, wrong=sum(part), of=len(part)) for name, part in parts if part]


async def _is_called_unanswerable(judging: QuestionJudging, question: str) -> bool:
    return bool((await judging.not_found(question)).passed)
