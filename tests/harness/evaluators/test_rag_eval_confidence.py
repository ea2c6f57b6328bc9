"""The confidence and its bands, against exact arithmetic."""

import itertools
from fractions import Fraction

import pytest
from pydantic import ValidationError

from harness.config.load import explain
from harness.core.errors import ConfigError
from harness.evaluators.rag_eval import RagEvalParams
from harness.evaluators.rag_eval.confidence import band_of, confidence_of
from harness.evaluators.rag_eval.criteria import METRICS

DEFAULT = RagEvalParams().weights
EVERY_FIVE = list(itertools.product(range(1, 6), repeat=5))
WEIGHTS = [
    DEFAULT,
    (0.2, 0.2, 0.2, 0.2, 0.2),
    (0.1, 0.2, 0.3, 0.3, 0.1),
    (0.7, 0.1, 0.1, 0.1, 0.0),
    (0.35, 0.15, 0.15, 0.15, 0.2),
    (1.0, 0.0, 0.0, 0.0, 0.0),
]


def confidence(*grades: int, weights: tuple[float, ...] = DEFAULT) -> float:
    return confidence_of(dict(zip(METRICS, grades, strict=True)), weights)


def test_the_confidence_is_what_one_computes_by_hand() -> None:
    assert confidence(5, 5, 5, 5, 5) == 1.0
    assert confidence(1, 1, 1, 1, 1) == 0.2
    # .25 * (4 + 3 + 2) / 5 + .125 * (5 + 1) / 5
    assert confidence(4, 3, 2, 5, 1) == 0.6
    assert confidence(5, 1, 1, 1, 1, weights=(1.0, 0.0, 0.0, 0.0, 0.0)) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_confidence_is_the_nearest_to_the_exact_one_and_its_band_that_of_the_exact_one(
    weights: tuple[float, ...],
) -> None:
    exact_weights = [Fraction(str(weight)) for weight in weights]
    for grades in EVERY_FIVE:
        exact = sum(weight * grade for weight, grade in zip(exact_weights, grades, strict=True)) / 5
        found = confidence(*grades, weights=weights)
        assert found == float(exact)
        band = "trustworthy" if exact >= Fraction(3, 4) else "grounded but partial"
        assert band_of(found) == ("misaligned" if exact < Fraction(1, 2) else band)


def test_thirds_reach_the_edges_too() -> None:
    thirds = RagEvalParams(weights=(1 / 3, 1 / 3, 1 / 3, 0.0, 0.0)).weights
    sixths = RagEvalParams(weights=(1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4)).weights
    assert band_of(confidence(5, 5, 5, 1, 1, weights=thirds)) == "trustworthy"
    assert confidence(5, 5, 5, 5, 5, weights=thirds) == 1.0
    # (5 + 2 + 2) / 6 + (4 + 5) / 4 = 3.75
    assert band_of(confidence(5, 2, 2, 4, 5, weights=sixths)) == "trustworthy"


def test_the_lower_edge_of_a_band_belongs_to_it() -> None:
    assert [band_of(value) for value in (0.2, 0.499999999, 0.5, 0.749999999, 0.75, 1.0)] == [
        "misaligned",
        "misaligned",
        "grounded but partial",
        "grounded but partial",
        "trustworthy",
        "trustworthy",
    ]


def test_weights_may_miss_one_by_a_billionth() -> None:
    assert RagEvalParams(weights=(0.25, 0.25, 0.25, 0.125, 0.125 + 9e-10))
    with pytest.raises(ValidationError):
        RagEvalParams(weights=(0.25, 0.25, 0.25, 0.125, 0.125 + 2e-9))


@pytest.mark.parametrize(
    ("weights", "line"),
    [
        ([0.25, 0.25, 0.25, 0.25, 0.25], "must be five numbers that sum to 1 (the sum is 1.25), not"),
        ([0.25, 0.25, 0.25, 0.125, 0.124], "must be five numbers that sum to 1 (the sum is 0.999), not"),
        ([0, 0, 0, 0, 0], "must be five numbers that sum to 1 (the sum is 0), not"),
        ([0.5, 0.5, 0.5, -0.5, 0], "greater than or equal to 0"),
        ([0.5, 0.5], "must be five numbers that sum to 1 (2 given), not"),
        ([0.2, 0.2, 0.2, 0.2, 0.1, 0.1], "must be five numbers that sum to 1 (6 given), not"),
        ([float("nan"), 0.25, 0.25, 0.125, 0.125], "finite number"),
        ("all", "weights"),
    ],
)
def test_weights_that_cannot_be_are_refused_in_one_line(weights: object, line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RagEvalParams.model_validate({"weights": weights})
    told = str(ConfigError(*explain(caught.value, RagEvalParams, prefix="per_evaluator.rag_eval")))
    assert told.startswith("per_evaluator.rag_eval.weights")
    assert line in told
    assert "\n" not in told
