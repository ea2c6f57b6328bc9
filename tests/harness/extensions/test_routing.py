"""What routing by the type of a query gains."""

import numpy as np
import pytest
from records import known

from harness.display import Quantity
from harness.extensions.routing.gains import (
    RecordedResults,
    RoutingGains,
    best_of_types,
    halves,
    learnt_table,
    routing_gains,
)

TOLD = "labels"


def recorded(n: int = 80, *, apart: bool) -> RecordedResults:
    """Two systems: each right on its own type, or both on half of everything."""
    rng = np.random.default_rng(0)
    types = ["comparison", "temporal"] * (n // 2)
    first = np.array([float(name == "comparison") for name in types]) if apart else rng.integers(2, size=n)
    second = 1.0 - first if apart else rng.integers(2, size=n)
    return RecordedResults(np.stack([first, second], axis=1).astype(np.float64), np.ones(n), types)


def test_a_type_leaves_the_best_single_system_only_if_another_leads_by_more_than_a_standard_error() -> None:
    assert learnt_table(recorded(apart=True)).choices(["temporal", "unheard of"]).tolist() == [1, 0]
    worth = np.array([[1, 0]] * 20 + [[1, 0], [0, 1], [1, 1], [0, 0], [0, 1], [1, 0], [0, 1]], dtype=np.float64)
    types = ["comparison"] * 20 + ["temporal"] * 7
    assert set(learnt_table(RecordedResults(worth, np.ones(27), types)).systems.values()) == {0}
    assert best_of_types(RecordedResults(worth, np.ones(27), types)).systems["temporal"] == 1


@pytest.mark.parametrize("sizes", [[1] * 40, [10, 10, 10, 10], [37, 1, 1, 1]])
def test_queries_of_one_document_never_stand_on_both_sides_and_both_sides_have_some(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    for teaches in halves(clusters, 30):
        assert 0 < teaches.sum() < len(clusters)
        for name in range(len(sizes)):
            assert len(set(teaches[clusters == name].tolist())) == 1


def gains_of(own: RecordedResults) -> tuple[RoutingGains, Quantity]:
    """And the interval of the gain of the table learnt from the types."""
    gains = routing_gains(own, np.arange(80), {TOLD: own.types}, 40)
    return gains, gains.over_splits(gains.learnt[TOLD].gains)


def test_where_types_decide_the_table_gains_what_the_best_of_each_type_gains() -> None:
    gains, gain = gains_of(recorded(apart=True))
    assert np.allclose(gains.learnt[TOLD].values, 1.0)
    assert np.allclose(gains.learnt[TOLD].gains, gains.by_type.gains)
    assert known(gain.low) > 0.2


def test_where_types_tell_nothing_the_table_gains_nothing_and_the_best_of_each_query_seems_to() -> None:
    gains, gain = gains_of(recorded(apart=False))
    assert known(gain.low) < 0.0 < known(gain.high)
    assert gains.by_query.gains.mean() > 0.1
    assert gains.by_query.by_luck == pytest.approx(gains.by_query.gains.mean(), abs=0.05)


@pytest.mark.parametrize(("n", "n_clusters"), [(29, 29), (80, 14)])
def test_few_queries_or_documents_give_no_interval(n: int, n_clusters: int) -> None:
    own = RecordedResults(np.eye(2)[np.arange(n) % 2], np.ones(n), ["comparison"] * n)
    gains = routing_gains(own, np.arange(n) % n_clusters, {TOLD: own.types}, 10)
    assert gains.over_splits(np.linspace(0, 1, 10)).low is None
