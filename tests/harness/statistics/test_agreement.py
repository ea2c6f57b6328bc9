"""Agreement is what its authors published, with an interval that knows what hangs together."""

from itertools import product
from random import Random

import pytest

from harness.statistics.agreement import RatedItem, ordinal_alpha, weighted_kappa

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
    assert figure.interval.low is not None
    assert figure.interval.low < 0.815


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
    assert low is not None
    assert high is not None
    assert low <= 20 / 66 <= high
    assert high - low > 0.5, "two thirds of the answers are to one query"


def test_kappa_is_of_two_annotators() -> None:
    with pytest.raises(ValueError, match="two annotators"):
        weighted_kappa(items((1, 2, 3)))
