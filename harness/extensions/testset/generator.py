"""Writes questions: places to candidates, candidates through their checks, in waves.

A wave takes a few new places for each kind of which questions are missing, in order. So the candidates depend only
on verdicts, never on the timing of calls, and a run that was killed, or stopped by its budget, ends like an
uninterrupted one.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.core.errors import BudgetExhausted, HarnessError, ModelUnavailable
from harness.core.hashing import short_digest
from harness.core.records import Usage
from harness.extensions.testset.model_checks import (
    ANSWER_TOKENS,
    FOUND,
    PASSAGE,
    SEARCHED,
    SWAPPED,
    QuestionJudging,
)
from harness.extensions.testset.models import WriterModels
from harness.extensions.testset.prompts import VERDICT_TOKENS, WRITER_TOKENS, draft_question
from harness.extensions.testset.question_records import Candidate, QuestionCheck, QuestionKind, QuestionSlot
from harness.extensions.testset.text_checks import (
    Distinct,
    check_names_occur,
    check_quotes,
    left_out,
    stands_alone,
    well_formed,
)
from harness.llm_utils.concurrency import map_bounded
from harness.llm_utils.structured_output import ask_json
from harness.statistics.estimate import CHARACTERS_PER_TOKEN
from harness.statistics.prices import Prices, usage_usd

T = TypeVar("T")

_WAVE = 5
"""Candidates per kind that are written before they are checked, so that an exhausted budget leaves complete
ones.
"""
_TRIED = 5
"""Candidates of which at least one must be readable; otherwise the model is unsuitable."""

Told = Callable[[int, int], None]
"""told(steps done, steps begun)."""

_PROMPT = 1_200
"""Characters of a short prompt: the answer instructions, a question, some quotes."""


@dataclass(frozen=True)
class Order:
    """The wanted number of questions of one kind, and their places."""

    kind: QuestionKind
    wanted: int
    sites: Sequence[QuestionSlot]


@dataclass
class _KindProgress:
    """The candidates of one kind."""

    wanted: int
    waiting: list[QuestionSlot]
    done: list[Candidate] = field(default_factory=list)

    def next_sites(self) -> list[QuestionSlot]:
        missing = min(_WAVE, self.wanted - sum(one.survives for one in self.done))
        taken, self.waiting = self.waiting[:missing], self.waiting[missing:]
        return taken


class QuestionGenerator:
    """Writes and checks; `candidates` always holds what is finished."""

    def __init__(
        self, models: WriterModels, judging: QuestionJudging, orders: Sequence[Order], told: Told
    ) -> None:
        self._models, self._judging, self._told = models, judging, told
        self._trays = {order.kind: _KindProgress(order.wanted, list(order.sites)) for order in orders}
        self._distinct = Distinct(models.embedder)
        self._done = self._begun = 0
        self._drafted: list[Candidate] = []
        self.stopped: BudgetExhausted | None = None
        """The reason why the budget ended it."""

    @property
    def candidates(self) -> list[Candidate]:
        """By kind, in the order of their slots."""
        return [one for tray in self._trays.values() for one in tray.done]

    async def work(self) -> None:
        """Run until enough questions pass, no slot is left, or the budget is exhausted.

        HarnessError: a model is missing, or writes nothing readable.
        """
        while not self.stopped and (
            sites := [site for tray in self._trays.values() for site in tray.next_sites()]
        ):
            self._begun += len(sites)
            drafts = await self._draft_all(sites)
            written = await self._let_through(drafts)
            # Steps that are not needed any more count as done.
            self._tell_of(len(sites) - sum(one.survives for one, _ in written))
            checked = await self._each(
                lambda two: self._judging.check(*two), [(one, site) for one, site in written if one.survives]
            )
            verdicts = iter(checked)
            for one, site in written:
                if (final := next(verdicts) if one.survives else one) is not None:
                    self._trays[site.kind].done.append(final)

    async def _draft_all(self, sites: Sequence[QuestionSlot]) -> list[tuple[Candidate, QuestionSlot]]:
        drafts = await self._each(self._draft, sites)
        self._drafted += [one for one in drafts if one is not None]
        if len(self._drafted) >= _TRIED and not any(one.survives for one in self._drafted):
            raise ModelUnavailable(
                f"none of the first {len(self._drafted)} questions that the model wrote is readable "
                f"({self._drafted[0].checks[-1].note})",
                "take a larger one: --set models.generator.model=..., or another provider",
            )
        return [(one, site) for one, site in zip(drafts, sites, strict=True) if one is not None]

    async def _draft(self, site: QuestionSlot) -> Candidate:
        unwritten = f"{site.kind}-{short_digest([site.doc_ids, site.link, site.focus])}"
        blank = Candidate(id=unwritten, kind=site.kind, documents=site.doc_ids, link=site.link)
        try:
            draft = (await ask_json(self._models.writer, draft_question(site))).value
        except HarnessError:
            raise
        except Exception as error:
            # Two unreadable replies or a failed call: only this slot fails.
            note = f"{type(error).__name__}: {str(error)[:200]}"
            return blank.checked(QuestionCheck(name="written", passed=False, note=note))
        written = f"{site.kind}-{short_digest([draft.question, draft.answer, site.doc_ids])}"
        update = {"id": written, "question": draft.question, "answer": draft.answer, "evidence": draft.evidence}
        return blank.model_copy(update=update).checked(QuestionCheck(name="written", passed=True))

    async def _let_through(
        self, drafts: Sequence[tuple[Candidate, QuestionSlot]]
    ) -> list[tuple[Candidate, QuestionSlot]]:
        """Candidates that pass the checks without a model, each checked up to the first failure."""
        free = [(_checked_by_rule(one, site), site) for one, site in drafts]
        try:
            with self._models.charge():
                distinct = iter(await self._distinct.check_each([one for one, _ in free if one.survives]))
        except BudgetExhausted as reached:
            self.stopped = reached
            return []
        return [(next(distinct) if one.survives else one, site) for one, site in free]

    async def _each(self, work: Callable[[T], Awaitable[Candidate]], items: Sequence[T]) -> list[Candidate | None]:
        """work(item) for each, charged; None if the budget stopped it."""

        async def charged(item: T) -> Candidate | None:
            try:
                with self._models.charge():
                    return await work(item)
            except BudgetExhausted as reached:
                self.stopped = reached
                return None

        return await map_bounded(charged, items, self._models.concurrency, lambda _done, _total: self._tell_of(1))

    def _tell_of(self, steps: int) -> None:
        """Report progress; each candidate is two steps: written, and checked."""
        self._done += steps
        self._told(self._done, 2 * self._begun)


def _checked_by_rule(one: Candidate, site: QuestionSlot) -> Candidate:
    texts = {excerpt.document.doc_id: excerpt.document.text for excerpt in site.excerpts}
    if one.survives:
        one = one.checked(well_formed(site.kind, one.question, one.answer))
    if one.survives:
        one = one.checked(stands_alone(one.question))
    if one.survives:
        named = (text for excerpt in site.excerpts for text in (excerpt.document.title, excerpt.document.text))
        one = one.checked(check_names_occur(one.question, named))
    if not one.survives:
        return one
    if site.kind == "unanswerable":
        return one.checked(left_out(one.answer, texts))
    return one.checked(check_quotes(site.kind, one.evidence, texts))


@dataclass(frozen=True)
class WritingEstimate:
    """Calls and tokens by role."""

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
    sites = [site for order in orders for site in order.sites[: order.wanted]]
    usage = {
        "generator": sum((_calls(1, _prompt_characters(site), WRITER_TOKENS) for site in sites), Usage()),
        "judge": sum((_judging(site) for site in sites), _controls(sites)),
    }
    if embedded_characters:
        usage["embedder"] = _calls(1, embedded_characters, 0)
    tries = sum(len(order.sites) for order in orders) / max(1, len(sites))
    return WritingEstimate(usage, usage_usd(prices, models, usage), tries)


def _controls(sites: Sequence[QuestionSlot]) -> Usage:
    answerable = sum(site.kind != "unanswerable" for site in sites)
    swapped = _calls(min(SWAPPED, answerable), _PROMPT, VERDICT_TOKENS)
    if answerable == len(sites):
        return swapped
    single = min(SEARCHED, sum(site.kind == "single_fact" for site in sites))
    return swapped + _searched(single)


def _prompt_characters(site: QuestionSlot) -> int:
    return sum(len(message.content) for message in draft_question(site).messages)


def _judging(site: QuestionSlot) -> Usage:
    if site.kind == "unanswerable":
        return _searched(1)
    answers = _calls(4 if site.kind == "bridge" else 2, _PROMPT, ANSWER_TOKENS)
    return answers + _calls(1, _PROMPT, VERDICT_TOKENS)


def _searched(number: int) -> Usage:
    """Cost of answering from retrieved passages, and of checking that they state the answer."""
    read = _PROMPT + FOUND * PASSAGE
    return _calls(number, read, ANSWER_TOKENS) + _calls(number, read, VERDICT_TOKENS)


def _calls(number: int, characters: int, output_tokens: int) -> Usage:
    read = round(number * characters / CHARACTERS_PER_TOKEN)
    return Usage(calls=number, input_tokens=read, output_tokens=number * output_tokens)
