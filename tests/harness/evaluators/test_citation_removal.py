"""Citations are no part of an answer; what only looks like one is."""

import pytest
from tables import rows_of

from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import leading_yes_no, normalise, without_citations


def test_a_cited_answer_is_the_answer() -> None:
    """Every cited answer of the table is Google."""
    cited = [row["answer"] for row in rows_of(__file__, "citations.csv") if row["is_cited"] == "yes"]
    assert len(cited) > 20
    assert [one for one in cited if normalise(one) != "google"] == []
    assert [one for one in cited if not is_right(one, ["Google"]) or is_right(one, ["Apple"])] == []


def test_what_may_be_the_answer_itself_stays() -> None:
    others = [row["answer"] for row in rows_of(__file__, "citations.csv") if row["is_cited"] == "no"]
    assert len(others) > 10
    assert [one for one in others if without_citations(one) != one] == []


def test_a_cited_yes_is_a_yes_and_a_number_in_words_stays() -> None:
    assert leading_yes_no("Yes [1], both say so [2].") == "yes"
    assert is_right("No [1][2].", ["No"])
    assert is_right("Apollo 11 [2]", ["Apollo 11"])
    assert not is_right("Apollo [11]", ["Apollo 11"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", [" ", "[1", "[1,", "(see ", "sources: ", "in ", "\u00b9 ", "[1] ", "[1 and 2 and "]
)
def test_brackets_without_end_are_read_in_passing(unit: str) -> None:
    assert without_citations(unit * 20_000 + "x").endswith("x")
