import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from harness import testing
from harness.core.records import Document, Places, Prediction, Span
from harness.protocols import Measure, ScoreLabel
from harness.testing.checks import check_prediction
from harness.testing.evaluators.contract import mistakes


def test_the_package_itself_needs_no_pytest() -> None:
    script = "import sys, harness.testing.systems.process as _; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", testing.__all__)
def test_every_contract_has_tests_and_is_no_test_itself(name: str) -> None:
    contract = getattr(testing, name)
    assert contract.__name__ == name
    assert not name.startswith("Test")
    assert [test for test in dir(contract) if test.startswith("test_")]


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="ProviderContract"):
        testing.ProviderContract  # noqa: B018


def test_a_contract_that_names_no_system_says_so() -> None:
    class TestNothing(testing.SystemContract):
        pass

    with pytest.raises(AssertionError, match="TestNothing must name the system to test: name = "):
        TestNothing.chosen()


# What the contracts ask of labels that sort answers, and of places that a ranking names.


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
