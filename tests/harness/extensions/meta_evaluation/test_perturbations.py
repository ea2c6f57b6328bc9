import random
from collections.abc import Callable, Sequence

import pytest

from harness.core.records import Context, Prediction, Query, Reference, Triplet
from harness.core.scripts import renumbered
from harness.evaluators.answer_normalisation import abstains
from harness.extensions.meta_evaluation.perturbed_runs import (
    GENERIC_ANSWER,
    SWAPS,
    PerturbedCase,
    deranged,
    halved,
    negated,
    turned_round,
    with_another_name,
)
from harness.extraction.types import FoundEntity, TextGraph
from harness.store import SampleRow


def case(number: int, answer: str, query_type: str = "t", contexts: Sequence[str] = ()) -> PerturbedCase:
    query_id = f"q{number:02}"
    reference = Reference(query_id=query_id, query_type=query_type, answers=(answer,), evidence=())
    passages = tuple(Context(text=text, doc_ids=("d",)) for text in contexts)
    row = SampleRow(query=Query(query_id=query_id, text=f"What is {number}?"), reference=reference)
    return PerturbedCase(row, Prediction(answer=answer, contexts=passages))


def changed(swap: str, cases: Sequence[PerturbedCase], seed: int = 0) -> Sequence[PerturbedCase]:
    return next(one for one in SWAPS if one.name == swap).make(cases, seed)


@pytest.mark.parametrize("seed", range(5))
def test_every_case_is_paired_with_another_one_of_its_type(seed: int) -> None:
    cases = [case(number, f"a{number % 4}", f"type{number % 2}") for number in range(24)]
    pairs = deranged(cases, seed, "x", lambda one: one.answer)
    assert sorted(donor.query_id for _, donor in pairs) == sorted(one.query_id for one in cases)
    for one, donor in pairs:
        assert one.answer != donor.answer
        assert one.row.reference.query_type == donor.row.reference.query_type


def test_a_wrong_answer_is_never_a_right_one_and_is_drawn_by_seed() -> None:
    mostly_equal = [case(number, "Yes" if number else "No") for number in range(5)]
    assert sorted(one.answer for one in changed("wrong_answer", mostly_equal)) == ["No", "Yes"]
    first, second = case(0, "NYC"), case(1, "New York")
    both = first.row.reference.model_copy(update={"answers": ("NYC", "New York")})
    first = PerturbedCase(first.row.model_copy(update={"reference": both}), first.prediction)
    assert [one.query_id for one in changed("wrong_answer", [first, second])] == ["q01"]
    cases = [case(number, f"answer {number}") for number in range(20)]
    made = [[one.answer for one in changed("wrong_answer", cases, seed)] for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_another_query_changes_only_the_text_of_the_question() -> None:
    cases = [case(number, f"a{number}") for number in range(3)]
    for before, after in zip(cases, changed("query", cases), strict=True):
        assert after.row.query.text != before.row.query.text
        assert (after.query_id, after.prediction, after.row.reference) == (
            before.query_id,
            before.prediction,
            before.row.reference,
        )


def test_contexts_with_a_shared_text_and_edits_without_effect_are_left_out() -> None:
    cases = [case(0, "a", contexts=["x", "y"]), case(1, "b", contexts=["y", "z"]), case(2, "c")]
    assert changed("contexts", cases) == []
    assert changed("negation", [case(0, "Not")]) == []


ADA = TextGraph(entities=(FoundEntity("Ada", "Person"),))
PEOPLE = [FoundEntity("Paris", "Place"), FoundEntity(r"B\1ob", "Person"), FoundEntity("Ada", "Person")]
SOLD = TextGraph(triplets=(Triplet("Google", "bought", "YouTube"),))


@pytest.mark.parametrize(
    ("edit", "text", "edited"),
    [
        (negated, "Yes", "No"),
        (negated, "no.", "Yes"),
        (negated, "The tower is tall.", "The tower is not tall."),
        (negated, "It has been sold.", "It has not been sold."),
        (negated, "It is not tall.", "It is tall."),
        (negated, "They weren't there.", "They were there."),
        (negated, "You can go.", "You can not go."),
        (negated, "Barack Obama", None),
        (halved, "one two three four five", "one two"),
        (halved, "one two three", None),
        (lambda text: renumbered(text, random.Random(1)), "two of them", None),
        # Another name of the same kind, everywhere.
        (
            lambda text: with_another_name(text, ADA, PEOPLE, random.Random(1)),
            "Ada met Ada's son, Adam.",
            r"B\1ob met B\1ob's son, Adam.",
        ),
        (lambda text: with_another_name(text, ADA, PEOPLE[:1], random.Random(1)), "Ada", None),
        # Head and tail of a statement exchanged.
        (
            lambda text: turned_round(text, SOLD),
            "In 2006 Google bought YouTube.",
            "In 2006 YouTube bought Google.",
        ),
        (lambda text: turned_round(text, SOLD), "They bought it.", None),
    ],
)
def test_an_edit_makes_a_text_wrong_in_one_way_or_is_impossible(
    edit: Callable[[str], str | None], text: str, edited: str | None
) -> None:
    assert edit(text) == edited


@pytest.mark.parametrize("text", ["in 1987", "$5", "about 1,200.5 miles", "10 to 20"])
def test_another_number_is_as_long(text: str) -> None:
    another = renumbered(text, random.Random(1))
    assert another is not None
    assert another != text
    assert [char.isdigit() for char in another] == [char.isdigit() for char in text]


def test_the_generic_answer_is_no_abstention() -> None:
    assert not abstains(GENERIC_ANSWER)
