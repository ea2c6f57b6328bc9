"""Abstentions in eleven languages, however much they explain, and answers in them that only sound like one."""

import pytest
from tables import rows_of

from harness.core.records import Reference
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import ABSTENTION, abstains, canonical
from harness.evaluators.score_preconditions import is_null

LANGUAGES = ["en", "de", "fr", "es", "pt", "it", "zh", "ja", "ko", "ar", "hi"]
EVERY = pytest.mark.parametrize("language", LANGUAGES)


def answers(language: str, *, abstaining: bool, table: str = "abstentions.csv") -> list[str]:
    return [
        row["answer"]
        for row in rows_of(__file__, table)
        if row["language"] == language and (row["abstains"] == "yes") == abstaining
    ]


@EVERY
def test_an_abstention_is_one_in_every_language(language: str) -> None:
    said = answers(language, abstaining=True)
    assert len(said) > 20
    assert [one for one in said if canonical(one) != ABSTENTION] == []
    assert all(is_right(one, ["Insufficient information."]) for one in said)
    assert all(is_null(Reference(query_id="q", query_type="q", answers=(one,))) for one in said)


@EVERY
def test_an_answer_is_no_abstention_in_any_language(language: str) -> None:
    said = answers(language, abstaining=False)
    assert len(said) > 15
    assert [one for one in said if abstains(one)] == []
    assert not any(is_right(one, ["Insufficient information."]) for one in said)


@EVERY
def test_an_answer_before_or_behind_an_abstention_counts(language: str) -> None:
    # What is labelled as the answer is the answer, wherever it stands, and a "therefore" makes the last verdict.
    said = [one for one in answers(language, abstaining=True) if not one.startswith(("Answer:", "The answer"))]
    said = [one for one in said if "\u56e0\u6b64" not in one]
    assert [one for one in said if abstains(f"{one}\nGoogle") or abstains(f"Sam Altman.\n{one}")] == []
    assert not any(abstains(f"{one} My best guess is Google.") for one in said if language == "en")


@EVERY
def test_the_last_verdict_counts_and_a_remark_about_something_else_is_none(language: str) -> None:
    """Also where the answer is a JSON object or labelled."""
    said = {decides: answers(language, abstaining=decides, table="last_verdicts.csv") for decides in (True, False)}
    assert min(map(len, said.values())) >= (39 if language == "en" else 2)
    assert [one for one in said[True] if canonical(one) != ABSTENTION] == []
    assert [one for one in said[False] if abstains(one)] == []


@pytest.mark.parametrize(
    "answer",
    [
        "The context does not say. Answer: Paris",
        "Insufficient information. So the answer is: Paris.",
        "Passage 1 is about London. Final answer: **Paris**",
        "Therefore, the answer is Paris.",
        '{"answer": "Paris"}',
        '```json\n{"reasoning": "See passage 1.", "Answer": "Paris [1]."}\n```',
        "\u6587\u4e2d\u6ca1\u6709\u8bf4\u660e\u3002\u7b54\u6848\uff1aParis",
    ],
)
def test_an_answer_labelled_behind_a_sentence_or_in_json_is_the_answer(answer: str) -> None:
    assert is_right(answer, ["Paris"])
    assert not is_right(answer, ["London"])


@EVERY
def test_a_citation_decides_nothing(language: str) -> None:
    said = [(one, decides) for decides in (True, False) for one in answers(language, abstaining=decides)]
    assert [one for one, decides in said if abstains(f"{one} [2]") != decides] == []


@pytest.mark.parametrize("answer", ["Google", "Yes", "Sam Bankman-Fried", "In March 2023", "Both articles"])
def test_an_answer_after_the_phrase_of_the_prompt_counts(answer: str) -> None:
    joints = (": ", ". ", "\n", ", ", " - ", " (", "; ", ", but ", ", probably ")
    assert not any(abstains(f"Insufficient information{joint}{answer}") for joint in joints)


UNITS = [
    "no ",
    "so, ",
    "Passage 1 is about it. ",
    "{",
    "Answer: ",
    "nicht ",
    "daher, ",
    "不知道",
    "わかりません",
    "لا ",
    "non, ",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_answer_takes_bounded_time(unit: str) -> None:
    assert not abstains(unit * 3_000)
