"""How far contexts support an answer, by its words."""

import pytest

from harness.evaluators.support import SPEC, common_subsequence, support_of

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


def test_an_answer_of_function_words_says_nothing() -> None:
    assert support_of("It is that.", CONTEXTS) is None


def test_citations_are_no_words() -> None:
    assert support_of("Acme sells lamps [2].", CONTEXTS) == support_of("Acme sells lamps.", CONTEXTS)


@pytest.mark.parametrize(
    ("one", "other", "length"),
    [("a b c d", "b d", 2), ("a b c", "c b a", 1), ("", "a", 0), ("a a b", "a b a", 2), ("x", "y", 0)],
)
def test_a_common_subsequence_by_hand(one: str, other: str, length: int) -> None:
    assert common_subsequence(one.split(), other.split()) == length


def test_no_other_metric_is_said_to_be_approximated_than_faithfulness() -> None:
    twins = {measure.twin_of for measure in SPEC.measures(SPEC.params())} - {""}
    assert twins == {"ragas_faithfulness"}
