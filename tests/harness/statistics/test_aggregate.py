"""Means by query type, overall and in the natural mix, with nothing lost from the denominator."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from records import known
from scipy import stats

from harness.core.records import Score
from harness.statistics.aggregate import aggregate_quantiles, aggregate_scores
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.confidence_intervals import (
    UNKNOWN,
    Bounds,
    Stratum,
    mean_interval,
    pooled_share_interval,
    quantile_interval,
    weighted_mean,
    weighted_mean_interval,
    wilson,
)
from harness.statistics.run_frame import Aggregate, Frame, LowerBound

from .conftest import find, frame, score


def aggregated(
    frame: Frame, scores: Sequence[Score], ranges: Mapping[str, Bounds] | None = None
) -> list[Aggregate]:
    return aggregate_scores(frame, ScoreColumns.of(frame, scores), ranges=ranges)


def quantiles_of(frame: Frame, scores: Sequence[Score], quantiles: Sequence[float]) -> list[Aggregate]:
    return aggregate_quantiles(frame, ScoreColumns.of(frame, scores), quantiles)


def counts(row: Aggregate) -> tuple[int, int, int, int]:
    return row.n_scored, row.n_imputed, row.n_failed, row.n_expected


def test_a_row_names_its_run_and_carries_its_counts_and_interval() -> None:
    scores = [score(f"t{number}", float(number < 8)) for number in range(10)]
    rows = aggregated(frame({"t": 10}), scores)
    low, high = wilson(8, 10)
    assert find(rows, "accuracy", "t") == Aggregate(
        "run-1", "naive", "demo", "t", "accuracy", 0.8, low, high, 10, 0, 0, 10
    )


def test_a_failed_query_lowers_the_mean_and_a_failed_score_does_not() -> None:
    scores = [score("t0", 1.0), score("t1", 0.0, status="imputed"), score("t2", None)]
    row = find(aggregated(frame({"t": 3}), scores), "accuracy")
    assert row.mean == 0.5
    assert counts(row) == (1, 1, 1, 3)


def test_what_is_missing_stays_in_the_denominator_as_what_failed_does() -> None:
    scores = [score("t0", 1.0), score("t1", None, status="missing"), score("t2", None)]
    row = find(aggregated(frame({"t": 3}), scores), "accuracy")
    assert row.mean == 1.0
    assert counts(row) == (1, 0, 2, 3)


def test_what_does_not_apply_is_not_expected_and_leaves_no_row() -> None:
    scores = [score("a0", 1.0), score("b0", None, status="not_applicable")]
    rows = aggregated(frame({"a": 1, "b": 1}), scores)
    assert counts(find(rows, "accuracy")) == (1, 0, 0, 1)
    assert "b" not in {row.query_type for row in rows}
    assert aggregated(frame({"b": 1}), scores[1:]) == []


def test_overall_weighs_queries_and_the_natural_mix_weighs_types() -> None:
    scores = [score("a0", 1.0), score("a1", 1.0), score("b0", 0.0), score("b1", 0.0)]
    rows = aggregated(frame({"a": 2, "b": 2}, mix={"a": 300, "b": 100}), scores)
    assert find(rows, "accuracy").mean == 0.5
    assert find(rows, "accuracy", "overall_natural").mean == 0.75


def test_over_the_whole_data_set_the_natural_mix_is_the_sample() -> None:
    values = {"a": [1.0, 0.5, 1.0], "b": [0.5, 1.0, 0.25, 1.0, 0.5]}
    scores = [score(f"{name}{at}", value) for name, own in values.items() for at, value in enumerate(own)]
    rows = aggregated(frame({"a": 3, "b": 5}, mix={"a": 6, "b": 10}), scores, ranges={"accuracy": (0.0, 1.0)})
    natural = find(rows, "accuracy", "overall_natural")
    assert replace(natural, query_type="overall") == find(rows, "accuracy")


def test_the_natural_mix_has_no_mean_while_a_type_with_weight_has_no_value() -> None:
    scores = [score("a0", 1.0), score("b0", None)]
    failed = find(aggregated(frame({"a": 1, "b": 1}), scores), "accuracy", "overall_natural")
    assert (failed.mean, failed.ci_low, failed.ci_high) == (None, None, None)
    unsampled = aggregated(frame({"a": 1}, mix={"a": 9, "b": 1}), [score("a0", 1.0)])
    assert find(unsampled, "accuracy", "overall_natural").mean is None


def test_a_type_to_half_of_which_a_measure_applies_has_half_its_weight() -> None:
    scores = [score("a0", 1.0), score("a1", None, status="not_applicable"), score("b0", 0.0), score("b1", 0.0)]
    rows = aggregated(frame({"a": 2, "b": 2}, mix={"a": 10, "b": 10}), scores)
    assert find(rows, "accuracy", "overall_natural").mean == pytest.approx(1 / 3)


def test_repeats_are_averaged_per_query_first_and_do_not_narrow_the_interval() -> None:
    values = [1.0, 1.0, 1.0, 0.0]
    once = [score(f"t{number}", value) for number, value in enumerate(values)]
    thrice = [
        score(f"t{number}", value, repeat=repeat) for number, value in enumerate(values) for repeat in range(3)
    ]
    single = find(aggregated(frame({"t": 4}), once), "accuracy")
    triple = find(aggregated(frame({"t": 4}, repeats=3), thrice), "accuracy")
    assert (triple.mean, triple.ci_low, triple.ci_high) == (single.mean, single.ci_low, single.ci_high)
    assert counts(triple) == (12, 0, 0, 12)


def test_repeats_that_disagree_are_no_proportion() -> None:
    scores = [
        score(f"t{number}", value, repeat=repeat)
        for number in range(8)
        for repeat, value in enumerate((1.0, float(number % 2)))
    ]
    row = find(aggregated(frame({"t": 8}, repeats=2), scores), "accuracy")
    assert (row.ci_low, row.ci_high) == mean_interval([0.5, 1.0] * 4)


@pytest.mark.parametrize("ends", [(0.0, math.inf), (0.0, 5.0), (-1.0, 1.0)])
@pytest.mark.parametrize("query_type", ["overall", "overall_natural"])
def test_counts_and_cosines_that_happen_to_be_zero_or_one_are_no_proportions(
    ends: tuple[float, float], query_type: str
) -> None:
    for value in (0.0, 1.0):
        scores = [score(f"t{number}", value, measure="contexts_shown") for number in range(40)]
        rows = aggregated(frame({"t": 40}), scores, ranges={"contexts_shown": ends})
        row = find(rows, "contexts_shown", query_type)
        assert (row.mean, row.ci_low, row.ci_high) == (value, *UNKNOWN)


def test_no_limit_passes_the_range_of_a_measure_nor_a_cost_zero() -> None:
    scores = [score(f"t{number}", 1.0 if number else 0.1) for number in range(8)]
    row = find(aggregated(frame({"t": 8}), scores, ranges={"accuracy": (0.0, 1.0)}), "accuracy")
    assert row.ci_high == 1.0
    spent = [score(f"t{number}", 0.0 if number else 50.0, measure="tokens") for number in range(8)]
    row = find(aggregated(frame({"t": 8}), spent, ranges={"tokens": (0.0, math.inf)}), "tokens")
    assert row.ci_low == 0.0


def test_a_data_set_may_call_a_type_overall() -> None:
    rows = aggregated(frame({"overall": 1, "b": 1}), [score("overall0", 1.0), score("b0", 0.0)])
    assert find(rows, "accuracy").mean == 0.5
    assert find(rows, "accuracy", "overall (type)").mean == 1.0


def test_scores_outside_the_sample_are_passed_over() -> None:
    rows = aggregated(frame({"t": 1}), [score("t0", 1.0), score("t0", 0.0, repeat=7), score("gone", 0.0)])
    assert counts(find(rows, "accuracy")) == (1, 0, 0, 1)


def test_quantiles_interpolate_and_count_like_means() -> None:
    scores = [score(f"t{number}", float(number), measure="latency_s") for number in range(1, 5)]
    rows = quantiles_of(frame({"t": 5}), scores, (0.5, 0.95))
    assert find(rows, "latency_s_p50").mean == 2.5
    assert find(rows, "latency_s_p95").mean == pytest.approx(3.85)
    assert counts(find(rows, "latency_s_p50", "t")) == (4, 0, 1, 5)


@pytest.mark.parametrize(("p", "is_bound"), [(0.0, False), (0.25, False), (0.5, False), (0.6, True), (1.0, True)])
def test_a_quantile_below_all_that_is_known_from_below_is_what_it_says(p: float, is_bound: bool) -> None:
    scores = [score(f"t{place}", 9.0, measure="wall_s") for place in range(3)]
    scores += [score(f"t{place}", 9.0, measure="wall_s", status="imputed") for place in (3, 4)]
    rows = quantiles_of(frame({"t": 5}), scores, (p,))
    assert [isinstance(row, LowerBound) for row in rows] == [is_bound] * 2


def test_quantiles_over_repeats_are_of_single_answers_and_claim_no_interval() -> None:
    scores = [
        score("t0", value, measure="latency_s", repeat=repeat) for repeat, value in enumerate((1.0, 9.0, 2.0))
    ]
    row = find(quantiles_of(frame({"t": 1}, repeats=3), scores, (0.5,)), "latency_s_p50")
    assert (row.mean, row.ci_low, row.ci_high) == (2.0, None, None)


STATUSES = st.sampled_from(["scored", "imputed", "failed", "missing", "not_applicable", "absent"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    sizes=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 3), min_size=1),
    repeats=st.integers(1, 2),
    data=st.data(),
)
def test_the_denominator_is_always_the_sum_of_its_parts(
    sizes: dict[str, int], repeats: int, data: st.DataObject
) -> None:
    given_frame = frame(sizes, mix={"a": 5, "b": 1}, repeats=repeats)
    scores, applicable = [], 0
    for query_id in given_frame.query_types:
        for repeat in range(repeats):
            status = data.draw(STATUSES)
            applicable += status != "not_applicable"
            value = data.draw(st.floats(0, 1)) if status in {"scored", "imputed"} else None
            if status != "absent":
                scores.append(score(query_id, value, repeat=repeat, status=status))
    rows = aggregated(given_frame, scores)
    for row in rows:
        assert row.n_scored + row.n_imputed + row.n_failed == row.n_expected
        assert row.n_expected > 0
        assert (row.mean is not None) or row.query_type == "overall_natural" or row.n_scored + row.n_imputed == 0
        if row.mean is not None and row.ci_low is not None and row.ci_high is not None:
            assert row.ci_low - 1e-9 <= row.mean <= row.ci_high + 1e-9 or row.n_scored + row.n_imputed > 1
    overall = [row for row in rows if row.query_type == "overall"]
    assert sum(row.n_expected for row in overall) == (applicable if scores else 0)
    assert sum(row.n_expected for row in rows if row.query_type in {"a", "b", "c"}) == (
        applicable if scores else 0
    )


# Intervals against published values, and where they refuse to claim anything.


def test_one_answer_is_a_wide_proportion_and_one_time_says_nothing_about_spread() -> None:
    assert mean_interval([1.0], proportion=True) == pytest.approx((0.2065, 1.0), abs=0.0001)
    assert mean_interval([1.0], proportion=False) == UNKNOWN
    assert mean_interval([0.5], proportion=True) == UNKNOWN


def test_the_interval_of_a_mean_is_that_of_normal_theory_for_many_values() -> None:
    # 0..99 uniform: standard error sqrt(100 * 101 / 12 / 100) = 2.9011, t(99) = 1.9842, so 49.5 +- 5.757.
    low, high = mean_interval([float(value) for value in range(100)])
    assert [low, high] == pytest.approx([49.5 - 5.757, 49.5 + 5.757], abs=0.02)


@pytest.mark.parametrize(
    ("values", "is_halved"),
    [([0.0] * 18 + [1.0] * 6 + [2.0] * 4 + [3.0, 4.0], False), ([0.0] * 27 + [1.0, 2.0, 6.0], True)],
)
def test_a_long_tail_extends_its_side_by_halls_transformation_which_at_most_halves_t(
    values: list[float], is_halved: bool
) -> None:
    low, high = mean_interval(values)
    mean, n = np.mean(values), 30
    residuals = np.array(values) - mean
    error = np.sqrt((residuals**2).sum() / n / (n - 1))
    skew = (residuals**3).sum() / (residuals**2).sum() ** 1.5
    t = (mean - known(high)) / error
    factor = 1 + skew * t / 3 + skew**2 * t**2 / 27
    assert (factor < 0.5) == is_halved
    # Of the limit itself, the transformed statistic is the lower quantile of t.
    assert t * max(0.5, factor) + skew / 6 == pytest.approx(stats.t.ppf(0.025, n - 1))
    assert mean - known(low) == pytest.approx(stats.t.ppf(0.975, n - 1) * error)


@given(st.lists(st.floats(0, 1000), min_size=2, max_size=40), st.randoms())
@settings(max_examples=20, deadline=None)
def test_an_interval_is_blind_to_the_order_of_queries(values: list[float], rng: object) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    interval = mean_interval(values)
    assert interval == mean_interval(shuffled)
    if interval != UNKNOWN:
        assert known(interval.low) <= np.mean(values) <= known(interval.high)


@pytest.mark.parametrize("values", [[3.0] * 40, [0.1] * 9, [0.0] * 200])
def test_equal_values_say_nothing_of_what_was_not_seen(values: list[float]) -> None:
    assert mean_interval(values) == UNKNOWN


def test_fewer_than_six_graded_values_give_no_interval() -> None:
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5]) == UNKNOWN
    assert mean_interval([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) != UNKNOWN


SKEWED: dict[str, Callable[[np.random.Generator, int], tuple[list[float], float]]] = {
    "times": lambda rng, n: (rng.lognormal(size=n).tolist(), float(np.exp(0.5))),
    "mostly 0": lambda rng, n: ((rng.random(n) * (rng.random(n) < 0.2)).tolist(), 0.1),
    "mostly 1": lambda rng, n: (rng.choice([1, 0.5, 0], p=[0.9, 0.07, 0.03], size=n).tolist(), 0.935),
}


@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("kind", SKEWED)
def test_an_interval_of_skewed_values_holds_their_mean_in_92_of_100_cases(kind: str, n: int) -> None:
    rng, held, cases = np.random.default_rng(8), 0, 600
    for _ in range(cases):
        values, true = SKEWED[kind](rng, n)
        low, high = mean_interval(values)
        held += low is None or high is None or low <= true <= high
    assert held >= stats.binom.ppf(0.01, cases, 0.92)


def test_the_square_and_add_rule_by_hand() -> None:
    # Wilson 8/10 [0.4902, 0.9433] with weight 1/4, Wilson 15/148 [0.0624, 0.1605] with weight 3/4.
    strata = [Stratum(1, [1.0] * 8 + [0.0] * 2), Stratum(3, [1.0] * 15 + [0.0] * 133)]
    assert weighted_mean(strata) == pytest.approx(0.2760, abs=0.0001)
    assert weighted_mean_interval(strata, proportion=True) == pytest.approx((0.1931, 0.3330), abs=0.0002)


def test_graded_strata_spread_within_themselves() -> None:
    # However far apart they are: the means are certain but for what each spreads.
    near = [Stratum(1, [0.1, 0.2, 0.3] * 10), Stratum(1, [0.4, 0.5, 0.6] * 10)]
    far = [Stratum(1, [0.1, 0.2, 0.3] * 10), Stratum(1, [100.4, 100.5, 100.6] * 10)]
    widths = [high - low for low, high in map(limits, (near, far))]
    assert widths[0] == pytest.approx(widths[1])


def limits(strata: list[Stratum]) -> tuple[float, float]:
    low, high = weighted_mean_interval(strata)
    return known(low), known(high)


@given(st.integers(1, 3000), st.data())
@settings(max_examples=40, deadline=None)
def test_wilsons_limits_are_scipys_to_the_last_bit(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    limits = stats.binomtest(successes, n).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(successes, n) == (limits.low, limits.high)


@given(st.integers(1, 400), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
@settings(max_examples=40, deadline=None)
def test_the_limits_of_a_quantile_are_scipys(n: int, p: float) -> None:
    limits = np.asarray(stats.quantile_test(range(n), q=0, p=p).confidence_interval(confidence_level=0.95))
    expected = tuple(None if np.isnan(limit) else limit for limit in limits)
    assert quantile_interval([float(value) for value in range(n)], p) == expected


def test_a_share_of_parts_that_are_each_alone_or_of_one_size_is_a_proportion() -> None:
    alone = [1.0] * 8 + [0.0] * 2
    assert pooled_share_interval(alone, [1] * 10) == pooled_share_interval([3 * one for one in alone], [3] * 10)
    assert pooled_share_interval(alone, [1] * 10) == wilson(8, 10)


def test_a_share_of_parts_of_many_sizes_that_are_all_of_them_is_that_of_as_many_as_weigh_the_same() -> None:
    # 6 x 10 and 60 of 120: (60 + 60)^2 / (6 * 100 + 3600) = 3.4.
    assert pooled_share_interval([10.0] * 6 + [60.0], [10] * 6 + [60]) == wilson(3, 3)


def test_a_share_of_few_parts_or_of_parts_that_all_have_the_same_part_of_it_has_no_interval() -> None:
    assert pooled_share_interval([], []) == UNKNOWN
    assert pooled_share_interval([1.0, 1.0, 2.0], [2, 1, 3]) == UNKNOWN
    assert pooled_share_interval([1.0, 2.0] * 10, [2, 4] * 10) == UNKNOWN


def test_the_interval_of_a_share_holds_it_where_parts_are_alike_and_of_many_sizes() -> None:
    rng, cases, held = np.random.default_rng(21), 400, 0
    for _ in range(cases):
        sizes = rng.integers(1, 6, 30)
        low, high = pooled_share_interval(rng.binomial(sizes, rng.beta(2.8, 1.2, 30)).tolist(), sizes.tolist())
        held += low is not None and high is not None and low <= 0.7 <= high
    assert held >= stats.binom.ppf(0.01, cases, 0.95)


def test_no_value_gives_no_interval() -> None:
    assert wilson(0, 0) == UNKNOWN
    assert mean_interval([], proportion=True) == UNKNOWN
    assert mean_interval([], proportion=False) == UNKNOWN
    assert quantile_interval([], 0.5) == UNKNOWN
