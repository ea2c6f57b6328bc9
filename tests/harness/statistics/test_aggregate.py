"""Means by query type, overall and in the natural mix, with nothing lost from the denominator."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.statistics import Aggregate, aggregate_quantiles, aggregate_scores
from harness.statistics.aggregate import LowerBound
from harness.statistics.confidence_intervals import UNKNOWN, mean_interval, wilson

from .conftest import Find, MakeFrame, score


def counts(row: Aggregate) -> tuple[int, int, int, int]:
    return row.n_scored, row.n_imputed, row.n_failed, row.n_expected


def test_a_row_names_its_run_and_carries_its_counts_and_interval(frame: MakeFrame, find: Find) -> None:
    scores = [score(f"t{number}", float(number < 8)) for number in range(10)]
    rows = aggregate_scores(frame({"t": 10}), scores)
    low, high = wilson(8, 10)
    assert find(rows, "accuracy", "t") == Aggregate(
        "run-1", "naive", "demo", "t", "accuracy", 0.8, low, high, 10, 0, 0, 10
    )


def test_a_failed_query_lowers_the_mean_and_a_failed_score_does_not(frame: MakeFrame, find: Find) -> None:
    scores = [score("t0", 1.0), score("t1", 0.0, status="imputed"), score("t2", None)]
    row = find(aggregate_scores(frame({"t": 3}), scores), "accuracy")
    assert row.mean == 0.5
    assert counts(row) == (1, 1, 1, 3)


def test_what_is_missing_stays_in_the_denominator_as_what_failed_does(frame: MakeFrame, find: Find) -> None:
    scores = [score("t0", 1.0), score("t1", None, status="missing"), score("t2", None)]
    row = find(aggregate_scores(frame({"t": 3}), scores), "accuracy")
    assert row.mean == 1.0
    assert counts(row) == (1, 0, 2, 3)


def test_what_does_not_apply_is_not_expected_and_leaves_no_row(frame: MakeFrame, find: Find) -> None:
    scores = [score("a0", 1.0), score("b0", None, status="not_applicable")]
    rows = aggregate_scores(frame({"a": 1, "b": 1}), scores)
    assert counts(find(rows, "accuracy")) == (1, 0, 0, 1)
    assert "b" not in {row.query_type for row in rows}
    assert aggregate_scores(frame({"b": 1}), scores[1:]) == []


def test_overall_weighs_queries_and_the_natural_mix_weighs_types(frame: MakeFrame, find: Find) -> None:
    scores = [score("a0", 1.0), score("a1", 1.0), score("b0", 0.0), score("b1", 0.0)]
    rows = aggregate_scores(frame({"a": 2, "b": 2}, mix={"a": 300, "b": 100}), scores)
    assert find(rows, "accuracy").mean == 0.5
    assert find(rows, "accuracy", "overall_natural").mean == 0.75


def test_over_the_whole_data_set_the_natural_mix_is_the_sample(frame: MakeFrame, find: Find) -> None:
    values = {"a": [1.0, 0.5, 1.0], "b": [0.5, 1.0, 0.25, 1.0, 0.5]}
    scores = [score(f"{name}{at}", value) for name, own in values.items() for at, value in enumerate(own)]
    rows = aggregate_scores(
        frame({"a": 3, "b": 5}, mix={"a": 6, "b": 10}), scores, ranges={"accuracy": (0.0, 1.0)}
    )
    natural = find(rows, "accuracy", "overall_natural")
    assert replace(natural, query_type="overall") == find(rows, "accuracy")


def test_the_natural_mix_has_no_mean_while_a_type_with_weight_has_no_value(frame: MakeFrame, find: Find) -> None:
    scores = [score("a0", 1.0), score("b0", None)]
    failed = find(aggregate_scores(frame({"a": 1, "b": 1}), scores), "accuracy", "overall_natural")
    assert (failed.mean, failed.ci_low, failed.ci_high) == (None, None, None)
    unsampled = aggregate_scores(frame({"a": 1}, mix={"a": 9, "b": 1}), [score("a0", 1.0)])
    assert find(unsampled, "accuracy", "overall_natural").mean is None


def test_a_type_to_half_of_which_a_measure_applies_has_half_its_weight(frame: MakeFrame, find: Find) -> None:
    scores = [score("a0", 1.0), score("a1", None, status="not_applicable"), score("b0", 0.0), score("b1", 0.0)]
    rows = aggregate_scores(frame({"a": 2, "b": 2}, mix={"a": 10, "b": 10}), scores)
    assert find(rows, "accuracy", "overall_natural").mean == pytest.approx(1 / 3)


def test_repeats_are_averaged_per_query_first_and_do_not_narrow_the_interval(frame: MakeFrame, find: Find) -> None:
    values = [1.0, 1.0, 1.0, 0.0]
    once = [score(f"t{number}", value) for number, value in enumerate(values)]
    thrice = [
        score(f"t{number}", value, repeat=repeat) for number, value in enumerate(values) for repeat in range(3)
    ]
    single = find(aggregate_scores(frame({"t": 4}), once), "accuracy")
    triple = find(aggregate_scores(frame({"t": 4}, repeats=3), thrice), "accuracy")
    assert (triple.mean, triple.ci_low, triple.ci_high) == (single.mean, single.ci_low, single.ci_high)
    assert counts(triple) == (12, 0, 0, 12)


def test_repeats_that_disagree_are_no_proportion(frame: MakeFrame, find: Find) -> None:
    scores = [
        score(f"t{number}", value, repeat=repeat)
        for number in range(8)
        for repeat, value in enumerate((1.0, float(number % 2)))
    ]
    row = find(aggregate_scores(frame({"t": 8}, repeats=2), scores), "accuracy")
    assert (row.ci_low, row.ci_high) == mean_interval([0.5, 1.0] * 4)


@pytest.mark.parametrize("ends", [(0.0, math.inf), (0.0, 5.0), (-1.0, 1.0)])
@pytest.mark.parametrize("query_type", ["overall", "overall_natural"])
def test_counts_and_cosines_that_happen_to_be_zero_or_one_are_no_proportions(
    frame: MakeFrame, find: Find, ends: tuple[float, float], query_type: str
) -> None:
    for value in (0.0, 1.0):
        scores = [score(f"t{number}", value, measure="contexts_shown") for number in range(40)]
        rows = aggregate_scores(frame({"t": 40}), scores, ranges={"contexts_shown": ends})
        row = find(rows, "contexts_shown", query_type)
        assert (row.mean, row.ci_low, row.ci_high) == (value, *UNKNOWN)


def test_no_limit_passes_the_range_of_a_measure_nor_a_cost_zero(frame: MakeFrame, find: Find) -> None:
    scores = [score(f"t{number}", 1.0 if number else 0.1) for number in range(8)]
    row = find(aggregate_scores(frame({"t": 8}), scores, ranges={"accuracy": (0.0, 1.0)}), "accuracy")
    assert row.ci_high == 1.0
    spent = [score(f"t{number}", 0.0 if number else 50.0, measure="tokens") for number in range(8)]
    row = find(aggregate_scores(frame({"t": 8}), spent, ranges={"tokens": (0.0, math.inf)}), "tokens")
    assert row.ci_low == 0.0


def test_a_data_set_may_call_a_type_overall(frame: MakeFrame, find: Find) -> None:
    rows = aggregate_scores(frame({"overall": 1, "b": 1}), [score("overall0", 1.0), score("b0", 0.0)])
    assert find(rows, "accuracy").mean == 0.5
    assert find(rows, "accuracy", "overall (type)").mean == 1.0


def test_scores_outside_the_sample_are_passed_over(frame: MakeFrame, find: Find) -> None:
    rows = aggregate_scores(frame({"t": 1}), [score("t0", 1.0), score("t0", 0.0, repeat=7), score("gone", 0.0)])
    assert counts(find(rows, "accuracy")) == (1, 0, 0, 1)


def test_quantiles_interpolate_and_count_like_means(frame: MakeFrame, find: Find) -> None:
    scores = [score(f"t{number}", float(number), measure="latency_s") for number in range(1, 5)]
    rows = aggregate_quantiles(frame({"t": 5}), scores, (0.5, 0.95))
    assert find(rows, "latency_s_p50").mean == 2.5
    assert find(rows, "latency_s_p95").mean == pytest.approx(3.85)
    assert counts(find(rows, "latency_s_p50", "t")) == (4, 0, 1, 5)


@pytest.mark.parametrize(("p", "is_bound"), [(0.0, False), (0.25, False), (0.5, False), (0.6, True), (1.0, True)])
def test_a_quantile_below_all_that_is_known_from_below_is_what_it_says(
    frame: MakeFrame, p: float, is_bound: bool
) -> None:
    scores = [score(f"t{place}", 9.0, measure="wall_s") for place in range(3)]
    scores += [score(f"t{place}", 9.0, measure="wall_s", status="imputed") for place in (3, 4)]
    rows = aggregate_quantiles(frame({"t": 5}), scores, (p,))
    assert [isinstance(row, LowerBound) for row in rows] == [is_bound] * 2


def test_quantiles_over_repeats_are_of_single_answers_and_claim_no_interval(frame: MakeFrame, find: Find) -> None:
    scores = [
        score("t0", value, measure="latency_s", repeat=repeat) for repeat, value in enumerate((1.0, 9.0, 2.0))
    ]
    row = find(aggregate_quantiles(frame({"t": 1}, repeats=3), scores, (0.5,)), "latency_s_p50")
    assert (row.mean, row.ci_low, row.ci_high) == (2.0, None, None)


STATUSES = st.sampled_from(["scored", "imputed", "failed", "missing", "not_applicable", "absent"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    sizes=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 3), min_size=1),
    repeats=st.integers(1, 2),
    data=st.data(),
)
def test_the_denominator_is_always_the_sum_of_its_parts(
    frame: MakeFrame, sizes: dict[str, int], repeats: int, data: st.DataObject
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
    rows = aggregate_scores(given_frame, scores)
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
