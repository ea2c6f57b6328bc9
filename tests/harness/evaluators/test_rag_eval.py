"""RAG-Eval and G-Eval as evaluators: what is asked of the judge, what scores follow, what fails with what."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from runtimes import Asked, Chat
from scoring import BareEvaluation, answered, score_one

from harness.core.errors import ModelUnavailable, NoLogprobs
from harness.core.records import RunRecord, Score
from harness.evaluators import g_eval
from harness.evaluators.rag_eval import SPEC, RagEvalParams
from harness.evaluators.rag_eval.criteria import CRITERIA, METRICS, material
from harness.protocols import Message, RunFacts

GRADES = {"query_relevance": 4, "factual_accuracy": 3, "coverage": 2, "coherence": 5, "fluency": 1}
VALUES = {
    "rag_eval_query_relevance": 0.8,
    "rag_eval_factual_accuracy": 0.6,
    "rag_eval_coverage": 0.4,
    "rag_eval_coherence": 1.0,
    "rag_eval_fluency": 0.2,
    "rag_eval_confidence": 0.6,
    "rag_eval_trustworthy": 0.0,
    "rag_eval_misaligned": 0.0,
}
PARALLEL = RagEvalParams(calls="parallel")


def graded(asked: Asked, grades: Mapping[str, object] = GRADES) -> str:
    """The grades that a request asks for, as JSON."""
    return json.dumps({name: grades[name] for name in asked_for(asked)})


def asked_for(asked: Asked) -> list[str]:
    assert asked.json_schema is not None
    return list(asked.json_schema["properties"])


def scores_of(
    judge: Chat,
    record: RunRecord,
    params: RagEvalParams | g_eval.GEvalParams | None = None,
    references: tuple[str, ...] = (),
    facts: RunFacts | None = None,
) -> list[Score]:
    """By RAG-Eval, or by G-Eval if the parameters are its own."""
    spec = g_eval.SPEC if isinstance(params, g_eval.GEvalParams) else SPEC
    assert record.prediction is not None
    about: dict[str, Any] = {"question": record.query_id, "answers": references, "facts": facts}
    found = score_one(spec, record.prediction, params=params, runtime=BareEvaluation(judge), **about)
    return [*found.values()]


def by_measure(scores: list[Score]) -> dict[str, Score]:
    return {score.measure: score for score in scores}


def values(scores: list[Score]) -> dict[str, float | None]:
    return {name: score.value for name, score in by_measure(scores).items()}


@pytest.mark.parametrize(("params", "calls"), [(RagEvalParams(), 1), (PARALLEL, 5)])
def test_eight_measures_take_one_call_or_five(params: RagEvalParams, calls: int) -> None:
    judge = Chat(graded)
    assert values(scores_of(judge, answered("q", "Ann did.", "Ann did it."), params=params)) == VALUES
    assert len(judge.calls) == calls
    assert sorted(name for asked in judge.calls for name in asked_for(asked)) == sorted(METRICS)
    assert {asked.max_tokens for asked in judge.calls} == {100}


def named_last(asked: Asked) -> str:
    """The metric that a form ends with."""
    return asked.text.rpartition("\n- ")[2].partition(":")[0].lower().replace(" ", "_")


def in_order(text: str, *parts: str) -> bool:
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_as_published_five_forms_are_sent_one_for_each_metric_and_numbers_come_back() -> None:
    judge = Chat(lambda asked: str(GRADES[named_last(asked)]))
    params = RagEvalParams(calls="published")
    assert values(scores_of(judge, answered("Who did it?", "Ann did.", "It was Ann."), params=params)) == VALUES
    assert [named_last(asked) for asked in judge.calls] == list(METRICS)
    for asked in judge.calls:
        assert [message.role for message in asked.messages] == ["user"]
        assert asked.json_schema is None
        parts = ("criteria", "(1-5)", "steps", "1. ", "Who did it?", "It was Ann.", "Ann did.", "Evaluation form")
        assert in_order(asked.text, *parts)


def test_a_form_without_a_number_is_sent_once_more_and_then_fails_alone() -> None:
    judge = Chat(lambda asked: "Splendid." if named_last(asked) == "fluency" else "4")
    params = RagEvalParams(calls="published")
    found = by_measure(scores_of(judge, answered("q", "Ann did.", "It was Ann."), params=params))
    failed = {name for name, score in found.items() if score.status == "failed"}
    assert len(judge.calls) == 6
    assert failed == {f"rag_eval_{name}" for name in ("fluency", "confidence", "trustworthy", "misaligned")}


class Weighing(Chat):
    """A judge whose server gives these probabilities of the five numbers."""

    def __init__(self, **shares: float) -> None:
        super().__init__(lambda _: "4")
        self.shares = {number.removeprefix("p"): share for number, share in shares.items()}

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        await self.complete(messages)
        return {letter: self.shares.get(letter, 0.0) for letter in letters}


class Silent(Weighing):
    """A judge whose server gives none."""

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        raise NoLogprobs("no log probabilities", "choose another server", refused=True)


class Faulty(Weighing):
    """A judge whose first reply with probabilities fails."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(p1=1.0)
        self.faults = [fault]

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        if self.faults:
            raise self.faults.pop()
        return await super().choose(messages, letters)


