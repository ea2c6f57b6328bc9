"""Citations are no part of an answer; what only looks like one is."""

import pytest

from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import leading_yes_no, normalise
from harness.evaluators.citation_removal import without_citations


@pytest.mark.parametrize(
    "answer",
    [
        "Google [1]",
        "Google[1].",
        "Google [1, 2]",
        "Google [1][3]",
        "Google [1], [2] and [3].",
        "Google [1-3]",
        "Google[^1]",
        "[1] Google",
        "Google\u00b9",
        "Google.\u00b9 \u00b2",
        "Google\u00b9\u2070",
        "Google \u30101\u2020source\u3011",
        "Google [doc 2]",
        "Google [doc1][doc2].",
        "Google [ID:0] [ID:12].",
        "Google ##0$$ ##12$$.",
        "Google [Document 1, Passage 2]",
        "Google (passages 1 and 3)",
        "Google (see [1])",
        "Google (Source: [1])",
        "Google. Source: [1]",
        "Google\nSources: [1], [3]",
        "Google, according to [2]",
        "Google, as stated in passage 1.",
        "**Google** [1]",
        "Answer: Google [1]",
        "Answer: Google\n\nSources: passage 2",
    ],
)
def test_a_cited_answer_is_the_answer(answer: str) -> None:
    assert normalise(answer) == "google"
    assert is_right(answer, ["Google"])
    assert not is_right(answer, ["Apple"])


@pytest.mark.parametrize(
    "answer",
    [
        "[1999]",
        "[7]",
        "[7] [1]",
        "Source: [1]",
        "Passage 3",
        "Iron Man (2)",
        "Section 2(1)",
        "Article 5",
        "as stated in Article 50",
        "Source: Reuters",
        "[2]catenane",
        "x[0]",
        "5 km\u00b2",
        "E=mc\u00b2",
        "10\u2076",
        "Google [123]",
    ],
)
def test_what_may_be_the_answer_itself_stays(answer: str) -> None:
    assert without_citations(answer) == answer


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
