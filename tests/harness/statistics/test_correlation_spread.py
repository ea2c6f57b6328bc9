from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness.statistics.correlation import correlate, influences, spread_of


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
