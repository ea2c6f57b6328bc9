"""The checks of a question that need no model."""

import pytest
from question_writers import FERRY, YARD

from harness.core.records import Evidence
from harness.extensions.testset.text_checks import (
    cannot_agree,
    check_all_rows,
    check_names_occur,
    check_quotes,
    gives_away,
    left_out,
    stands_alone,
    well_formed,
)

TEXTS = {document.doc_id: document.text for document in (FERRY, YARD)}


@pytest.mark.parametrize(
    "question",
    [
        "What does this report say about the flood at Corrie?",
        "According to the article, who chairs the harbour board of Lowmere?",
        "Who is named in the text as the manager of the Tarnby yard?",
        "What does the author think of the Kestrel Fund?",
        "Which is larger, the sum in document A or the sum in document B?",
        "Do both documents say that the Tarnby yard was founded in 1911?",
        "Who chairs the board mentioned above?",
        "He was born in which town?",
        "What is its price?",
        "When was the company founded?",
        "What is the name of the ferry?",
    ],
)
def test_a_question_that_refers_to_an_unseen_text_does_not_stand_alone(question: str) -> None:
    assert stands_alone(question).passed is False


@pytest.mark.parametrize(
    "question",
    [
        "Who chairs the harbour board of Lowmere?",
        "What is the name of the ferry that has crossed the sound since 1987?",
        "Which report did Dagny Voss publish in 2024?",
        "According to the report of the river office on the Elder, how high did the water rise?",
        "When was the company founded that Joren Brask manages?",
        "How long did it take the Curlew to reach Lowmere?",
        "What did the author of 'Wind on the Hask ridge' do before?",
        "東京の人口は何人ですか？",  # noqa: RUF001
    ],
)
def test_a_question_that_names_what_it_asks_about_stands_alone(question: str) -> None:
    assert stands_alone(question).note == ""


FOUNDED = "When was the Tarnby yard founded?"
FIRST = "Which came first, the flood at Corrie or the trials of the Curlew?"
LONG = "in the year 1911, long before any of the men who work there now were born"


@pytest.mark.parametrize(
    ("kind", "question", "answer", "passed"),
    [
        ("single_fact", FOUNDED, "1911", True),
        ("single_fact", "The Tarnby yard was founded in 1911.", "1911", False),
        ("single_fact", "Who ?", "Hanne Olvik", False),
        ("single_fact", FOUNDED, "", False),
        ("single_fact", FOUNDED, "Insufficient information.", False),
        ("single_fact", FOUNDED, LONG, False),
        ("unanswerable", "Who designed the Curlew?", "", True),
        # An answer that says no more than its question is none unless the question offers it.
        ("single_fact", "What is the name of the data protection officer?", "data protection officer", False),
        ("single_fact", "Who manages the Tarnby yard?", "The yard's manager, Joren Brask", True),
        ("single_fact", "Does the ferry run on Sundays?", "No", True),
        ("single_fact", "Is the Curlew a ferry or a trawler?", "a ferry", True),
        # Of two that are compared, the answer is one, or a date or number.
        ("temporal", FIRST, "the flood", True),
        ("comparison", FIRST, "11 October 2024", True),
        ("temporal", FIRST, "Before", False),
        ("comparison", FIRST, "It was on 11 October 2024 at night", False),
    ],
)
def test_a_question_has_a_short_answer_that_can_be_compared(
    kind: str, question: str, answer: str, passed: bool
) -> None:
    assert well_formed(kind, question, answer).passed is passed


def test_each_quote_is_in_its_document_and_a_question_over_two_documents_quotes_both() -> None:
    fact = "The Tarnby yard was founded in 1911 and built trawlers."
    one = Evidence(doc_id="yard.md", fact=fact)
    assert check_quotes("single_fact", [one], TEXTS).passed
    for doc_id, other in (("ferry.md", fact), ("yard.md", fact.replace("1911", "1912")), ("nowhere.md", fact)):
        assert check_quotes("single_fact", [Evidence(doc_id=doc_id, fact=other)], TEXTS).passed is False
    assert check_quotes("single_fact", [], TEXTS).passed is False
    two = [one, Evidence(doc_id="ferry.md", fact="The ship is to cost 18.4 million crowns.")]
    for kind in ("bridge", "comparison", "temporal"):
        assert check_quotes(kind, [one, one], TEXTS).passed is False
        assert check_quotes(kind, two, TEXTS).passed


@pytest.mark.parametrize(
    ("one", "other", "can_agree"),
    [
        ("Yes", "6.1%", False),
        ("Before", "No", False),
        ("18.4 million", "21 million crowns", False),
        ("6.1%", "6.1 percent", True),
        ("Yes", "No", True),
        ("Olvik", "Hanne Olvik", True),
        ("in May 2025", "May", True),
    ],
)
def test_answers_that_cannot_agree_are_not_left_to_a_judge(one: str, other: str, can_agree: bool) -> None:
    assert cannot_agree(one, other) is cannot_agree(other, one) is not can_agree


def test_a_question_is_about_its_documents_and_does_not_give_its_answer_away() -> None:
    assert check_names_occur("Who opened the Orvane Bridge in 1911?", TEXTS.values()).passed is False
    for question in ("Who sold the Tarnby yard?", "How many days of leave are there?", "Does Ms Olvik chair it?"):
        assert check_names_occur(question, TEXTS.values()).passed
    assert left_out("the Kestrel Fund", TEXTS).passed is False
    assert left_out("its designer", TEXTS).passed
    assert gives_away("Which came first, the flood or the sale?", "the sale")
    assert gives_away("Do both boards meet in May?", "Yes")
    assert not gives_away(FOUNDED, "1911")


ROW = "Model: Siskin City; Price EUR: 1450; Best seller: yes"
COMPARED = "Siskin City costs more than any other model."


@pytest.mark.parametrize(
    ("question", "answer", "quote", "passed"),
    [
        ("What is the name of the model with the highest price?", "Siskin City", ROW, False),
        ("How many models are in the price list?", "7", ROW, False),
        ("How many euros does Siskin City cost?", "1450", ROW, True),
        ("Which model is the best seller?", "Siskin City", ROW, True),
        ("Which is the cheapest, Siskin City or Wren Kids?", "Siskin City", ROW, True),
        ("Which model has the highest price?", "Siskin City", COMPARED, True),
    ],
)
def test_a_superlative_or_a_count_over_a_table_is_not_asked_of_one_row(
    question: str, answer: str, quote: str, passed: bool
) -> None:
    assert check_all_rows(question, answer, [Evidence(doc_id="prices.csv", fact=quote)]).passed is passed
