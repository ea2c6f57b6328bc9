import random

import pytest

from harness.core.records import Triplet
from harness.evaluators.answer_normalisation import abstains
from harness.extensions.meta_evaluation.perturbations import (
    GENERIC_ANSWER,
    halved,
    negated,
    renumbered,
    turned_round,
    with_another_name,
)
from harness.extraction.types import FoundEntity, TextGraph


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("Yes", "No"),
        ("no.", "Yes"),
        ("The tower is tall.", "The tower is not tall."),
        ("It has been sold.", "It has not been sold."),
        ("It is not tall.", "It is tall."),
        ("They weren't there.", "They were there."),
        ("You can go.", "You can not go."),
    ],
)
def test_a_negation_says_the_opposite(text: str, opposite: str) -> None:
    assert negated(text) == opposite


def test_a_name_has_no_opposite() -> None:
    assert negated("Barack Obama") is None


@pytest.mark.parametrize("text", ["in 1987", "$5", "about 1,200.5 miles", "10 to 20"])
def test_another_number_is_as_long_and_another_one(text: str) -> None:
    changed = renumbered(text, random.Random(1))
    assert changed is not None
    assert changed != text
    assert len(changed) == len(text)
    assert [char.isdigit() for char in changed] == [char.isdigit() for char in text]


def test_a_text_without_a_number_is_not_renumbered() -> None:
    assert renumbered("two of them", random.Random(1)) is None


def test_half_of_an_answer_is_its_first_words_and_a_short_one_is_left_whole() -> None:
    assert halved("one two three four five") == "one two"
    assert halved("one two three") is None


def test_a_name_is_replaced_by_another_of_its_kind_everywhere() -> None:
    graph = TextGraph(entities=(FoundEntity("Ada", "Person"),))
    others = [FoundEntity("Paris", "Place"), FoundEntity(r"B\1ob", "Person"), FoundEntity("Ada", "Person")]
    assert with_another_name("Ada met Ada's son, Adam.", graph, others, random.Random(1)) == (
        r"B\1ob met B\1ob's son, Adam."
    )


def test_without_another_name_of_its_kind_nothing_is_replaced() -> None:
    graph = TextGraph(entities=(FoundEntity("Ada", "Person"),))
    assert with_another_name("Ada", graph, [FoundEntity("Paris", "Place")], random.Random(1)) is None


def test_head_and_tail_of_a_statement_change_places_and_every_word_stays() -> None:
    graph = TextGraph(triplets=(Triplet("Google", "bought", "YouTube"),))
    assert turned_round("In 2006 Google bought YouTube.", graph) == "In 2006 YouTube bought Google."
    assert turned_round("They bought it.", graph) is None


def test_the_generic_answer_is_no_abstention() -> None:
    assert not abstains(GENERIC_ANSWER)
