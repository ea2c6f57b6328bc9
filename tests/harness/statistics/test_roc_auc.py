"""The area under the ROC curve: by hand, by counting, and by scipy's Mann-Whitney."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.confidence_intervals import UNKNOWN
from harness.statistics.roc_auc import Auc, QueryScores, auc

VALUES = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), max_size=4)
QUERIES = st.lists(st.builds(QueryScores, VALUES, VALUES), max_size=12)


def singles(positives: list[float], negatives: list[float]) -> list[QueryScores]:
    return [QueryScores([one], [other]) for one, other in zip(positives, negatives, strict=True)]


@pytest.mark.parametrize(
    ("queries", "value"),
    [
        (singles([3, 4], [1, 2]), 1.0),
        (singles([1, 2], [3, 4]), 0.0),
        (singles([1, 1], [1, 1]), 0.5),
        # 0.8 beats both, 0.4 ties with one and loses to the other.
        (singles([0.8, 0.4], [0.4, 0.6]), 2.5 / 4),
        ([QueryScores([1.0, 0.0], []), QueryScores([], [0.5])], 0.5),
    ],
)
def test_the_area_is_the_share_of_pairs_in_order_with_ties_by_half(
    queries: list[QueryScores], value: float
) -> None:
    assert auc(queries).value == value


@given(QUERIES)
def test_it_is_what_counting_every_pair_gives(queries: list[QueryScores]) -> None:
    positives = [value for one in queries for value in one.positives]
    negatives = [value for one in queries for value in one.negatives]
    pairs = list(itertools.product(positives, negatives))
    found = auc(queries)
    if not pairs:
        assert found == Auc(None, UNKNOWN)
        return
    assert found.value == pytest.approx(
        sum((one > other) + (one == other) / 2 for one, other in pairs) / len(pairs)
    )
    low, high = found.interval
    assert (low is None) == (high is None)
    assert low is None or (high is not None and 0 <= low <= high <= 1)


def test_it_agrees_with_scipy_on_many_values() -> None:
    draw = random.Random(0)
    positives, negatives = ([draw.gauss(mean, 1) for _ in range(200)] for mean in (1, 0))
    area = stats.mannwhitneyu(positives, negatives).statistic / 200**2
    found = auc(singles(positives, negatives))
    assert found.value == pytest.approx(float(area))
    low, high = found.interval
    assert low is not None
    assert high is not None
    # Hanley and McNeil (1982) for A = 0.76 and 200 of each: a standard error of 0.024.
    assert low < area < high
    assert (high - low) / (2 * 1.96) == pytest.approx(0.024, abs=0.004)


def test_the_order_of_queries_and_values_changes_nothing() -> None:
    draw = random.Random(1)
    queries = [QueryScores([draw.random(), draw.random()], [draw.random()]) for _ in range(30)]
    shuffled = [QueryScores(one.positives[::-1], one.negatives) for one in draw.sample(queries, len(queries))]
    assert auc(queries) == auc(shuffled)


def test_queries_are_drawn_not_values() -> None:
    # Within a query all agree, so many values of one query are worth no more than one.
    few = [QueryScores([1.0], [0.0]), QueryScores([0.0], [1.0])] * 10
    many = [QueryScores([*one.positives] * 20, [*one.negatives] * 20) for one in few]
    assert auc(few) == auc(many)


@pytest.mark.parametrize(
    "queries", [[], [QueryScores([], [])], [QueryScores([1.0], [])], [QueryScores([], [1.0]), QueryScores([], [])]]
)
def test_without_both_sides_there_is_no_area(queries: list[QueryScores]) -> None:
    assert auc(queries) == Auc(None, UNKNOWN)


def test_one_query_has_no_interval() -> None:
    assert auc([QueryScores([1.0], [0.0])]) == Auc(1.0, UNKNOWN)
