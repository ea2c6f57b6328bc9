"""Agreement is what its authors published, with an interval that knows what hangs together."""

from itertools import product
from random import Random
from statistics import fmean

import numpy as np
import pytest
from records import known

from harness.statistics.agreement import RatedItem, ordinal_alpha, weighted_kappa
from harness.statistics.confidence_intervals import mean_interval
from harness.statistics.prediction_powered import power_of, powered_mean

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", data of section C: 4 observers, 12 units.
PUBLISHED = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def items(*labels: tuple[int, ...], clusters: int | None = None) -> list[RatedItem]:
    return [RatedItem(f"q{at % clusters if clusters else at}", own) for at, own in enumerate(labels)]


def test_alpha_of_the_published_example_is_the_published_one() -> None:
    units = [tuple(one for one in unit if one is not None) for unit in zip(*PUBLISHED, strict=True)]
    figure = ordinal_alpha(items(*units))
    assert figure.value == pytest.approx(0.815, abs=5e-4)
    assert figure.n_items == 11, "the unit that one observer alone labelled pairs with nothing"
    assert known(figure.interval.low) < 0.815


def test_weighted_kappa_is_one_less_squared_differences_over_those_of_random_pairs() -> None:
    draw = Random(7)
    pairs = [(draw.randint(1, 5), draw.randint(1, 5)) for _ in range(40)]
    observed = sum((one - other) ** 2 for one, other in pairs) / len(pairs)
    every = [(one - other) ** 2 for (one, _), (_, other) in product(pairs, pairs)]
    assert weighted_kappa(items(*pairs)).value == pytest.approx(1 - observed / (sum(every) / len(every)))


def test_labels_that_never_vary_have_no_agreement_to_tell_from_chance() -> None:
    figure = ordinal_alpha(items(*[(5, 5)] * 30))
    assert (figure.value, figure.same) == (None, 1.0)
    assert "all labels are equal" in figure.why


def test_what_hangs_on_one_query_has_no_interval() -> None:
    figure = weighted_kappa(items(*[(5, 5)] * 29, (1, 1)))
    assert figure.value == 1
    assert figure.interval == (None, None)
    assert "one query" in figure.why


def test_fewer_than_ten_items_are_refused_with_a_reason() -> None:
    figure = ordinal_alpha(items(*[(1, 2), (3, 3), (5, 4)] * 3))
    assert (figure.value, figure.n_items) == (None, 9)
    assert "fewer than 10" in figure.why


def test_answers_to_the_same_query_count_as_one_cluster() -> None:
    draw = Random(3)
    labels = [(one := draw.randint(1, 5), min(5, one + draw.randint(0, 1))) for _ in range(15)] * 4
    apart, together = weighted_kappa(items(*labels)), weighted_kappa(items(*labels, clusters=15))
    assert apart.value == together.value
    widths = [figure.interval[1] - figure.interval[0] for figure in (apart, together)]  # type: ignore[operator]
    assert widths[1] > 1.5 * widths[0]


def test_the_share_of_same_labels_has_an_interval_of_that_share_where_queries_have_many_answers_or_one() -> None:
    """Of 20 queries one answer is labelled, on which both agree; of one 46, on which they do not."""
    alike = [RatedItem(f"q{place}", (3, 3)) for place in range(20)]
    figure = weighted_kappa([*alike, *[RatedItem("long", (1, 2 + place % 3)) for place in range(46)]])
    assert figure.same == pytest.approx(20 / 66)
    low, high = figure.same_interval
    assert known(low) <= 20 / 66 <= known(high)
    assert known(high) - known(low) > 0.5, "two thirds of the answers are to one query"


def test_kappa_is_of_two_annotators() -> None:
    with pytest.raises(ValueError, match="two annotators"):
        weighted_kappa(items((1, 2, 3)))


# Labels corrected by scores are what the paper's formulas say, and never more certain than they may be.


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
    return known(high) - known(low)


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
    assert known(low) < fmean(labels.values()) < known(high)
    assert fmean(scores.values()) > known(high)
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
        held += known(low) <= 0.5 <= known(high)
    assert held >= 0.92 * 300
