"""Words that an answer shares with its reference and its contexts: counted by hand."""

import pytest
from scoring import build_scorer, record, reference, score_all

from harness.evaluators.novel_tokens import SPEC, shared_novel_tokens
from harness.evaluators.rouge import SPEC as ROUGE
from harness.evaluators.rouge import rouge_l
from harness.evaluators.support import common_subsequence, support_of, supporting_sentences

QUESTION = "Who founded Acme?"


def test_the_words_of_the_question_and_function_words_agree_with_nothing() -> None:
    found = shared_novel_tokens(QUESTION, "Acme was founded by Bob in 1990.", "Acme was founded by Ann in 1990.")
    assert found is not None
    # Bob and 1990 against Ann and 1990.
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)


def test_a_word_counts_as_often_as_both_have_it() -> None:
    found = shared_novel_tokens("?", "cat cat dog", "cat cat cat bird")
    assert found is not None
    assert (found.precision, found.recall) == (2 / 3, 2 / 4)


def test_a_reference_all_of_whose_words_are_asked_about_is_still_told_right_from_wrong() -> None:
    right, wrong = (shared_novel_tokens("Is Ann or Bob older?", name, "Ann") for name in ("It is Ann.", "Bob"))
    assert right is not None
    assert wrong is not None
    assert (right.f1, wrong.f1) == (1.0, 0.0)


def test_rouge_l_is_the_f1_of_the_longest_common_subsequence() -> None:
    # The example of Lin 2004: "police the gunman" and "the gunman" are in order in both.
    assert rouge_l("police kill the gunman", "police killed the gunman") == 3 / 4
    assert rouge_l("the gunman kill police", "police killed the gunman") == 2 / 4
    records = {("q1", 0): record("q1", "Ann and Bob."), ("q2", 0): record("q2", "")}
    scores = score_all(build_scorer(ROUGE), [reference("q1", "Cid", "Ann"), reference("q2", "Ann")], records)
    assert [score.value for score in scores] == [2 * 1 / (3 + 1), 0.0]


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("It\u2019s Ann\u2019s [2].", "it's ann's"),
        ("3.5 GHz (fast)", "fast 3.5 GHz"),
        ("東京です", "東京です。"),
        ("ЁЛКА и Straße", "ёлка И STRASSE"),
    ],
)
def test_marks_case_citations_and_scripts_do_not_part_what_is_the_same(answer: str, reference: str) -> None:
    found = shared_novel_tokens("?", answer, reference)
    assert found is not None
    assert found.f1 == 1.0


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


def test_a_copied_answer_is_supported_in_every_way() -> None:
    found = support_of("Acme was founded in 1990 by Ann Lee", CONTEXTS)
    assert found is not None
    assert tuple(found) == (1.0, 1.0, 1.0, 1.0)


def test_words_and_numbers_that_no_context_has_are_not_supported() -> None:
    found = support_of("Acme was founded in 1985 by Bob Lee", CONTEXTS)
    assert found is not None
    # Acme, founded, Lee of Acme, founded, 1985, Bob, Lee.
    assert found.words == pytest.approx(3 / 5)
    assert found.bigrams < found.words
    assert found.exact == 0.0


def test_the_order_of_words_counts_for_pairs_and_subsequences_alone() -> None:
    found = support_of("Oslo lamps Ann", CONTEXTS)
    assert found is not None
    assert (found.words, found.bigrams) == (1.0, 0.0)
    assert found.rouge_l == pytest.approx(2 / 3)


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


def test_an_answer_of_function_words_says_nothing() -> None:
    assert support_of("It is that.", CONTEXTS) is None


@pytest.mark.parametrize(
    ("one", "other", "length"),
    [("a b c d", "b d", 2), ("a b c", "c b a", 1), ("", "a", 0), ("a a b", "a b a", 2), ("x", "y", 0)],
)
def test_a_common_subsequence_by_hand(one: str, other: str, length: int) -> None:
    assert common_subsequence(one.split(), other.split()) == length
