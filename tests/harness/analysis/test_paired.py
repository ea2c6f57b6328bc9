"""Pairs, families and ranks, from values to what is said of two runs."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.analysis import Frame, load_prices, query_costs
from harness.analysis.cost import TIMES
from harness.analysis.difference_tests import ALPHA
from harness.analysis.intervals import UNKNOWN
from harness.analysis.paired import (
    MeasureComparison,
    PairedMeasure,
    compare_measure,
    difference_interval,
    differing_queries,
)
from harness.analysis.paired_values import QueryValues, cost_values, scored_values
from harness.errors import StoreError
from harness.records import Cost, Failure, Prediction, RunRecord, Score, Usage

OPENAI = {"generator": {"provider": "openai", "model": "gpt-4o-mini"}}


def values(numbers: Sequence[float | None]) -> QueryValues:
    """Of queries q0000, q0001, ...; None: the measure applies, but there is no value."""
    named = {f"q{place:04d}": number for place, number in enumerate(numbers)}
    return QueryValues({name: number for name, number in named.items() if number is not None}, frozenset(named))


def measure(
    *runs: Sequence[float | None], higher_is_better: bool | None = True, is_cost: bool = False
) -> PairedMeasure:
    return PairedMeasure("m", higher_is_better, tuple(map(values, runs)), is_cost=is_cost)


def compared(one: PairedMeasure, baseline: int | None = None) -> MeasureComparison:
    queries = frozenset.intersection(*(run.expected for run in one.runs))
    places = [
        place for place in itertools.combinations(range(len(one.runs)), 2) if baseline is None or baseline in place
    ]
    return compare_measure(one, dict.fromkeys(places, queries))


def answers(right: int, n: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


def test_a_pair_by_hand() -> None:
    a = [1.0] * 15 + [0.0] * 5 + [1.0] * 20
    b = [0.0] * 15 + [1.0] * 5 + [1.0] * 20
    (pair,) = compared(measure(a, b)).pairs
    assert (pair.n, pair.higher, pair.equal, pair.lower) == (40, 15, 20, 5)
    assert (pair.mean_a, pair.mean_b, pair.difference) == (0.875, 0.625, 0.25)
    assert pair.ratio == pytest.approx(1.4)
    assert pair.p == pair.p_holm == pytest.approx(0.0414, abs=0.00005)
    # Normal theory: sd of the differences 0.6699, so 0.25 +- 1.96 * 0.6699 / sqrt(40).
    assert pair.interval == pytest.approx((0.25 - 0.2076, 0.25 + 0.2076), abs=0.03)
    # 2.93 standard deviations / sqrt(40) at 39 degrees of freedom.
    assert pair.detectable == pytest.approx(0.4545 * 0.6699, abs=0.002)


def test_a_query_without_a_value_in_either_run_leaves_the_pair_and_is_counted() -> None:
    one = compared(measure([1.0, None, 0.0, 1.0], [0.0, 1.0, None, 1.0]))
    (pair,) = one.pairs
    assert (pair.n, pair.n_expected, pair.mean_a, pair.mean_b) == (2, 4, 1.0, 0.5)
    assert (one.n_common, one.means) == (2, (1.0, 0.5))


def test_only_queries_to_which_the_measure_applies_are_expected() -> None:
    runs = tuple(QueryValues({"q1": 1.0}, frozenset(applies)) for applies in ({"q1"}, {"q1", "q2"}))
    (pair,) = compare_measure(PairedMeasure("m", True, runs), {(0, 1): frozenset({"q1", "q2", "q3"})}).pairs
    assert (pair.n, pair.n_expected) == (1, 2)


def test_a_pair_with_no_query_in_common_is_no_pair_and_no_part_of_the_family() -> None:
    one = compared(measure([1.0, None], [None, 1.0], [1.0, 1.0]))
    assert [(pair.a, pair.b) for pair in one.pairs] == [(0, 2), (1, 2)]
    assert one.ranks is None
    assert one.means == (None, None, None)


@pytest.mark.parametrize(
    ("runs", "is_cost", "test"),
    [
        (([1.0, 0.0], [1.0, 1.0]), False, "mcnemar"),
        (([1.0, 0.0], [1.0, 0.5]), False, "wilcoxon"),
        (([1.0, 0.0], [1.0, 1.0]), True, "wilcoxon"),
    ],
)
def test_binary_measures_go_to_mcnemar_and_others_to_wilcoxon(
    runs: tuple[list[float], ...], is_cost: bool, test: str
) -> None:
    assert measure(*runs, is_cost=is_cost).test == test


def test_all_pairs_of_a_measure_are_one_family() -> None:
    runs = answers(90, 100), answers(80, 100), answers(72, 100)
    raw = [pair.p for pair in compared(measure(*runs)).pairs]
    after = [pair.p_holm for pair in compared(measure(*runs)).pairs]
    assert raw == pytest.approx([2 / 2**10, 2 / 2**18, 2 / 2**8])
    assert after == pytest.approx([2 * 2 / 2**10, 3 * 2 / 2**18, 2 / 2**8])


def test_with_a_baseline_only_its_pairs_are_the_family_and_there_are_no_ranks() -> None:
    one = compared(measure(answers(90, 100), answers(80, 100), answers(72, 100)), baseline=0)
    assert [pair.p_holm for pair in one.pairs] == pytest.approx([2 / 2**10, 2 * 2 / 2**18])
    assert one.ranks is None


def test_alike_systems_share_every_rank() -> None:
    one = compared(measure(answers(50, 100), answers(52, 100), answers(49, 100)))
    assert one.ranks == ((1, 3), (1, 3), (1, 3))
    assert [one.verdict(pair) for pair in one.pairs] == ["tie"] * 3


def test_the_same_answers_are_a_tie_of_which_nothing_more_is_known() -> None:
    one = compared(measure(answers(5, 10), answers(5, 10)))
    (pair,) = one.pairs
    assert (pair.p, pair.interval, pair.detectable) == (1.0, UNKNOWN, None)
    assert one.verdict(pair) == "tie"
    assert one.ranks == ((1, 2), (1, 2))


def test_to_be_no_different_is_not_transitive() -> None:
    one = compared(measure(answers(60, 100), answers(55, 100), answers(50, 100)))
    assert [one.verdict(pair) for pair in one.pairs] == ["tie", "a", "tie"]
    assert one.ranks == ((1, 2), (1, 3), (2, 3))


@pytest.mark.parametrize(
    ("higher", "verdict", "ranks"), [(True, "a", ((1, 1), (2, 2))), (False, "b", ((2, 2), (1, 1)))]
)
def test_which_way_is_better_decides_who_is(higher: bool, verdict: str, ranks: object) -> None:
    one = compared(measure(answers(90, 100), answers(50, 100), higher_is_better=higher))
    assert one.verdict(one.pairs[0]) == verdict
    assert one.ranks == ranks
    assert one.outcomes(one.pairs[0]) == ((40, 60, 0) if higher else (0, 60, 40))


def test_without_a_direction_nobody_is_better() -> None:
    one = compared(measure(answers(90, 100), answers(50, 100), higher_is_better=None))
    assert one.verdict(one.pairs[0]) == "differ"
    assert one.ranks is None


def test_a_mean_that_contradicts_the_ranks_makes_no_one_better() -> None:
    quick_mostly = [1.0] * 27 + [500.0] * 3
    steady = [1.5 + place / 100 for place in range(30)]
    one = compared(measure(quick_mostly, steady, higher_is_better=False, is_cost=True))
    assert one.pairs[0].p < ALPHA
    assert one.pairs[0].difference > 0
    assert one.verdict(one.pairs[0]) == "tie"


def test_the_queries_that_differ_are_named() -> None:
    one = measure([1.0, 0.0, 0.3, None], [1.0, 1.0, 0.1 + 0.2, 1.0])
    assert differing_queries(one, (0, 1), one.runs[0].expected) == ["q0001"]


def test_differences_that_lie_alike_on_both_sides_of_zero_have_an_interval_that_does_too() -> None:
    values = np.array([0.5, 0.25, 0.25, -0.25, -0.25, -0.5, *[0.0] * 6])
    low, high = difference_interval(values)
    assert high is not None
    assert high > 0
    assert low == -high
    assert difference_interval(-values) == (low, high)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, None]), min_size=12, max_size=12), min_size=3, max_size=3
    ),
    st.permutations([0, 1, 2]),
)
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_runs_changes_nothing_but_signs(
    runs: list[list[float | None]], order: Sequence[int]
) -> None:
    straight, turned = compared(measure(*runs)), compared(measure(*(runs[place] for place in order)))
    found = {(order[pair.a], order[pair.b]): pair for pair in turned.pairs}
    for pair in straight.pairs:
        if (pair.a, pair.b) in found:
            other = found[pair.a, pair.b]
            assert other.interval == pair.interval
            assert other.difference == pair.difference
        else:
            other = found[pair.b, pair.a]
            assert other.difference == -pair.difference
            assert (other.higher, other.lower) == (pair.lower, pair.higher)
            low, high = pair.interval
            assert other.interval == (None if high is None else -high, None if low is None else -low)
        assert (other.p, other.p_holm, other.n, other.detectable) == (pair.p, pair.p_holm, pair.n, pair.detectable)
    assert [turned.means[order.index(place)] for place in range(3)] == list(straight.means)
    if straight.ranks and turned.ranks:
        assert [turned.ranks[order.index(place)] for place in range(3)] == list(straight.ranks)


def test_the_interval_covers_the_true_difference_in_95_of_100_cases() -> None:
    rng, n, cases, true = np.random.default_rng(5), 80, 300, 0.2
    covered = 0
    for _ in range(cases):
        differences = rng.choice([1.0, 0.5, 0.0, -1.0], p=[0.25, 0.2, 0.4, 0.15], size=n)
        low, high = difference_interval(differences)
        assert low is not None
        assert high is not None
        covered += low <= true <= high
    # The percentile bootstrap covers a little less than its name says: 94 % at n = 80.
    assert stats.binom.ppf(0.001, cases, 0.94) <= covered <= stats.binom.ppf(0.999, cases, 0.95)


def scored(rows: Mapping[tuple[str, int], tuple[str, float | None]]) -> dict[str, QueryValues]:
    frame = Frame("run", "naive", "demo", {"q1": "t", "q2": "t", "q3": "t"}, {}, repeats=2)
    return scored_values(
        frame,
        [
            Score.model_validate(
                {"query_id": query_id, "repeat": repeat, "measure": "m", "status": status, "value": value}
            )
            for (query_id, repeat), (status, value) in rows.items()
        ],
    )


def test_repeats_are_averaged_and_a_failed_answer_counts_with_the_worst_value() -> None:
    found = scored({("q1", 0): ("scored", 1.0), ("q1", 1): ("imputed", 0.0), ("q2", 0): ("scored", 0.5)})
    assert found["m"].values == {"q1": 0.5, "q2": 0.5}


def test_a_failed_score_has_no_value_and_one_that_does_not_apply_is_not_expected() -> None:
    found = scored(
        {
            ("q1", 0): ("failed", None),
            ("q1", 1): ("scored", 1.0),
            ("q2", 0): ("failed", None),
            ("q3", 0): ("not_applicable", None),
        }
    )
    assert found["m"] == QueryValues({"q1": 1.0}, frozenset({"q1", "q2"}))


def test_queries_and_repeats_outside_the_run_are_passed_over() -> None:
    found = scored({("q9", 0): ("scored", 1.0), ("q1", 2): ("scored", 1.0), ("q1", 0): ("scored", 0.0)})
    assert found["m"] == QueryValues({"q1": 0.0}, frozenset({"q1"}))


def test_two_scores_of_one_measure_for_one_answer_are_refused() -> None:
    twice = [Score(query_id="q1", repeat=0, measure="m", status="scored", value=value) for value in (0.0, 1.0)]
    with pytest.raises(StoreError, match="two scores of 'm' for query 'q1'"):
        scored_values(Frame("run", "naive", "demo", {"q1": "t"}, {}), twice)


def record(query_id: str, cost: Cost, *, ok: bool = True) -> RunRecord:
    return RunRecord(
        query_id=query_id,
        repeat=0,
        status="ok" if ok else "error",
        prediction=Prediction(answer="x") if ok else None,
        failure=None if ok else Failure(kind="ValueError", message="boom"),
        cost=cost,
        attempt=1,
        started_at="2026-11-20T10:00:00+00:00",
    )


def test_costs_of_queries_are_those_whose_means_a_report_shows() -> None:
    used = {"generator": Usage(calls=1, input_tokens=1_000, output_tokens=20), "embedder": Usage(calls=0)}
    unknown = {"generator": Usage(calls=1, unmetered_calls=1)}
    records = [
        record("q1", Cost(wall_s=3.0, throttled_s=1.0, usage=used)),
        record("q2", Cost(wall_s=9.0, usage=used), ok=False),
        record("q3", Cost(wall_s=5.0, usage=used, replayed_calls=1)),
        record("q4", Cost(wall_s=4.0, usage=unknown)),
    ]
    frame = Frame("run", "naive", "demo", dict.fromkeys(("q1", "q2", "q3", "q4", "q5"), "t"), {})
    found = cost_values(frame, records, OPENAI, load_prices())
    assert found["latency_s"].values == {"q1": 2.0, "q4": 4.0}
    assert found["input_tokens"].values == {"q1": 1_000.0, "q2": 1_000.0, "q3": 1_000.0}
    assert found["usd"].values["q1"] == pytest.approx((1_000 * 0.15 + 20 * 0.60) / 1e6)
    assert all(own.expected == frame.query_types.keys() for own in found.values())
    # Of q4 a report knows a lower bound, which is nothing to compare with.
    reported = query_costs(frame, records[:3], OPENAI, load_prices())
    reported += [row for row in query_costs(frame, records, OPENAI, load_prices()) if row.measure in TIMES]
    means = {row.measure: row.mean for row in reported if row.query_type == "overall"}
    for name, own in found.items():
        assert np.mean(list(own.values.values())) == pytest.approx(means[name]), name


def test_a_model_without_a_price_has_no_dollars() -> None:
    models = {"generator": {"provider": "openai", "model": "nobody-knows"}}
    used = {"generator": Usage(calls=1, input_tokens=1)}
    frame = Frame("run", "naive", "demo", {"q1": "t"}, {})
    assert "usd" not in cost_values(frame, [record("q1", Cost(wall_s=1.0, usage=used))], models, load_prices())


def test_a_query_that_timed_out_is_compared_with_its_limit() -> None:
    """Otherwise who times out on what is slow would be the quicker of two."""
    frame = Frame("run", "naive", "demo", {"q1": "t", "q2": "t"}, {}, query_limit_s=30.0)
    late = record("q2", Cost(wall_s=30.2), ok=False).model_copy(update={"status": "timeout"})
    found = cost_values(frame, [record("q1", Cost(wall_s=1.0)), late], OPENAI, load_prices())
    assert found["latency_s"].values == found["wall_s"].values == {"q1": 1.0, "q2": 30.2}
