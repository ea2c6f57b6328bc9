"""Answers in brief: a right one scores 1 and a wrong one 0, though neither states a triplet."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from judges import WordEmbedder, quoted_in
from runtimes import Asked, Chat
from scoring import BareEvaluation, passages, score_one

from harness.core.records import Prediction, Score
from harness.evaluators.kg.evaluator import SPEC
from harness.evaluators.kg.graphs.graph import TripletSide, connect
from harness.evaluators.kg.measures import KgParams
from harness.evaluators.kg.short_answers import names_in, phrase_in, strictly_alike

SCORES = ("multi_hop", "multi_hop_undirected", "direct", "community", "community_coverage")


def judge(**triplets: list[tuple[str, str, str]]) -> Chat:
    """Reads triplets out of texts in which the word occurs, and none out of others."""

    def reply(asked: Asked) -> str:
        text = quoted_in(asked.text, "text")
        found = (stated for word, stated in triplets.items() if word in text)
        return json.dumps({"triplets": next(found, [])})

    return Chat(reply)


def score(answer: str, right: str, *texts: str, chat: Chat | None = None, **params: Any) -> Mapping[str, Score]:
    """By measure, of an answer to a question with this right answer and these contexts."""
    runtime = BareEvaluation(chat or judge(), WordEmbedder())
    said = Prediction(answer=answer, contexts=passages(*texts))
    return score_one(SPEC, said, answers=[right], params=KgParams(**params), runtime=runtime)


def stands_in(name: str, other: str) -> bool:
    """Whether a name may be alike another, as far as its numbers go."""
    sides = TripletSide.of((), [name]), TripletSide.of((), [other])
    alike = connect(*sides, {name: np.ones(1), other: np.ones(1)}, tau=0.5)
    return bool(len(strictly_alike(alike, verdicts=False).pairs.inputs))


def values(scores: Mapping[str, Score], pair: str = "factual_correctness") -> set[float | None]:
    return {scores[f"kg_{name}_{pair}"].value for name in SCORES}


@pytest.mark.parametrize(
    ("answer", "right", "value"),
    [
        ("Sam Altman.", "Sam Altman", 1.0),
        ("Answer: Sam Altman [1]", "Sam Altman", 1.0),
        ("The Federal Reserve", "Federal Reserve", 1.0),
        ("Google and Apple", "Apple & Google", 1.0),
        ("higher interest rates", "higher interest rates", 1.0),
        ("10", "10", 1.0),
        ("True", "Yes", 1.0),
        ("No, the article reports a loss.", "no", 1.0),
        ("Google", "Sam Altman", 0.0),
        ("No, the article reports a loss.", "Yes", 0.0),
        ("Yes and no", "Yes", 0.0),
        ("Google", "Yes", 0.0),
        ("Yes", "Google", 0.0),
        ("2019", "2020", 0.0),
    ],
)
def test_a_right_short_answer_scores_one_and_a_wrong_one_nothing(answer: str, right: str, value: float) -> None:
    scores = score(answer, right)
    assert values(scores) == {value}
    assert scores["kg_measurable_factual_correctness"].value == 1.0


def test_a_wrong_year_is_wrong_however_alike_the_vectors_are() -> None:
    # Two of three words, a cosine of 0.67: the numbers decide, not tau.
    assert values(score("March 5 2019", "March 5 2020", tau=0.5)) == {0.0}
    assert values(score("March 5 2019", "March 5 2019", tau=0.5)) == {1.0}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1.5 million", "1.5 billion", False),
        ("$1.5m", "$1.5bn", False),
        ("-5%", "5%", False),
        ("5", "5%", False),
        ("March 2023", "May 2023", False),
        ("5 Mar. 2023", "5th of May, 2023", False),
        ("100 m", "100 million", False),
        ("1,500,000", "1.5 million", True),
        ("1.50 million dollars", "$1.5m", True),
        # A letter is a scale beside a currency alone.
        ("100 metres", "100 m", True),
        ("5 per cent", "5%", True),
        ("the 5th of March 2023", "March 5, 2023", True),
        ("2023-03-05", "Mar 5, 2023", True),
        ("March 2023", "2023", True),
        ("2023-99-99", "2023-99-99", True),
        ("Theresa May", "Theresa May", True),
    ],
)
def test_a_number_matches_by_its_sign_scale_percent_and_month(one: str, other: str, same: bool) -> None:
    assert stands_in(other, one) is same


def test_half_of_a_list_is_half_right() -> None:
    scores = score("Google and Apple", "Google")
    assert scores["kg_multi_hop_factual_correctness"].value == 0.5
    assert scores["kg_direct_factual_correctness"].explanation.endswith("not: Apple")


def test_a_name_is_looked_for_in_the_contexts_and_repeats_nothing_of_the_question() -> None:
    chat = judge(Altman=[("Sam Altman", "leads", "OpenAI")])
    right = score("Sam Altman", "Sam Altman", "Altman leads OpenAI.", chat=chat)
    wrong = score("Google", "Sam Altman", "Altman leads OpenAI.", chat=chat)
    assert right["kg_multi_hop_faithfulness"].value == 1.0
    assert wrong["kg_multi_hop_faithfulness"].value == 0.0
    relevancy = right["kg_multi_hop_answer_relevancy"]
    assert relevancy.status == "not_applicable"
    assert "the answer has no triplets" in relevancy.explanation


def test_contexts_cannot_hold_a_bare_yes() -> None:
    chat = judge(Altman=[("Sam Altman", "leads", "OpenAI")], Yes=[("Yes", "is", "answer")])
    one = score("Yes", "Yes", "Altman leads OpenAI.", chat=chat)["kg_multi_hop_faithfulness"]
    assert (one.status, one.explanation) == ("not_applicable", "the answer has no triplets")


def test_names_are_not_sent_to_the_judge_unless_published_scores_are_asked_for() -> None:
    chat = judge()
    assert values(score("Sam Altman", "Sam Altman", chat=chat, scores=SCORES, pairs=("factual_correctness",))) == {
        1.0
    }
    assert chat.calls == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Sam Bankman-Fried", ("Sam Bankman-Fried",)),
        ("the New York Times", ("New York Times",)),
        ("Google, Apple, and Meta", ("Google", "Apple", "Meta")),
        ("Tyson Foods, Inc.", ("Tyson Foods, Inc",)),
        ("Bank of America", ("Bank of America",)),
        ("Google bought YouTube.", ()),
        ("sam altman", ()),
        ("", ()),
        ("Google\nApple", ()),
        (" ".join(["Word"] * 13), ()),
    ],
)
def test_the_names_that_an_answer_consists_of(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_a_phrase_is_short_and_on_one_line() -> None:
    assert phrase_in("**higher interest rates** [1].") == ("higher interest rates",)
    assert phrase_in("?!") == ()
    assert phrase_in(" ".join(["word"] * 13)) == ()
