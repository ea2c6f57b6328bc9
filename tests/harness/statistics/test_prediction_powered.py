"""Labels corrected by scores are what the paper's formulas say, and never more certain than they may be."""

from random import Random
from statistics import fmean

import numpy as np
import pytest

from harness.statistics.confidence_intervals import mean_interval
from harness.statistics.prediction_powered import power_of, powered_mean


def drawn(
    n: int, noise: float = 0.2, bias: float = 0.0, seed: int = 1
) -> tuple[dict[str, float], dict[str, float]]:
    """What people would say of n queries, and what a judge says of them."""
    draw = Random(seed)
    labels = {f"q{number:04d}": draw.random() for number in range(n)}
    scores = {query: label + bias + draw.gauss(0, noise) for query, label in labels.items()}
    return labels, scores


def first(labels: dict[str, float], n: int) -> dict[str, float]:
    return dict(list(labels.items())[:n])


def width(interval: tuple[float | None, float | None]) -> float:
    low, high = interval
    assert low is not None
    assert high is not None
    return high - low


def test_mean_and_power_are_those_of_the_papers_formulas() -> None:
    # PPI++ (2023), a mean: f(X)'s mean over the others, corrected by y - f over the labelled, at lambda hat.
    labels, scores = drawn(300)
    known = first(labels, 60)
    y = np.array(list(known.values()))
    f = np.array([scores[query] for query in known])
    others = np.array([scores[query] for query in scores if query not in known])
    power = np.cov(y, f)[0, 1] / ((1 + 60 / 240) * np.var(np.concatenate([f, others]), ddof=1))
    found = powered_mean(known, scores)
    assert power_of(y, f, others) == pytest.approx(power)
    assert found.power == pytest.approx(power)
    assert found.value == pytest.approx(power * others.mean() + (y - power * f).mean())
    error = (np.var(y - power * f) / 60 + power**2 * np.var(others) / 240) ** 0.5
    assert width(found.interval) == pytest.approx(2 * 2.0010 * error, rel=0.02), "t of 59 degrees, little skew"


def test_a_judge_that_is_wrong_by_as_much_everywhere_is_put_right() -> None:
    labels, scores = drawn(2_000, noise=0.05, bias=0.4)
    found = powered_mean(first(labels, 100), scores)
    low, high = found.interval
    assert low is not None
    assert high is not None
    assert low < fmean(labels.values()) < high
    assert fmean(scores.values()) > high
    assert found.worth > 10


def test_a_judge_that_says_nothing_leaves_the_labels_alone() -> None:
    labels, _ = drawn(1_000)
    known = first(labels, 80)
    constant = powered_mean(known, dict.fromkeys(labels, 0.9))
    assert constant.power == 0
    assert constant.value == pytest.approx(fmean(known.values()))
    assert "do not predict" in constant.why
    opposed = powered_mean(known, {query: -label for query, label in labels.items()})
    assert (opposed.power, opposed.interval) == (0.0, constant.interval)
    for limit, alone in zip(
        constant.interval, mean_interval(list(known.values()), bounds=(0.0, 1.0)), strict=True
    ):
        assert limit == pytest.approx(alone)


def test_below_fifty_labels_the_judge_has_no_part_in_it() -> None:
    labels, scores = drawn(400)
    assert powered_mean(first(labels, 50), scores).power > 0
    few = powered_mean(first(labels, 49), scores)
    assert few.power == 0
    assert "fewer than 50 labels" in few.why
    assert few.value == pytest.approx(fmean(first(labels, 49).values()))


@pytest.mark.parametrize(("n", "value"), [(0, None), (5, 0.5)])
def test_a_handful_of_labels_has_no_interval(n: int, value: float | None) -> None:
    labels = {f"q{number}": number / 4 for number in range(n)}
    found = powered_mean(labels, {f"q{number}": 0.5 for number in range(30)})
    assert (found.value, found.interval) == (value, (None, None))


def test_answers_that_hang_together_count_as_one() -> None:
    labels, scores = drawn(100)
    four = {f"{query}/{run}": label for query, label in labels.items() for run in range(4)}
    judged = {f"{query}/{run}": score for query, score in scores.items() for run in range(4)}
    clusters = {name: name.split("/")[0] for name in four}
    apart = powered_mean(first(four, 200), judged)
    together = powered_mean(first(four, 200), judged, clusters)
    assert together.value == apart.value
    assert width(together.interval) == pytest.approx(2 * width(apart.interval), rel=0.1)


def test_the_interval_holds_as_often_as_it_says() -> None:
    held = 0
    for seed in range(300):
        labels, scores = drawn(300, seed=seed)
        low, high = powered_mean(first(labels, 50), scores).interval
        assert low is not None
        assert high is not None
        held += low <= 0.5 <= high
    assert held >= 0.92 * 300
