"""RAG-Eval and G-Eval as evaluators: what is asked of the judge, what scores follow, what fails with what."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from runtimes import Asked, Chat
from scoring import BareEvaluation, passages, score_one

from harness.core.errors import ModelUnavailable, NoLogprobs
from harness.core.records import Prediction, Score
from harness.evaluators import g_eval
from harness.evaluators.rag_eval import SPEC, RagEvalParams
from harness.evaluators.rag_eval.prompts import CRITERIA, METRICS, material
from harness.protocols import Message

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


Params = RagEvalParams | g_eval.GEvalParams


def scores_of(
    judge: Chat,
    params: Params | None = None,
    answer: str = "Ann did.",
    contexts: Sequence[str] = ("It was Ann.",),
    **about: Any,
) -> dict[str, Score]:
    """By RAG-Eval, or by G-Eval if the parameters are its own."""
    spec = g_eval.SPEC if isinstance(params, g_eval.GEvalParams) else SPEC
    said = Prediction(answer=answer, contexts=passages(*contexts))
    runtime = BareEvaluation(judge)
    return score_one(spec, said, question="Who did it?", params=params, runtime=runtime, **about)


def values(scores: Mapping[str, Score]) -> dict[str, float | None]:
    return {name: score.value for name, score in scores.items()}


@pytest.mark.parametrize(("params", "calls"), [(RagEvalParams(), 1), (PARALLEL, 5)])
def test_eight_measures_take_one_call_or_five(params: RagEvalParams, calls: int) -> None:
    judge = Chat(graded)
    found = scores_of(judge, params)
    assert values(found) == VALUES
    assert found["rag_eval_confidence"].explanation == (
        "grounded but partial: query relevance 4, factual accuracy 3, coverage 2, coherence 5, fluency 1"
    )
    assert found["rag_eval_coverage"].explanation == "2 of 5"
    assert found["rag_eval_trustworthy"].explanation == "confidence 0.6: grounded but partial"
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
    assert values(scores_of(judge, params)) == VALUES
    assert [named_last(asked) for asked in judge.calls] == list(METRICS)
    for asked in judge.calls:
        assert [message.role for message in asked.messages] == ["user"]
        assert asked.json_schema is None
        parts = ("criteria", "(1-5)", "steps", "1. ", "Who did it?", "It was Ann.", "Ann did.", "Evaluation form")
        assert in_order(asked.text, *parts)


def test_a_form_without_a_number_is_sent_once_more_and_then_fails_alone() -> None:
    judge = Chat(lambda asked: "Splendid." if named_last(asked) == "fluency" else "4")
    params = RagEvalParams(calls="published")
    found = scores_of(judge, params)
    failed = {name for name, score in found.items() if score.status == "failed"}
    assert len(judge.calls) == 6
    assert failed == {f"rag_eval_{name}" for name in ("fluency", "confidence", "trustworthy", "misaligned")}


class Weighing(Chat):
    """A judge whose server gives these probabilities of the five numbers, after it has raised the errors."""

    def __init__(self, *errors: Exception, **shares: float) -> None:
        super().__init__(lambda _: "4")
        self.errors, self.shares = list(errors), shares

    async def choose(self, messages: Sequence[Message], letters: Sequence[str]) -> dict[str, float]:
        if self.errors:
            raise self.errors.pop()
        await self.complete(messages)
        return {letter: self.shares.get(f"p{letter}", 0.0) for letter in letters}


@pytest.mark.parametrize(
    ("fault", "first"),
    [(NoLogprobs("none in this reply"), 0.8), (ValueError("10"), 0.8), (ModelUnavailable("no connection"), None)],
)
def test_one_reply_without_probabilities_changes_the_scale_of_no_other_score(
    fault: Exception, first: float | None
) -> None:
    scores = scores_of(Weighing(fault, p1=1.0), g_eval.GEvalParams())
    assert [*values(scores).values()] == [first, 0.2, 0.2, 0.2]
    fallback, *others = (score.explanation for score in scores.values())
    assert len({*others} - {fallback}) == 1


@pytest.mark.parametrize(
    ("judge", "params", "value"),
    [
        (Weighing(p4=0.75, p5=0.25), g_eval.GEvalParams(), 0.85),
        (Weighing(p1=1.0), g_eval.GEvalParams(scores="stated"), 0.8),
        (Weighing(NoLogprobs("none", "choose another server", refused=True)), g_eval.GEvalParams(), 0.8),
        (Chat(lambda _: "Score: 4"), g_eval.GEvalParams(), 0.8),
    ],
)
def test_g_eval_weighs_scores_by_probability_and_otherwise_takes_the_stated_one(
    judge: Chat, params: g_eval.GEvalParams, value: float
) -> None:
    scores = scores_of(judge, params)
    assert [*values(scores).values()] == pytest.approx([value] * 4)
    assert [named_last(asked) for asked in judge.calls] == list(g_eval.METRICS)
    for asked in judge.calls:
        assert in_order(
            asked.text, "criteria", "(1-5)", "steps", "1. ", "It was Ann.", "Ann did.", "Evaluation form"
        )
        assert "Who did it?" not in asked.text


@pytest.mark.parametrize("params", [RagEvalParams(), PARALLEL])
def test_a_reply_without_grades_is_asked_for_once_more_in_other_words(params: RagEvalParams) -> None:
    judge = Chat(lambda asked: graded(asked) if "could not be read" in asked.text else "Quite good, I think.")
    assert values(scores_of(judge, params)) == VALUES
    assert len(judge.calls) == 2 * (1 if params.calls == "one" else 5)
    assert len({asked.text for asked in judge.calls}) == len(judge.calls)


@pytest.mark.parametrize(("params", "wrong"), [(RagEvalParams(), 6), (RagEvalParams(), None), (PARALLEL, "fair")])
def test_a_missing_grade_fails_with_the_confidence_and_the_others_stand(
    params: RagEvalParams, wrong: object
) -> None:
    judge = Chat(lambda asked: graded(asked, GRADES | {"coverage": wrong}))
    found = scores_of(judge, params)
    without = {"coverage", "confidence", "trustworthy", "misaligned"}
    assert {name for name, score in found.items() if score.status == "failed"} == {
        f"rag_eval_{x}" for x in without
    }
    assert {score.explanation for score in found.values() if score.status == "failed"} == {
        found["rag_eval_coverage"].explanation
    }
    assert "no grade from 1 to 5 for coverage in" in found["rag_eval_coverage"].explanation
    assert len(judge.calls) == (2 if params.calls == "one" else 6)


def test_a_second_reply_only_adds_missing_grades() -> None:
    replies = iter([GRADES | {"coverage": None}, {"query_relevance": 1, "coverage": 2}])
    judge = Chat(lambda _: json.dumps(next(replies)))
    assert values(scores_of(judge)) == VALUES


LONG = ("first " * 1_500, "second " * 1_500)
"""A window each."""


def test_all_contexts_are_graded_window_by_window_and_none_is_cut() -> None:
    def by_window(asked: Asked) -> str:
        return graded(asked, dict.fromkeys(METRICS, 5 if "[2] second" in asked.text else 1))

    judge = Chat(by_window)
    found = scores_of(judge, contexts=LONG)
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

    found = scores_of(Chat(by_window), params, contexts=LONG)
    assert found["rag_eval_coverage"].status == "failed"
    assert found["rag_eval_fluency"].value == VALUES["rag_eval_fluency"]


def test_a_query_or_an_answer_of_any_length_is_bounded_and_the_contexts_are_not() -> None:
    texts = material("?" * 10_000, "c" * 50_000, "!" * 10_000)
    assert (len(texts.query), len(texts.contexts), len(texts.answer)) == (2_000, 50_000, 4_000)
    assert texts.cuts == ("query cut to 2,000 characters", "answer cut to 4,000 characters")


@pytest.mark.parametrize("params", [RagEvalParams(), PARALLEL])
def test_the_judge_reads_the_criterion_steps_and_grades_of_each_metric_that_it_is_asked_for(
    params: RagEvalParams,
) -> None:
    judge = Chat(graded)
    scores_of(judge, params)
    for asked in judge.calls:
        for name, criterion in CRITERIA.items():
            words = [criterion.asks, *criterion.steps[:2], *criterion.grades]
            assert len(criterion.grades) == 5
            assert [word in asked.text for word in words] == [name in asked_for(asked)] * len(words)
