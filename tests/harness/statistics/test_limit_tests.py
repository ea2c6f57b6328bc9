"""Limits of a mean and of a drop: by hand, and how often they are wrong over simulated pairs of runs."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from records import known

from harness.statistics.limit_tests import LimitTest, drop_within, mean_within
from harness.statistics.paired_comparison import PairedMeasure, compare_measure
from harness.statistics.power import DISCORDANCE, queries_needed
from harness.statistics.query_values import QueryValues
from harness.statistics.sampling_design import SamplingDesign


def measure(*runs: Sequence[float], higher: bool = True, is_cost: bool = False) -> PairedMeasure:
    ids = [f"q{place:05d}" for place in range(max(map(len, runs)))]
    own = tuple(QueryValues.of(dict(zip(ids, run, strict=False)), frozenset(ids)) for run in runs)
    return PairedMeasure("m", higher, own, is_cost=is_cost, range=None if is_cost else (0.0, 1.0))


def drop(
    run: Sequence[float],
    baseline: Sequence[float],
    most: float,
    *,
    n_conditions: int = 1,
    clusters: int = 0,
    higher: bool = True,
) -> LimitTest:
    both = measure(run, baseline, higher=higher)
    ids = sorted(both.runs[1].expected)
    shared = {query_id: f"document/{place % clusters}" for place, query_id in enumerate(ids)} if clusters else {}
    compared = compare_measure(both, {(0, 1): frozenset(ids)}, SamplingDesign(clusters=shared))
    return drop_within(compared, 0, 1, most, n_conditions=n_conditions)


def pair(rng: np.random.Generator, n: int, worse_by: float) -> tuple[list[float], list[float]]:
    """Right or wrong answers of a run and its baseline, which differ on a quarter of the queries."""
    luck, both_right = rng.random(n), rng.random(n) < 0.6
    only_baseline = luck < (DISCORDANCE + worse_by) / 2
    only_run = (luck >= (DISCORDANCE + worse_by) / 2) & (luck < DISCORDANCE)
    same = both_right & ~(only_baseline | only_run)
    return (same | only_run).astype(float).tolist(), (same | only_baseline).astype(float).tolist()


def outcomes(n_pairs: int, n: int, worse_by: float, most: float) -> Counter[str]:
    rng = np.random.default_rng(7)
    return Counter(drop(*pair(rng, n, worse_by), most).outcome for _ in range(n_pairs))


@pytest.mark.slow
def test_a_run_that_did_not_change_fails_in_at_most_five_of_a_hundred_gates() -> None:
    found = outcomes(200, 100, 0.0, most=0.0)
    assert found["fail"] <= 10
    assert found["pass"] <= 10


@pytest.mark.slow
def test_a_drop_of_ten_points_fails_as_often_as_planned() -> None:
    assert outcomes(100, queries_needed(0.10) or 0, 0.10, most=0.0)["fail"] >= 72


def test_over_too_few_queries_the_gate_is_underpowered_and_names_how_many_let_the_same_run_pass() -> None:
    assert outcomes(20, 30, 0.0, most=0.03)["underpowered"] >= 18
    found = drop(*pair(np.random.default_rng(1), 100, 0.0), 0.05)
    assert found.outcome == "underpowered"
    assert known(found.n_needed) > 100
    assert outcomes(40, known(found.n_needed), 0.0, most=0.05)["pass"] >= 28


def test_a_run_without_a_single_difference_still_needs_enough_queries() -> None:
    few, enough = drop([1.0, 0.0] * 10, [1.0, 0.0] * 10, 0.03), drop([1.0, 0.0] * 100, [1.0, 0.0] * 100, 0.03)
    assert (few.outcome, enough.outcome) == ("underpowered", "pass")
    assert few.n_needed is not None


def test_where_lower_is_better_a_rise_is_the_drop() -> None:
    low, high = [0.0] * 80 + [1.0] * 20, [0.0] * 20 + [1.0] * 80
    assert drop(high, low, 0.1, higher=False).outcome == "fail"
    assert drop(low, high, 0.1, higher=False).outcome == "pass"
    assert drop(low, high, 0.1).outcome == "fail"


def test_missing_values_cannot_make_a_run_pass_and_queries_of_one_document_count_less() -> None:
    baseline = [1.0] * 200
    assert drop([1.0] * 150, baseline, 0.1).outcome == "underpowered"
    assert drop([1.0] * 200, baseline, 0.1).outcome == "pass"
    worse = [1.0] * 160 + [0.0] * 40
    assert drop(worse, baseline, 0.1).outcome == "fail"
    assert drop(worse, baseline, 0.1, clusters=4).outcome == "underpowered"


@pytest.mark.parametrize(
    ("right", "n", "least", "outcome"),
    [(90, 100, 0.7, "pass"), (50, 100, 0.7, "fail"), (75, 100, 0.7, "underpowered"), (3, 3, 0.7, "underpowered")],
)
def test_a_mean_is_within_its_limit_only_with_its_whole_interval(
    right: int, n: int, least: float, outcome: str
) -> None:
    run = [1.0] * right + [0.0] * (n - right)
    found = mean_within(measure(run), 0, SamplingDesign(), least, at_least=True)
    assert found.outcome == outcome
    assert (found.n_needed is not None) == (outcome == "underpowered")
    mirrored = mean_within(measure([1 - value for value in run]), 0, SamplingDesign(), 1 - least, at_least=False)
    assert mirrored.outcome == outcome


def test_a_mean_is_that_of_the_natural_mix_and_nothing_paid_is_no_cost() -> None:
    types = {f"q{place:05d}": "rare" if place % 2 else "common" for place in range(100)}
    run = measure([1.0 if place % 2 else 0.0 for place in range(100)])
    found = mean_within(run, 0, SamplingDesign(types, {"rare": 10, "common": 990}), 0.5, at_least=True)
    assert found.value == pytest.approx(0.01)
    assert found.outcome == "fail"
    free = mean_within(measure([0.0] * 10, is_cost=True), 0, SamplingDesign(), 0.002, at_least=False)
    assert free.outcome == "pass"


def test_several_conditions_need_wider_intervals_to_fail_and_none_to_pass() -> None:
    run = [1.0] * 60 + [0.0] * 40
    (alone, among) = (
        mean_within(measure(run), 0, SamplingDesign(), 0.7, at_least=True, n_conditions=n) for n in (1, 20)
    )
    assert (alone.outcome, among.outcome) == ("fail", "underpowered")
    passing = mean_within(measure(run), 0, SamplingDesign(), 0.5, at_least=True, n_conditions=20)
    assert (passing.outcome, passing.level) == ("pass", 0.95)