@pytest.mark.parametrize(
    ("fault", "first"),
    [(NoLogprobs("none in this reply"), 0.8), (ValueError("10"), 0.8), (ModelUnavailable("no connection"), None)],
)
def test_one_reply_without_probabilities_changes_the_scale_of_no_other_score(
    fault: Exception, first: float | None
) -> None:
    record = answered("Who did it?", "Ann did.", "It was Ann.")
    scores = scores_of(Faulty(fault), record, params=g_eval.GEvalParams())
    assert [score.value for score in scores] == [first, 0.2, 0.2, 0.2]
    assert len({score.explanation for score in scores[1:]} - {scores[0].explanation}) == 1


@pytest.mark.parametrize(
    ("judge", "params", "value"),
    [
        (Weighing(p4=0.75, p5=0.25), g_eval.GEvalParams(), 0.85),
        (Weighing(p1=1.0), g_eval.GEvalParams(scores="stated"), 0.8),
        (Silent(), g_eval.GEvalParams(), 0.8),
        (Chat(lambda _: "Score: 4"), g_eval.GEvalParams(), 0.8),
    ],
)
def test_g_eval_weighs_scores_by_probability_and_otherwise_takes_the_stated_one(
    judge: Chat, params: g_eval.GEvalParams, value: float
) -> None:
    scores = scores_of(judge, answered("Who did it?", "Ann did.", "It was Ann."), params=params)
    assert [score.value for score in scores] == pytest.approx([value] * 4)
    assert [named_last(asked) for asked in judge.calls] == list(g_eval.METRICS)
    for asked in judge.calls:
        assert in_order(
            asked.text, "criteria", "(1-5)", "steps", "1. ", "It was Ann.", "Ann did.", "Evaluation form"
        )
        assert "Who did it?" not in asked.text


def test_the_confidence_names_its_grades_and_its_band() -> None:
    scores = by_measure(scores_of(Chat(graded), answered("q", "Ann did.", "Ann did it.")))
    assert scores["rag_eval_confidence"].explanation == (
        "grounded but partial: query relevance 4, factual accuracy 3, coverage 2, coherence 5, fluency 1"
    )
    assert scores["rag_eval_coverage"].explanation == "2 of 5"
    assert scores["rag_eval_trustworthy"].explanation == "confidence 0.6: grounded but partial"


def test_a_reply_in_prose_is_read_without_another_call() -> None:
    judge = Chat(lambda asked: f"Score: {GRADES[asked_for(asked)[0]]}/5.")
    assert values(scores_of(judge, answered("q", "Ann did.", "Ann did it."), params=PARALLEL)) == VALUES
    assert len(judge.calls) == 5


@pytest.mark.parametrize("params", [RagEvalParams(), PARALLEL])
def test_what_cannot_be_read_is_asked_for_once_more_in_other_words(params: RagEvalParams) -> None:
    judge = Chat(lambda asked: graded(asked) if "could not be read" in asked.text else "Quite good, I think.")
    assert values(scores_of(judge, answered("q", "Ann did.", "Ann did it."), params=params)) == VALUES
    assert len(judge.calls) == 2 * (1 if params.calls == "one" else 5)
    assert len({asked.text for asked in judge.calls}) == len(judge.calls)


@pytest.mark.parametrize("params", [RagEvalParams(), PARALLEL])
@pytest.mark.parametrize("wrong", [0, 6, 4.5, True, None, "fair"])
def test_one_grade_that_is_none_fails_with_the_confidence_and_the_others_stand(
    params: RagEvalParams, wrong: object
) -> None:
    judge = Chat(lambda asked: graded(asked, GRADES | {"coverage": wrong}))
    found = by_measure(scores_of(judge, answered("q", "Ann did.", "Ann did it."), params=params))
    without = {"coverage", "confidence", "trustworthy", "misaligned"}
    assert {name for name, score in found.items() if score.status == "failed"} == {
        f"rag_eval_{x}" for x in without
    }
    assert {score.explanation for score in found.values() if score.status == "failed"} == {
        found["rag_eval_coverage"].explanation
    }
    assert "no grade from 1 to 5 for coverage in" in found["rag_eval_coverage"].explanation
    assert len(judge.calls) == (2 if params.calls == "one" else 6)


