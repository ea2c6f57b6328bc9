"""The area under the ROC curve: by hand, by counting, and by scipy's Mann-Whitney."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.confidence_intervals import UNKNOWN
from harness.statistics.correlation import Auc, QueryScores, auc

VALUES = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), max_size=4)
QUERIES = st.lists(st.builds(QueryScores, VALUES, VALUES), max_size=12)


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
