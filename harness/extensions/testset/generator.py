"""Writes candidates and checks them, in waves.

A wave takes a few new slots for each kind of which questions are missing, in order. So the candidates depend only
on verdicts, never on the timing of calls, and a run that was killed, or stopped by its budget, ends like an
uninterrupted one. Each candidate is checked as soon as it is written, so that a slow model finishes some before a
budget ends.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.errors import BudgetExhausted, HarnessError, ModelUnavailable
from harness.core.hashing import short_digest
from harness.core.records import Evidence, Usage
from harness.extensions.testset.model_checks import (
    ANSWER_TOKENS,
    FOUND,
    PASSAGE,
    SEARCHED,
    SWAPPED,
    QuestionJudging,
)
from harness.extensions.testset.prompts import VERDICT_TOKENS, WRITER_TOKENS, draft_question
from harness.extensions.testset.question_records import Candidate, QuestionCheck, QuestionSlot, candidate_id
from harness.extensions.testset.question_slots import Order
from harness.extensions.testset.text_checks import (
    Distinct,
    check_all_rows,
    check_names_occur,
    check_quotes,
    gives_away,
    left_out,
    stands_alone,
    well_formed,
)
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.llm_utils.structured_output import ask_json
from harness.runner.writer_models import WriterModels
from harness.statistics.estimate import CHARACTERS_PER_TOKEN
from harness.statistics.prices import Prices, usage_usd

_WAVE = 5
"""Candidates per kind that are under way before it is known how many of them pass."""
_TRIED = 5
"""Candidates of which at least one must be readable; otherwise the model is unsuitable."""

_PROMPT = 1_200
"""Characters of a short prompt: the answer instructions, a question, some quotes."""


class QuestionGenerator:
    """Writes and checks; `candidates` always holds what is finished."""

    def __init__(
        self, models: WriterModels, judging: QuestionJudging, orders: Sequence[Order], told: Progress
    ) -> None:
        """`told`: called with the numbers of questions kept and wanted."""
        self._models, self._judging, self._orders, self._told = models, judging, orders, told
        self._wanted = sum(order.wanted for order in orders)
        self._waiting = {order.kind: list(order.slots) for order in orders}
        self._done: dict[str, list[Candidate]] = {order.kind: [] for order in orders}
        self._simpler: list[Candidate] = []
        """Failed bridge questions as questions for a single fact, with their checks."""
        self._distinct = Distinct(models.embedder)
        self._n_kept = self._n_drafted = self._n_readable = 0
        self.stopped: BudgetExhausted | None = None

    @property
    def candidates(self) -> list[Candidate]:
        """By kind, in the order of their slots. Questions that a failed bridge question has yielded come last, no
        more than are missing.
        """
        found = [one for done in self._done.values() for one in done]
        missing = self._wanted - _n_kept(found)
        for one in self._simpler:
            missing -= one.survives
            if missing >= 0 or not one.survives:
                found.append(one)
        return found

    async def work(self) -> None:
        """Run until enough questions pass, no slot is left, or the budget is exhausted.

        HarnessError: a model is missing, or writes nothing readable.
        """
        while not self.stopped and (slots := self._next_slots()):
            for slot, written in zip(slots, await self._wave(slots), strict=True):
                self._done[slot.kind] += written[:1]
                self._simpler += written[1:]

    def _next_slots(self) -> list[QuestionSlot]:
        found: list[QuestionSlot] = []
        for order in self._orders:
            kept = _n_kept(self._done[order.kind])
            if order.kind == "single_fact":
                kept += _n_kept(self._simpler)
            n, waiting = max(0, min(_WAVE, order.wanted - kept)), self._waiting[order.kind]
            found += waiting[:n]
            del waiting[:n]
        return found

    async def _wave(self, slots: Sequence[QuestionSlot]) -> list[list[Candidate]]:
        """For each slot its candidate, and the simpler question that it has yielded; empty if the budget stopped
        it.
        """
        compared = [asyncio.Event() for _ in slots]

        async def candidates_at(place: int) -> list[Candidate]:
            try:
                async with self._models.charge():
                    draft = await self._draft(slots[place])
                    for earlier in compared[:place]:
                        await earlier.wait()
                    written = await self._checked_by_rule(draft, slots[place])
                    compared[place].set()
                    checked = await self._checked_by_model(written, slots[place])
                    self._n_kept += any(one.survives for one in checked)
                    return checked
            except BudgetExhausted as reached:
                self.stopped = reached
                return []
            finally:
                compared[place].set()

        def tell(_done: int, _total: int) -> None:
            self._told(min(self._n_kept, self._wanted), self._wanted)

        return await map_bounded(candidates_at, range(len(slots)), self._models.concurrency, tell)

    async def _draft(self, slot: QuestionSlot) -> Candidate:
        try:
            written = (await ask_json(self._models.writer, draft_question(slot))).value
        except HarnessError:
            raise
        except Exception as error:
            # Two unreadable replies or a failed call: only this slot fails.
            note = f"{type(error).__name__}: {str(error)[:200]}"
            unwritten = f"{slot.kind}-{short_digest([slot.doc_ids, slot.link, slot.focus])}"
            blank = Candidate(id=unwritten, kind=slot.kind, documents=slot.doc_ids, link=slot.link)
            return blank.checked(QuestionCheck(name="written", passed=False, note=note))
        return written.checked(QuestionCheck(name="written", passed=True))

    async def _checked_by_rule(self, draft: Candidate, slot: QuestionSlot) -> list[Candidate]:
        """The candidate, and the simpler question that it yields, each up to its first failure. ModelUnavailable:
        none of the first candidates is readable.
        """
        self._n_drafted, self._n_readable = self._n_drafted + 1, self._n_readable + draft.survives
        if self._n_drafted >= _TRIED and not self._n_readable:
            raise ModelUnavailable(
                f"none of the first {self._n_drafted} questions that the model wrote is readable "
                f"({draft.checks[-1].note})",
                "take a stronger one, such as --set models.generator.provider=openai, or write some yourself: "
                "rag-harness questions FOLDER --template FILE.csv",
            )
        one = draft
        for check in _rule_checks(draft, slot) if draft.survives else ():
            one = one.checked(check)
            if not check.passed:
                break
        found = [one, *filter(None, [single_fact_of(one)])]
        distinct = iter(await self._distinct.check_each([each for each in found if each.survives]))
        return [next(distinct) if each.survives else each for each in found]

    async def _checked_by_model(self, written: Sequence[Candidate], slot: QuestionSlot) -> list[Candidate]:
        one, *simpler = [await self._judging.check(each, slot) if each.survives else each for each in written]
        if not simpler and (found := single_fact_of(one)):
            simpler = [await self._judging.check(found, slot)]
        return [one, *simpler]


def _n_kept(candidates: Sequence[Candidate]) -> int:
    return sum(one.survives for one in candidates)


def single_fact_of(failed: Candidate) -> Candidate | None:
    """A bridge question that does not need both documents, as a question for a single fact; None: it is none.

    Its evidence is what it quotes of the document that holds the answer. Checks that it has passed still count.
    """
    last = failed.checks[-1]
    if failed.kind != "bridge" or failed.survives or last.name not in {"quotes", "follows", "needs_both"}:
        return None
    quotes: dict[str, list[Evidence]] = {}
    for item in failed.evidence:
        quotes.setdefault(item.doc_id, []).append(item)
    said = {doc: " ".join(each.fact for each in own) for doc, own in quotes.items()}
    holders = [doc for doc, text in said.items() if len(said) == 1 or gives_away(text, failed.answer)]
    doc_id = last.document or next(iter(holders), "")
    if not doc_id:
        return None
    checks = [check for check in failed.checks if check.passed is not False]
    if last.name == "quotes":
        checks.append(QuestionCheck(name="quotes", passed=True))
    if last.name == "needs_both":
        alone = QuestionCheck(name="follows", passed=True, note=last.note)
        checks = [alone if check.name == "follows" else check for check in checks]
    return Candidate(
        id=candidate_id("single_fact", failed.question, failed.answer, (doc_id,)),
        kind="single_fact",
        documents=(doc_id,),
        question=failed.question,
        answer=failed.answer,
        evidence=tuple(quotes[doc_id]),
        checks=tuple(checks),
        written_as=failed.kind,
    )


def _rule_checks(one: Candidate, slot: QuestionSlot) -> Iterator[QuestionCheck]:
    """The checks without a model, in order."""
    texts = {excerpt.document.doc_id: excerpt.document.text for excerpt in slot.excerpts}
    titles = [excerpt.document.title for excerpt in slot.excerpts]
    yield well_formed(slot.kind, one.question, one.answer)
    yield stands_alone(one.question)
    yield check_names_occur(one.question, [*titles, *texts.values()])
    yield check_all_rows(one.question, one.answer, one.evidence)
    if slot.kind == "unanswerable":
        yield left_out(one.answer, texts)
    else:
        yield check_quotes(slot.kind, one.evidence, texts)


@dataclass(frozen=True)
class WritingEstimate:
    usage: Mapping[str, Usage]
    usd: float | None
    """None: a model has no known price."""
    tries: float
    """At most this many times the estimate, if candidates fail."""

    @property
    def line(self) -> str:
        total = sum(self.usage.values(), Usage())
        money = "" if self.usd is None else f", ${self.usd:.4f}"
        return (
            f"about {total.calls:,} model calls, {total.input_tokens:,} tokens in and up to "
            f"{total.output_tokens:,} out{money}, if every candidate passes; "
            f"up to {self.tries:.1f} times that where they fail"
        )


def estimate(
    orders: Sequence[Order], prices: Prices, models: Mapping[str, Any], embedded_characters: int
) -> WritingEstimate:
    """The cost of one candidate per wanted question and of the judge's sanity checks, computed from the prompts;
    nothing is measured. `embedded_characters`: of passages sent to an embedder that bills tokens.
    """
    slots = [slot for order in orders for slot in order.slots[: order.wanted]]
    prompts = [sum(len(message.content) for message in draft_question(slot).messages) for slot in slots]
    usage = {
        "generator": sum((_calls(1, characters, WRITER_TOKENS) for characters in prompts), Usage()),
        "judge": sum((_judging(slot) for slot in slots), _controls(slots)),
    }
    if embedded_characters:
        usage["embedder"] = _calls(1, embedded_characters, 0)
    tries = sum(len(order.slots) for order in orders) / max(1, len(slots))
    return WritingEstimate(usage, usage_usd(prices, models, usage), tries)


def _controls(slots: Sequence[QuestionSlot]) -> Usage:
    answerable = sum(slot.kind != "unanswerable" for slot in slots)
    single = sum(slot.kind == "single_fact" for slot in slots) if answerable < len(slots) else 0
    return _calls(min(SWAPPED, answerable), _PROMPT, VERDICT_TOKENS) + _searched(min(SEARCHED, single))


def _judging(slot: QuestionSlot) -> Usage:
    if slot.kind == "unanswerable":
        return _searched(1)
    answers = _calls(4 if slot.kind == "bridge" else 2, _PROMPT, ANSWER_TOKENS)
    return answers + _calls(1, _PROMPT, VERDICT_TOKENS)


def _searched(number: int) -> Usage:
    """Cost of answering from retrieved passages, and of checking that they state the answer."""
    read = _PROMPT + FOUND * PASSAGE
    return _calls(number, read, ANSWER_TOKENS) + _calls(number, read, VERDICT_TOKENS)


def _calls(number: int, characters: int, output_tokens: int) -> Usage:
    read = round(number * characters / CHARACTERS_PER_TOKEN)
    return Usage(calls=number, input_tokens=read, output_tokens=number * output_tokens)