def test_a_second_reply_fills_in_what_the_first_left_out_and_changes_nothing() -> None:
    replies = iter([GRADES | {"coverage": None}, {"query_relevance": 1, "coverage": 2}])
    judge = Chat(lambda _: json.dumps(next(replies)))
    assert values(scores_of(judge, answered("q", "Ann did.", "Ann did it."))) == VALUES


@pytest.mark.parametrize(
    ("answer", "contexts", "reason"),
    [("", ["text"], "the answer is empty"), ("Ann did.", ["", " "], "no contexts were retrieved")],
)
def test_an_answer_or_contexts_that_say_nothing_are_worth_the_least_and_ask_nobody(
    answer: str, contexts: list[str], reason: str
) -> None:
    judge = Chat(graded)
    found = scores_of(judge, answered("q", answer, *contexts))
    assert values(found) == dict.fromkeys(VALUES, 0.0) | {"rag_eval_misaligned": 1.0}
    assert {score.explanation for score in found} == {reason}
    assert not judge.calls


@pytest.mark.parametrize(
    ("answer", "facts", "reason"),
    [
        ("Insufficient information.", None, "the answer abstains"),
        ("Ann did.", RunFacts(has_generator=False), "the run has no generator"),
        ("Ann did.", RunFacts(has_contexts=False), "the contexts are not recorded"),
    ],
)
def test_an_abstention_and_a_run_without_answers_or_contexts_are_not_graded(
    answer: str, facts: RunFacts | None, reason: str
) -> None:
    judge = Chat(graded)
    found = scores_of(judge, answered("q", answer, "text"), references=("Ann",), facts=facts)
    assert {(score.status, score.explanation) for score in found} == {("not_applicable", reason)}
    assert not judge.calls


LONG = ("first " * 1_500, "second " * 1_500)
"""A window each."""


def test_all_contexts_are_graded_window_by_window_and_none_is_cut() -> None:
    def by_window(asked: Asked) -> str:
        return graded(asked, dict.fromkeys(METRICS, 5 if "[2] second" in asked.text else 1))

    judge = Chat(by_window)
    found = by_measure(scores_of(judge, answered("q", "Ann did.", *LONG)))
    assert [sum(asked.text.count(word) for asked in judge.calls) for word in ("first ", "second ")] == [1499, 1499]
    assert len(judge.calls) == 2
    assert {score.share_read for score in found.values()} == {1.0}
    # One window states what the answer states; of the rest both count, by their 7,500 and 9,000 letters.
    assert found["rag_eval_factual_accuracy"].value == 1.0
    assert found["rag_eval_factual_accuracy"].explanation == "5 of 5; windows 1 5"
    mean = (1 * 7_500 + 5 * 9_000) / 16_500
    assert found["rag_eval_coverage"].value == pytest.approx(mean / 5)
    assert found["rag_eval_coverage"].explanation == f"{mean:.3g} of 5; windows 1 5"


@pytest.mark.parametrize("params", [RagEvalParams(), PARALLEL])
def test_a_window_without_a_grade_fails_the_grade(params: RagEvalParams) -> None:
    def by_window(asked: Asked) -> str:
        return graded(asked, GRADES | ({"coverage": None} if "[2] second" in asked.text else {}))

    found = by_measure(scores_of(Chat(by_window), answered("q", "Ann did.", *LONG), params=params))
    assert found["rag_eval_coverage"].status == "failed"
    assert found["rag_eval_fluency"].value == VALUES["rag_eval_fluency"]


def test_a_query_or_an_answer_of_any_length_is_bounded_and_the_contexts_are_not() -> None:
    texts = material("?" * 10_000, "c" * 50_000, "!" * 10_000)
    assert (len(texts.query), len(texts.contexts), len(texts.answer)) == (2_000, 50_000, 4_000)
    assert texts.cuts == ("query cut to 2,000 characters", "answer cut to 4,000 characters")


@pytest.mark.parametrize("params", [RagEvalParams(), PARALLEL])
def test_the_judge_reads_the_criterion_the_steps_and_all_five_grades_of_what_it_grades_and_of_nothing_else(
    params: RagEvalParams,
) -> None:
    judge = Chat(graded)
    scores_of(judge, answered("q", "Ann did.", "Ann did it."), params=params)
    for asked in judge.calls:
        for name, criterion in CRITERIA.items():
            words = [criterion.asks, *criterion.steps[:2], *criterion.grades]
            assert len(criterion.grades) == 5
            assert [word in asked.text for word in words] == [name in asked_for(asked)] * len(words)
