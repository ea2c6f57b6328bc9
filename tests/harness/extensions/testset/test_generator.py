"""Candidates are written at their slots and checked."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from question_writers import FERRY, YARD, Models, draft, judge, slot
from quoted_texts import HOSTILE, MARK, check_quoted
from runtimes import Asked, Chat

from harness.core.errors import ModelUnavailable
from harness.core.records import Document
from harness.extensions.testset.generator import QuestionGenerator
from harness.extensions.testset.model_checks import PassageSearch, QuestionJudging, controls_of
from harness.extensions.testset.output import kept_as_single_fact, verdicts_of
from harness.extensions.testset.prompts import answer_from, same_answer, stated_answer
from harness.extensions.testset.question_records import Candidate, QuestionSlot
from harness.extensions.testset.question_slots import Order
from harness.runner.writer_models import WriterModels

FOUNDED = draft("When was the Tarnby yard founded?", "1911", "A2")
UNKNOWN = "Insufficient information"


def from_quotes(prompt: str) -> str:
    """Reads the year where it is shown, and knows nothing else."""
    return "1911" if "founded in 1911" in prompt else UNKNOWN


def worked(
    models: Models,
    slots: Sequence[QuestionSlot],
    wanted: int = 1,
    search: Any = None,
    told: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Candidate]:
    judging, orders = QuestionJudging(models.judge, search), [Order(slots[0].kind, wanted, slots)]
    desk = QuestionGenerator(cast("WriterModels", models), judging, orders, told)
    asyncio.run(desk.work())
    return desk.candidates


def at_the_yard(reply: str, judging: Chat) -> Candidate:
    """The one candidate that is written about the yard."""
    (one,) = worked(Models(Chat(lambda _: reply), judging), [slot("single_fact", YARD)])
    return one


def said(one: Candidate) -> dict[str, bool | None]:
    return {check.name: check.passed for check in one.checks}


def test_a_candidate_that_passes_has_the_verdict_of_every_check() -> None:
    one = at_the_yard(FOUNDED, judge(from_quotes))
    by_rule = ("written", "form", "self_contained", "about", "all_rows", "quotes", "distinct")
    assert said(one) == dict.fromkeys((*by_rule, "follows", "closed_book"), True)
    assert one.evidence[0].fact in YARD.text


@pytest.mark.parametrize(
    ("reply", "judging", "failed"),
    [
        (draft("When was the yard in this report founded?", "1911", "A2"), judge(from_quotes), "self_contained"),
        (draft("The Tarnby yard is old.", "1911", "A2"), judge(from_quotes), "form"),
        (draft("When was the Tarnby yard founded?", "in war time", "Z9"), judge(from_quotes), "quotes"),
        (draft("When was the Tarnby yard founded?", "1953", "A2"), judge(from_quotes), "follows"),
        (FOUNDED, judge(lambda _: "In 1911.", same=True), "closed_book"),
        # A judge that gives no verdict lets nothing through.
        (FOUNDED, Chat(lambda asked: "perhaps" if '"same"' in asked.text else "long ago"), "follows"),
    ],
)
def test_a_candidate_that_fails_one_check_is_kept_with_it_and_asked_nothing_more(
    reply: str, judging: Chat, failed: str
) -> None:
    one = at_the_yard(reply, judging)
    assert not one.survives
    assert [name for name, passed in said(one).items() if passed is False] == [failed] == [one.checks[-1].name]


def test_a_lucky_guess_between_two_options_is_undecided_and_keeps_the_question() -> None:
    reply = draft("Which was built first, the Tarnby yard or the Corrie Mill?", "the Tarnby yard", "A2")
    one = at_the_yard(reply, judge(lambda _: "The Tarnby yard"))
    assert said(one)["closed_book"] is None
    assert one.survives
    assert verdicts_of([one])["closed_book"][None] == 1


def test_a_sentence_that_the_answer_was_copied_from_is_evidence_even_if_the_model_names_another() -> None:
    one = at_the_yard(draft("When was the Tarnby yard founded?", "1911", "A3"), judge(from_quotes))
    assert one.survives
    assert "founded in 1911" in one.evidence[-1].fact
    one = at_the_yard(draft("What is the price of oats?", "1911", "A5"), judge(from_quotes))
    assert "founded in 1911" not in " ".join(item.fact for item in one.evidence)


BRIDGE = "When was the yard founded that builds the ferry of Lowmere?"


def test_a_bridge_needs_both_documents_and_has_an_answer_in_them() -> None:
    def from_both(prompt: str) -> str:
        quotes = prompt.partition("<question>")[0]
        return "1911" if "founded in 1911" in quotes and "harbour board" in quotes else UNKNOWN

    models = Models(Chat(lambda _: draft(BRIDGE, "1911", "A2", "B2")), judge(from_both))
    (one,) = worked(models, [slot("bridge", FERRY, YARD)])
    assert one.survives
    assert said(one)["needs_both"]
    wrong = Models(Chat(lambda _: draft(BRIDGE, "1953", "A2", "B2")), judge(from_quotes))
    (failed,) = worked(wrong, [slot("bridge", FERRY, YARD)])
    assert not failed.survives


def from_the_yard_alone(prompt: str) -> str:
    """Confused by a second document."""
    return "18.4 million" if "harbour board" in prompt.partition("<question>")[0] else from_quotes(prompt)


@pytest.mark.parametrize(
    ("sentences", "answers", "failed"),
    [
        (("A2", "B2"), from_quotes, "needs_both"),
        (("A2", "B2"), from_the_yard_alone, "follows"),
        (("B2",), from_quotes, "quotes"),
    ],
)
def test_a_bridge_that_one_document_answers_is_kept_as_a_single_fact(
    sentences: tuple[str, ...], answers: Callable[[str], str], failed: str
) -> None:
    models = Models(Chat(lambda _: draft(BRIDGE, "1911", *sentences)), judge(answers))
    bridge, kept = worked(models, [slot("bridge", FERRY, YARD)])
    assert [name for name, passed in said(bridge).items() if passed is False] == [failed]
    assert kept.survives
    assert (kept.kind, kept.written_as, kept.question) == ("single_fact", "bridge", BRIDGE)
    assert [item.doc_id for item in kept.evidence] == list(kept.documents) == [YARD.doc_id]
    assert {"quotes", "distinct", "follows", "closed_book"} <= set(said(kept))
    asked = [call.text for call in models.judge.calls]
    assert len(set(asked)) == len(asked), "nothing is asked twice"


def test_simpler_questions_fill_what_is_missing_and_no_more() -> None:
    def write(asked: Asked) -> str:
        number = asked.text.split("Yard number ")[1].split(" ")[0]
        return draft(f"When was Tarnby yard {number} founded?", "1911", "B2", "A2")

    yards = [one.excerpts[0].document for one in numbered(4)]
    slots = [slot("bridge", FERRY, yard) for yard in yards]
    models = Models(Chat(write), judge(from_quotes))
    found = worked(models, slots, wanted=2)
    assert [one.kind for one in found if one.survives] == ["single_fact", "single_fact"]
    assert kept_as_single_fact(found) == 2
    assert sum(one.kind == "bridge" for one in found) == 4


@pytest.mark.parametrize(
    ("answer", "stated", "passed"), [(UNKNOWN, True, True), ("1911", True, False), ("1911", False, True)]
)
def test_an_unanswerable_question_is_asked_of_retrieved_passages(answer: str, stated: bool, passed: bool) -> None:
    reply = draft("How many welders did the Tarnby yard have in 1953?", "the number", "A2")
    models = Models(Chat(lambda _: reply), judge(lambda _: answer, stated=stated))
    (one,) = worked(models, [slot("unanswerable", YARD)], search=PassageSearch([FERRY, YARD], None))
    assert said(one)["not_found"] is passed
    assert YARD.text.split(". ")[1] in models.judge.calls[0].text


def numbered(number: int) -> list[QuestionSlot]:
    """Slots whose first sentences tell them apart."""
    texts = {f"yard-{n}": f"Yard number {n} was built. {YARD.text}" for n in range(number)}
    yards = (Document(doc_id=doc_id, title=YARD.title, text=text) for doc_id, text in texts.items())
    return [slot("single_fact", yard) for yard in yards]


def writes(asked: Asked) -> str:
    """Asks about the yard that is shown; every third question points at a report."""
    number = int(asked.text.split("Yard number ")[1].split(" ")[0])
    where = "this report" if number % 3 == 0 else f"Tarnby yard {number}"
    return draft(f"When was {where} founded?", "1911", "A2", "A1")


@pytest.mark.parametrize(
    ("n_slots", "survive"), [(9, [False, True, True, False, True, True]), (4, [False, True, True, False])]
)
@pytest.mark.parametrize("at_once", [1, 7])
def test_missing_questions_are_written_at_the_next_slots_and_no_more_than_wanted(
    n_slots: int, survive: list[bool], at_once: int
) -> None:
    told: list[tuple[int, int]] = []
    models = Models(Chat(writes), judge(from_quotes), concurrency=at_once)
    found = worked(models, numbered(n_slots), wanted=4, told=lambda *at: told.append(at))
    assert [one.survives for one in found] == survive
    assert [one.documents[0] for one in found] == [f"yard-{n}" for n in range(len(survive))]
    assert told[-1] == (sum(survive), 4)


def test_the_same_question_twice_counts_once() -> None:
    found = worked(Models(Chat(lambda _: FOUNDED), judge(from_quotes)), numbered(3), wanted=3)
    assert [said(one)["distinct"] for one in found] == [True, False, False]


def test_a_model_that_never_writes_json_stops_the_command_after_a_few() -> None:
    models = Models(Chat(lambda _: "Once upon a time"))
    with pytest.raises(ModelUnavailable, match="none of the first 5 questions that the model wrote is readable"):
        worked(models, numbered(9), wanted=9)
    assert len(models.writer.calls) == 10


def test_a_failed_call_fails_only_its_own_candidate() -> None:
    def reply(asked: Asked) -> str:
        if "Yard number 1 " in asked.text:
            raise TimeoutError("no whole reply")
        return writes(asked)

    found = worked(Models(Chat(reply), judge(from_quotes)), numbered(3), wanted=3)
    assert [one.checks[0].passed for one in found] == [True, False, True]
    assert "TimeoutError" in found[1].checks[0].note


def test_a_judge_that_always_says_yes_is_detected_on_known_cases() -> None:
    written = worked(Models(Chat(writes), judge(from_quotes)), numbered(9), wanted=4)
    found = [one.model_copy(update={"answer": str(1911 + n)}) for n, one in enumerate(written)]
    for gullible in (False, True):
        models = Models(Chat(writes), judge(from_quotes, same=gullible))
        judging = QuestionJudging(models.judge, None)
        asking = controls_of(cast("WriterModels", models), judging, found, lambda _done, _total: None)
        (control,) = asyncio.run(asking)
        assert (control.wrong, control.of) == (4 * gullible, 4)


def test_the_judge_of_written_questions_is_shown_texts_of_others_between_tags_only() -> None:
    for messages in (
        answer_from(HOSTILE, [HOSTILE, HOSTILE], polar=False),
        same_answer(HOSTILE, HOSTILE, HOSTILE).messages,
        stated_answer(HOSTILE, HOSTILE, [HOSTILE]).messages,
    ):
        assert any(MARK in message.content for message in messages)
        check_quoted(messages)
