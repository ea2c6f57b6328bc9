"""What people say and what scores say, by question."""

import numpy as np
import pytest

from harness.extensions.meta_evaluation.validity_card import agreement
from harness.statistics.difference_tests import scipy_stats


def columns(n: int, seed: int = 0) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    x = random.integers(0, 6, n).astype(float)
    return list(x), list(np.round(x + random.normal(0, 2, n)))


def width(limits: tuple[float | None, float | None]) -> float:
    low, high = limits
    assert low is not None
    assert high is not None
    return high - low


def test_the_coefficients_are_scipys_ties_and_all() -> None:
    x, y = columns(60)
    found = agreement(x, y, [str(place) for place in range(60)])
    stats = scipy_stats()
    assert found.pearson.value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(x, y).statistic)


def test_rows_that_are_written_thrice_are_no_more_questions() -> None:
    x, y = columns(40)
    names = [str(place) for place in range(40)]
    once, thrice = agreement(x, y, names).pearson, agreement(3 * x, 3 * y, 3 * names).pearson
    assert width(thrice.interval) == pytest.approx(width(once.interval), rel=0.01)
    assert width(agreement(3 * x, 3 * y, [str(n) for n in range(120)]).pearson.interval) < 0.7 * width(
        once.interval
    )


def test_an_interval_holds_the_truth_nine_times_of_ten_at_thirty_questions_of_three_rows() -> None:
    held = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        shared = np.repeat(random.normal(size=(30, 2)) @ np.array([[1, 0.5], [0, 0.75**0.5]]), 3, axis=0)
        x, y = (shared + 0.5 * random.normal(size=shared.shape)).T
        low, high = agreement(list(x), list(y), [str(n // 3) for n in range(90)]).pearson.interval
        assert low is not None
        assert high is not None
        held += low <= 0.5 / 1.25 <= high
    assert held >= 90


def test_a_column_that_never_varies_and_few_questions_have_no_coefficient() -> None:
    x, y = columns(20)
    names = [str(place) for place in range(20)]
    assert agreement([1.0] * 20, y, names).pearson.value is None
    assert agreement(x, y, [str(place % 9) for place in range(20)]).kendall.value is None


def test_a_perfect_line_has_a_value_and_no_interval() -> None:
    x, _ = columns(20)
    found = agreement(x, x, [str(place) for place in range(20)]).pearson
    assert (found.value, found.interval.low) == (1.0, None)


def test_one_question_alone_that_varies_gives_no_interval() -> None:
    x = [0.0] * 19 + [1.0]
    y, _ = columns(20)
    found = agreement(x, y, [str(place) for place in range(20)]).pearson
    assert found.value is not None
    assert found.interval.low is None
