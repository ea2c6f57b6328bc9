"""What the contracts ask of labels that sort answers, and of places that a ranking names."""

from dataclasses import replace
from typing import Any

import pytest

from harness.core.records import Document, Places, Prediction, Span
from harness.protocols import Measure, ScoreLabel
from harness.testing.evaluators.measures import mistakes
from harness.testing.systems.prediction_checks import check_prediction

LABELS = (ScoreLabel("low", "ranked low", "Look further."), ScoreLabel("gone", "gone", "Look again."))
SORTS = Measure(
    "wrong",
    "share of wrong answers",
    failure_value=1.0,
    reads=frozenset({"answer"}),
    higher_is_better=False,
    binary=True,
    labels=LABELS,
    failure_label="gone",
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"binary": False}, "must be binary"),
        ({"labels": (*LABELS, LABELS[0])}, "duplicate label"),
        ({"labels": (replace(LABELS[0], name="Not So"), LABELS[1])}, "small letters, digits and dashes"),
        ({"failure_label": "lost"}, "lost"),
        ({"labels": ()}, "has no labels"),
    ],
)
def test_labels_that_no_report_could_sort_by_are_a_mistake(changes: dict[str, Any], said: str) -> None:
    assert list(mistakes(SORTS)) == []
    (mistake,) = mistakes(replace(SORTS, **changes))
    assert said in mistake


@pytest.mark.parametrize("place", [("doc", 2, 9), ("doc", 3, 3), ("elsewhere", 0, 2)])
def test_a_ranking_names_places_of_the_corpus(place: tuple[str, int, int]) -> None:
    corpus = [Document(doc_id="doc", text="12345678")]
    doc_id, start, end = place
    ranked = Places.of([Span(doc_id="doc", start=0, end=4), Span(doc_id=doc_id, start=start, end=end)])
    check_prediction(Prediction(answer="yes", retrieved=Places.of([Span(doc_id="doc", start=0, end=8)])), corpus)
    with pytest.raises(AssertionError):
        check_prediction(Prediction(answer="yes", retrieved=ranked), corpus)
