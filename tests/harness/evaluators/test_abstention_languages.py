"""Abstentions in ten languages besides English, and answers in them that only sound like one."""

import csv
from pathlib import Path

import pytest

from harness.core.records import Reference
from harness.evaluators.answer import is_right
from harness.evaluators.answer_normalisation import abstains
from harness.evaluators.score_preconditions import is_null

LANGUAGES = ["de", "fr", "es", "pt", "it", "zh", "ja", "ko", "ar", "hi"]


def answers(language: str, *, abstaining: bool) -> list[str]:
    with Path(__file__).with_name("abstentions_in_ten_languages.csv").open(encoding="utf-8", newline="") as file:
        return [
            row["answer"]
            for row in csv.DictReader(file)
            if row["language"] == language and (row["abstains"] == "yes") == abstaining
        ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_abstention_is_one_in_every_language(language: str) -> None:
    said = answers(language, abstaining=True)
    assert len(said) > 20
    assert [one for one in said if not abstains(one)] == []
    assert all(is_right(one, ["Insufficient information."]) for one in said)
    assert all(is_null(Reference(query_id="q", query_type="q", answers=(one,))) for one in said)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_is_no_abstention_in_any_language(language: str) -> None:
    said = answers(language, abstaining=False)
    assert len(said) > 15
    assert [one for one in said if abstains(one)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_before_or_behind_an_abstention_counts(language: str) -> None:
    said = answers(language, abstaining=True)
    assert [one for one in said if abstains(f"{one}\nGoogle") or abstains(f"Sam Altman.\n{one}")] == []


@pytest.mark.parametrize("unit", ["no ", "nicht ", "不知道", "わかりません", "لا ", "non, ", "je ne sais pas "])
def test_a_long_answer_takes_bounded_time(unit: str) -> None:
    assert not abstains(unit * 3_000)
