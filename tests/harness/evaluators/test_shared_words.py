"""Words that an answer shares with its reference and its contexts: counted by hand."""

import pytest
from scoring import build_scorer, record, reference, score_all

from harness.evaluators.novel_tokens import SPEC, shared_novel_tokens
from harness.evaluators.rouge import SPEC as ROUGE
from harness.evaluators.rouge import rouge_l
from harness.evaluators.support import common_subsequence, support_of, supporting_sentences


@pytest.mark.parametrize(
    ("question", "answer", "reference", "precision", "recall"),
    [
        # Bob and 1990 against Ann and 1990.
        (
            "Who founded Acme?",
            "Acme was founded by Bob in 1990.",
            "Acme was founded by Ann in 1990.",
            1 / 2,
            1 / 2,
        ),
        ("?", "cat cat dog", "cat cat cat bird", 2 / 3, 2 / 4),
        # All words of the reference are in the question.
        ("Is Ann or Bob older?", "It is Ann.", "Ann", 1.0, 1.0),
        ("Is Ann or Bob older?", "Bob", "Ann", 0.0, 0.0),
        ("?", "It\u2019s Ann\u2019s [2].", "it's ann's", 1.0, 1.0),
        ("?", "3.5 GHz (fast)", "fast 3.5 GHz", 1.0, 1.0),
        ("?", "東京です", "東京です。", 1.0, 1.0),
        ("?", "ЁЛКА и Straße", "ёлка И STRASSE", 1.0, 1.0),
    ],
)
def test_shared_words_are_counted_without_those_of_the_question_and_function_words(
    question: str, answer: str, reference: str, precision: float, recall: float
) -> None:
    assert shared_novel_tokens(question, answer, reference) == (precision, recall)


def test_rouge_l_is_the_f1_of_the_longest_common_subsequence() -> None:
    # The example of Lin 2004: "police the gunman" and "the gunman" are in order in both.
    assert rouge_l("police kill the gunman", "police killed the gunman") == 3 / 4
    assert rouge_l("the gunman kill police", "police killed the gunman") == 2 / 4
    records = {("q1", 0): record("q1", "Ann and Bob."), ("q2", 0): record("q2", "")}
    scores = score_all(build_scorer(ROUGE), [reference("q1", "Cid", "Ann"), reference("q2", "Ann")], records)
    assert [score.value for score in scores] == [2 * 1 / (3 + 1), 0.0]


def test_what_has_no_graded_score_has_none_and_an_empty_answer_is_nothing() -> None:
    gold = [reference("q1", "Ann Smith"), reference("q2", "Yes"), reference("q3", "it is"), reference("q4", "Ann")]
    answers = {"q1": "I do not know.", "q2": "Yes", "q3": "it is", "q4": ""}
    records = {(query, 0): record(query, answer) for query, answer in answers.items()}
    scores = score_all(build_scorer(SPEC), gold, records)
    found = {score.query_id: (score.status, score.value) for score in scores if score.measure == "novel_token_f1"}
    nothing = ("not_applicable", None)
    assert found == {"q1": nothing, "q2": nothing, "q3": nothing, "q4": ("scored", 0.0)}


def test_of_several_references_the_best_counts() -> None:
    scores = score_all(
        build_scorer(SPEC), [reference("q1", "Robert Jones", "Ann Smith")], {("q1", 0): record("q1", "Ann Smith")}
    )
    assert [score.value for score in scores] == [1.0, 1.0, 1.0]


CONTEXTS = ["Acme was founded in 1990 by Ann Lee in Oslo.", "It sells 12 kinds of lamps."]


@pytest.mark.parametrize(
    ("answer", "support"),
    [
        ("Acme was founded in 1990 by Ann Lee", (1.0, 1.0, 1.0, 1.0)),
        # Acme, founded, Lee of Acme, founded, 1985, Bob, Lee.
        ("Acme was founded in 1985 by Bob Lee", (3 / 5, 3 / 7, 6 / 8, 0.0)),
        # The order of words counts for pairs and subsequences alone.
        ("Oslo lamps Ann", (1.0, 0.0, 2 / 3, 0.0)),
        ("It is that.", None),
    ],
)
def test_the_support_of_an_answer_by_hand(answer: str, support: tuple[float, ...] | None) -> None:
    assert support_of(answer, CONTEXTS) == (support and pytest.approx(support))


def test_the_sentences_with_the_new_words_of_an_answer_are_its_support() -> None:
    texts = ["Acme sells lamps. It was founded in 1990 by Ann Lee.", "Ann Lee lives in Oslo.", "Nothing else."]
    asked, said = "Who founded Acme, and when?", "Acme was founded by Ann Lee in 1990."
    found = supporting_sentences(asked, said, texts)
    assert [[text[start:end] for start, end in places] for text, places in zip(texts, found, strict=True)] == [
        ["It was founded in 1990 by Ann Lee."],
        ["Ann Lee lives in Oslo."],
        [],
    ]
    assert supporting_sentences(asked, "I do not know.", texts) == [[], [], []]


@pytest.mark.parametrize(
    ("one", "other", "length"), [("a b c d", "b d", 2), ("a b c", "c b a", 1), ("", "a", 0), ("a a b", "a b a", 2)]
)
def test_a_common_subsequence_by_hand(one: str, other: str, length: int) -> None:
    assert common_subsequence(one.split(), other.split()) == length
