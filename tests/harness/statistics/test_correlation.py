import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import known
from scipy import stats

from harness.core.records import Cost, EvaluationRecord, Score
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.confidence_intervals import UNKNOWN
from harness.statistics.correlation import (
    Auc,
    QueryScores,
    auc,
    correlate,
    influences,
    spread_of,
    twin_correlations,
)

from .conftest import frame


def scores(measure: str, values: dict[str, float | None], repeat: int = 0) -> list[Score]:
    return [
        Score(
            query_id=query,
            repeat=repeat,
            measure=measure,
            status="failed" if value is None else "scored",
            value=value,
        )
        for query, value in values.items()
    ]


def evaluated(twins: dict[str, str]) -> EvaluationRecord:
    return EvaluationRecord(evaluator="kg_nlp", version="1", twins=twins, cost=Cost(wall_s=0.0))


def test_the_coefficients_are_those_of_scipy() -> None:
    rng = random.Random(3)
    one = [rng.random() for _ in range(40)]
    other = [round(value + rng.gauss(0, 0.3), 1) for value in one]
    found = correlate(one, other)
    assert found.pearson.value == pytest.approx(stats.pearsonr(one, other).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(one, other).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(one, other).statistic)
    fisher, (low, high) = stats.pearsonr(one, other).confidence_interval(), found.pearson.interval
    assert known(low) <= fisher.low + 1e-12
    assert known(high) >= fisher.high - 1e-12


@pytest.mark.slow
def test_the_intervals_hold_the_truth_in_95_of_100_samples() -> None:
    rng = random.Random(5)
    held = dict.fromkeys(("pearson", "spearman", "kendall"), 0)
    # Of a bivariate normal with rho = 0.6: Spearman's is 6 / pi * asin(rho / 2), Kendall's 2 / pi * asin(rho).
    truth = {"pearson": 0.6, "spearman": 0.5819, "kendall": 0.4097}
    for _ in range(400):
        pairs = [(x := rng.gauss(0, 1), 0.6 * x + 0.8 * rng.gauss(0, 1)) for _ in range(50)]
        found = correlate(*zip(*pairs, strict=True))
        for name, value in truth.items():
            low, high = getattr(found, name).interval
            held[name] += low <= value <= high
    assert all(0.91 <= count / 400 <= 0.99 for count in held.values()), held


@pytest.mark.parametrize(
    ("one", "other"),
    [([1.0] * 8, [0.1 * n for n in range(8)]), ([0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]), ([], [])],
)
def test_a_column_that_never_varies_or_too_few_values_have_no_coefficient(
    one: list[float], other: list[float]
) -> None:
    found = correlate(one, other)
    assert (found.n, found.spearman.value) == (len(one), None)


def test_columns_that_agree_altogether_have_no_interval() -> None:
    column = [0.1, 0.4, 0.2, 0.9, 0.7, 0.3]
    found = correlate(column, column)
    assert found.spearman.value == 1
    assert found.spearman.interval == (None, None)


@pytest.mark.parametrize("clusters", [None, range(8)], ids=["alone", "a document each"])
def test_fewer_than_ten_pairs_have_no_interval_whether_or_not_they_have_documents(clusters: range | None) -> None:
    one, other = [0.1, 0.9, 0.4, 0.6, 0.3, 0.8, 0.2, 0.7], [0.3, 0.8, 0.2, 0.9, 0.1, 0.6, 0.4, 0.5]
    found = correlate(one, other, clusters)
    for coefficient in (found.pearson, found.spearman, found.kendall):
        assert coefficient.value is not None
        assert coefficient.interval == (None, None)


def test_a_twin_is_correlated_over_the_queries_that_both_scored() -> None:
    values = {f"t{number}": number / 10 for number in range(8)}
    cheap = {query: None if query == "t3" else 1 - value for query, value in values.items()}
    given = [*scores("kg_multi_hop_faithfulness", {**values}), *scores("kg_nlp_multi_hop_faithfulness", cheap)]
    asked, evaluation = frame({"t": 8}), evaluated({"kg_nlp_multi_hop_faithfulness": "kg_multi_hop_faithfulness"})
    (twin,) = twin_correlations(asked, ScoreColumns.of(asked, given), [evaluation])
    assert (twin.measure, twin.twin) == ("kg_multi_hop_faithfulness", "kg_nlp_multi_hop_faithfulness")
    assert (twin.correlation.n, twin.correlation.spearman.value) == (7, -1)


def test_failures_of_the_system_are_no_agreement_of_measures() -> None:
    imputed = [
        Score(query_id=f"t{number}", repeat=0, measure=measure, status="imputed", value=0.0)
        for number in range(9)
        for measure in ("kg_x", "kg_nlp_x")
    ]
    asked = frame({"t": 9})
    assert twin_correlations(asked, ScoreColumns.of(asked, imputed), [evaluated({"kg_nlp_x": "kg_x"})]) == ()


def test_influences_are_what_leaving_a_point_out_changes() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=60).round(0)
    other = (one + rng.normal(size=60)).round(0)
    for name, found in zip(("pearsonr", "spearmanr", "kendalltau"), influences(one, other), strict=True):
        coefficient: Any = getattr(stats, name)
        whole = coefficient(one, other).statistic
        left_out = [
            59 * (whole - coefficient(np.delete(one, place), np.delete(other, place)).statistic)
            for place in range(60)
        ]
        assert np.corrcoef(left_out, found)[0, 1] > 0.999
        assert np.std(left_out) == pytest.approx(found.std(), rel=0.1)
        assert found.mean() == pytest.approx(0, abs=1e-12)


def test_points_that_are_copies_of_each_other_add_nothing() -> None:
    rng = np.random.default_rng(1)
    influence = rng.normal(size=50)
    once = spread_of(influence, np.arange(50))
    thrice = spread_of(np.repeat(influence, 3), np.repeat(np.arange(50), 3))
    assert thrice == pytest.approx(once)


def test_there_is_no_interval_over_few_clusters_or_a_column_that_hardly_varies() -> None:
    rng = np.random.default_rng(2)
    one, other = (rng.normal(size=60).tolist() for _ in range(2))
    assert correlate(one, other).spearman.interval.low is not None
    assert correlate(one, other, [place % 9 for place in range(60)]).spearman.interval.low is None
    rare = [0.0] * 55 + [1.0] * 5
    assert correlate(one, rare).spearman.value is not None
    assert correlate(one, rare).spearman.interval.low is None


# The area under the ROC curve: by hand, by counting, and by scipy's Mann-Whitney.


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
