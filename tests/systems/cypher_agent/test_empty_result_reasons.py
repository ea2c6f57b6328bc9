"""What is said of a statement that compares small letters with capitals, and of none other."""

import pytest

from systems.cypher_agent.empty_result_reasons import never_true


@pytest.mark.parametrize(
    "compared",
    [
        "toLower(d.source) = 'The Gull'",
        'tolower( d.source )  CONTAINS "The Gull"',
        "toLower(d.source) STARTS WITH 'Mira\\'s'",
        "toLower(d.source) IN ['the heron', 'The Gull']",
    ],
)
def test_small_letters_are_never_like_capitals(compared: str) -> None:
    assert "what toLower gives is never like" in never_true(f"MATCH (d:Document) WHERE {compared} RETURN d.doc_id")


@pytest.mark.parametrize(
    "compared",
    [
        "d.source = 'The Gull'",
        "toLower(d.source) = 'the gull'",
        "toLower(d.source) IN ['the gull'] AND d.title = 'Strike'",
        "d.text CONTAINS 'toLower(x) = the'",
        "",
    ],
)
def test_of_what_may_be_true_nothing_is_said(compared: str) -> None:
    assert never_true(f"MATCH (d:Document) WHERE {compared} RETURN d.doc_id") == ""
