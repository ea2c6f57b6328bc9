"""Pairs, families and ranks, from values to what is said of two runs."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import FAILED, known, run_record
from scipy import stats

from harness.core.records import Cost, Prediction, RunRecord, Score, Usage
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.cost import TIMES, Models, query_costs, query_scores
from harness.statistics.difference_tests import ALPHA, share_difference_interval
from harness.statistics.non_inferior import as_good
from harness.statistics.paired_comparison import (
    ComparedPair,
    MeasureComparison,
    PairedMeasure,
    compare_measure,
    differing_queries,
)
from harness.statistics.permutation_test import flips_of, hidden_variance
from harness.statistics.power import detectable, most_discordant
from harness.statistics.prices import load_prices
from harness.statistics.query_values import QueryValues, cost_values, scored_values
from harness.statistics.run_frame import Frame
from harness.statistics.sampling_design import SamplingDesign

from .conftest import measure, right

OPENAI = {"generator": {"provider": "openai", "model": "gpt-4o-mini"}}


def compared(one: PairedMeasure, against: int | None = None) -> MeasureComparison:
    queries = frozenset.intersection(*(run.expected for run in one.runs))
    places = [
        place for place in itertools.combinations(range(len(one.runs)), 2) if against is None or against in place
    ]
    return compare_measure(one, dict.fromkeys(places, queries))


def test_a_pair_by_hand() -> None:
    a = [1.0] * 15 + [0.0] * 5 + [1.0] * 20
    b = [0.0] * 15 + [1.0] * 5 + [1.0] * 20
    (pair,) = compared(measure(a, b)).pairs
    assert (pair.n, pair.higher, pair.equal, pair.lower) == (40, 15, 20, 5)
    assert (pair.mean_a, pair.mean_b, pair.difference) == (0.875, 0.625, 0.25)
    assert pair.ratio == pytest.approx(1.4)
    assert pair.p == pair.p_holm == pytest.approx(0.0414, abs=0.00005)
    assert (pair.interval, pair.level) == (share_difference_interval(15, 5, 40), 0.95)
    assert known(pair.spread).discordance == most_discordant(20, 40)
    assert pair.detectable == detectable(40, 1, most_discordant(20, 40))
    assert (pair.population, pair.n_clusters, pair.balanced) == ("queries", None, None)


@pytest.mark.parametrize("ends", [(0.0, math.inf), (0.0, 5.0), (-1.0, 1.0)])
def test_counts_and_cosines_that_happen_to_be_zero_or_one_are_no_shares(ends: tuple[float, float]) -> None:
    one = measure(right(15, 40), right(5, 40), ends=ends)
    assert not one.is_share
    assert compared(one).test == "flips"
    assert one.span == (None if math.isinf(ends[1]) else ends[1] - ends[0])


def test_leaving_out_what_is_wrong_makes_no_run_better() -> None:
    whole: list[float | None] = [*right(64, 100)]
    gappy: list[float | None] = [1.0] * 61 + [None] * 39
    one = compared(measure(whole, gappy))
    (pair,) = one.pairs
    assert one.verdict(pair) == "tie"
    assert one.means == (0.64, 0.61)
    low, high = pair.interval
    assert low is not None and high is not None
    # From b right on all that it left out to b wrong on all of them.
    assert low < -0.3 and high > 0.03


def test_where_less_is_better_the_worst_value_is_the_highest() -> None:
    runs = measure([0.0, None, 0.0, 0.0], [1.0, 1.0, 1.0, None]).runs
    one = compared(PairedMeasure("rate", False, runs, range=(0.0, 1.0)))
    assert one.means == (0.25, 1.0)


def test_means_pairs_and_ranks_are_over_the_same_queries() -> None:
    gappy: list[float | None] = [None, *[1.0] * 9]
    one = compared(measure(right(5, 10), right(9, 10), gappy))
    assert [pair.n for pair in one.pairs] == [10, 10, 10]
    assert [(pair.mean_a, pair.mean_b) for pair in one.pairs[:1]] == [(one.means[0], one.means[1])]
    assert one.query_ids == tuple(f"q{place:04d}" for place in range(10))


def test_without_a_value_in_any_run_nothing_is_compared() -> None:
    one = compared(measure([None, None], [None, None], [None, None]))
    assert (one.pairs, one.ranks, one.means) == ((), None, (None, None, None))


def test_a_run_that_is_in_no_pair_takes_no_query_from_the_others() -> None:
    one = measure(right(5, 10), right(9, 10), [None] * 10)
    found = compare_measure(one, {(0, 1): one.runs[0].expected})
    assert (found.n_common, found.means) == (10, (0.5, 0.9, None))


@pytest.mark.parametrize(
    ("runs", "is_cost", "test"),
    [
        (([1.0, 0.0], [1.0, 1.0]), False, "mcnemar"),
        (([1.0, 0.0], [1.0, 0.5]), False, "flips"),
        (([1.0, 0.0], [1.0, 1.0]), True, "flips"),
    ],
)
def test_binary_measures_go_to_mcnemar_and_others_to_flips(
    runs: tuple[list[float], ...], is_cost: bool, test: str
) -> None:
    assert compared(measure(*runs, is_cost=is_cost)).test == test


def test_all_pairs_of_a_measure_are_one_family() -> None:
    runs = right(90, 100), right(80, 100), right(72, 100)
    raw = [pair.p for pair in compared(measure(*runs)).pairs]
    after = [pair.p_holm for pair in compared(measure(*runs)).pairs]
    assert raw == pytest.approx([2 / 2**10, 2 / 2**18, 2 / 2**8])
    assert after == pytest.approx([2 * 2 / 2**10, 3 * 2 / 2**18, 2 / 2**8])


def test_the_same_answers_are_a_tie_of_which_nothing_more_is_known() -> None:
    one = compared(measure(right(5, 10), right(5, 10)))
    (pair,) = one.pairs
    assert (pair.p, pair.spread, pair.detectable) == (1.0, None, None)
    # Ten queries on which nobody differs leave room for a difference.
    assert pair.interval == pytest.approx((-0.2775, 0.2775), abs=0.0001)
    assert one.verdict(pair) == "tie"
    assert one.ranks == ((1, 2), (1, 2))


@pytest.mark.parametrize(
    ("higher", "verdict", "ranks"), [(True, "a", ((1, 1), (2, 2))), (False, "b", ((2, 2), (1, 1)))]
)
def test_which_way_is_better_decides_who_is(higher: bool, verdict: str, ranks: object) -> None:
    one = compared(measure(right(90, 100), right(50, 100), higher=higher))
    assert one.verdict(one.pairs[0]) == verdict
    assert one.ranks == ranks
    assert one.outcomes(one.pairs[0]) == ((40, 60, 0) if higher else (0, 60, 40))


@pytest.mark.slow
def test_at_equal_means_nobody_is_called_better_more_often_than_said() -> None:
    # Of Wilcoxon's test the same differences are significant in 4 of 10 cases: their median is not 0.
    rng, cases, false, ranked = np.random.default_rng(21), 200, 0, 0
    for _ in range(cases):
        differences = rng.choice([0.5, -0.125, 0.0], p=[0.12, 0.48, 0.4], size=120)
        (pair,) = compared(measure((0.5 + differences).tolist(), [0.5] * 120)).pairs
        false += pair.significant
        ranked += int(stats.wilcoxon(differences).pvalue <= ALPHA)
    assert false <= stats.binom.ppf(0.99, cases, 0.06)
    assert ranked > 0.4 * cases


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=30, max_size=30), min_size=2, max_size=4),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_an_interval_excludes_0_exactly_where_its_pair_is_told_apart(
    runs: list[list[float]], binary: bool
) -> None:
    shown = [[float(value > 0.3) for value in run] for run in runs] if binary else runs
    for pair in compared(measure(*shown)).pairs:
        low, high = pair.interval
        if low is not None and high is not None:
            assert pair.significant == (low > 0 or high < 0)


# Clusters and the mix


def drawn(n: int, *, clusters: int = 0, mix: Mapping[str, int] | None = None) -> SamplingDesign:
    """Of queries q0000, q0001, ...: every `clusters` of them in a row cite one document; two types take turns."""
    ids = [f"q{place:04d}" for place in range(n)]
    return SamplingDesign(
        {one: "even" if place % 2 == 0 else "odd" for place, one in enumerate(ids)},
        mix or {},
        {one: f"document/{place // clusters}" for place, one in enumerate(ids)} if clusters else {},
    )


def one_pair(
    a: Sequence[float | None], b: Sequence[float | None], how: SamplingDesign
) -> tuple[MeasureComparison, ComparedPair]:
    one = measure(a, b)
    found = compare_measure(one, {(0, 1): one.runs[0].expected & one.runs[1].expected}, how)
    return found, found.pairs[0]


def test_the_natural_mix_decides_and_the_balanced_one_stands_beside_it() -> None:
    # Ahead on half of the odd queries, behind on as many of the even ones: nine of ten queries are odd.
    a = [0.0 if place % 2 == 0 else float(place % 4 == 1) for place in range(80)]
    b = [float(place % 4 == 0) if place % 2 == 0 else 0.0 for place in range(80)]
    found, pair = one_pair(a, b, drawn(80, mix={"even": 100, "odd": 900}))
    assert (found.mix, found.test) == ("natural", "flips")
    assert pair.difference == pytest.approx(0.9 * 0.5 - 0.1 * 0.5)
    assert found.means == pytest.approx((0.45, 0.05))
    assert found.verdict(pair) == "a"
    assert known(pair.balanced).difference == 0.0
    assert found.balanced_means == (0.25, 0.25)
    assert pair.turned.balanced is not None
    assert pair.turned.difference == -pair.difference


@pytest.mark.parametrize("mix", [{}, {"even": 1}, {"even": 1, "odd": 1, "other": 1}])
def test_without_the_weight_of_a_type_each_query_counts_the_same(mix: dict[str, int]) -> None:
    found, pair = one_pair(right(30, 40), right(10, 40), drawn(40, mix=mix))
    assert (found.mix, found.weights, pair.balanced) == ("as sampled", None, None)


def test_a_sample_in_the_natural_mix_is_tested_as_it_is() -> None:
    found, pair = one_pair(right(30, 40), right(10, 40), drawn(40, mix={"even": 500, "odd": 500}))
    assert (found.mix, found.test, pair.balanced) == ("natural", "mcnemar", None)


def test_two_types_whose_queries_stand_for_as_many_are_two_in_every_number_of_a_pair() -> None:
    names = ["one"] * 2 + ["other"] * 2 + ["third"] * 20
    types = {f"q{place:04d}": name for place, name in enumerate(names)}
    mix = SamplingDesign(types, {"one": 300, "other": 300, "third": 300})
    found, pair = one_pair([1.0, 0.5] * 12, [0.25] * 24, mix)
    assert found.weights is not None
    numbers, differences = np.repeat([0, 1, 2], [2, 2, 20]), found.differences(0, 1)[:, None]
    tested = flips_of(differences, found.weights, types=numbers)
    assert pair.p == tested.p_values[0]
    assert pair.interval == tested.interval(0)
    assert pair.spread is not None
    assert pair.spread.hidden == pytest.approx(24**2 * hidden_variance(differences, found.weights, numbers).item())
    shown = known(as_good(found, 0, [1], margin=1.0))
    assert shown.at_most_worse == pytest.approx(-tested.interval(0).low)  # type: ignore[operator]


def test_a_type_to_which_a_measure_applies_in_part_has_that_part_of_its_weight() -> None:
    ids = [f"q{place:04d}" for place in range(40)]
    applying = [one for place, one in enumerate(ids) if place % 2 or place < 20]
    runs = tuple(
        QueryValues.of({one: float(int(one[1:]) % 2 == parity) for one in applying}, frozenset(applying))
        for parity in (0, 1)
    )
    found = compare_measure(
        PairedMeasure("m", True, runs), {(0, 1): frozenset(ids)}, drawn(40, mix={"even": 600, "odd": 400})
    )
    # Half of the even queries: 300 of 700.
    assert found.means == pytest.approx((300 / 700, 400 / 700))


@pytest.mark.parametrize(
    "values",
    [[1.0], [1.0] * 5, [0.0] * 30, [0.5] * 30, [0.25, 1.0, 0.5, 0.0, 1.0]],
    ids=["one query", "five", "all failed", "all equal", "five graded"],
)
def test_what_is_too_little_to_compare_is_a_tie_and_no_error(values: list[float]) -> None:
    for how in (
        SamplingDesign(),
        drawn(len(values), clusters=1),
        drawn(len(values), clusters=99, mix={"even": 5, "odd": 1}),
    ):
        found, pair = one_pair(values, [value / 2 for value in values[::-1]], how)
        assert found.verdict(pair) == "tie" or len(values) > 5
        alike, pair = one_pair(values, values, how)
        assert (alike.verdict(pair), pair.p) == ("tie", 1.0)


def test_the_queries_that_differ_are_named() -> None:
    one = measure([1.0, 0.0, 0.3, None], [1.0, 1.0, 0.1 + 0.2, 1.0])
    assert differing_queries(one, (0, 1), one.runs[0].expected) == ["q0001"]


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
            # Sums in another order differ by a rounding.
            for one, opposite in ((other.interval.low, high), (other.interval.high, low)):
                assert one == (None if opposite is None else pytest.approx(-opposite, rel=1e-9, abs=1e-12))
        assert (other.p, other.p_holm, other.n, other.detectable) == (pair.p, pair.p_holm, pair.n, pair.detectable)
    assert [turned.means[order.index(place)] for place in range(3)] == list(straight.means)
    if straight.ranks and turned.ranks:
        assert [turned.ranks[order.index(place)] for place in range(3)] == list(straight.ranks)


def scored(rows: Mapping[tuple[str, int], tuple[str, float | None]]) -> dict[str, QueryValues]:
    frame = Frame("run", "naive", "demo", {"q1": "t", "q2": "t", "q3": "t"}, {}, repeats=2)
    scores = [
        Score.model_validate(
            {"query_id": query_id, "repeat": repeat, "measure": "m", "status": status, "value": value}
        )
        for (query_id, repeat), (status, value) in rows.items()
    ]
    return scored_values(frame, ScoreColumns.of(frame, scores))


def test_a_failed_score_has_no_value_and_one_that_does_not_apply_is_not_expected() -> None:
    found = scored(
        {
            ("q1", 0): ("failed", None),
            ("q1", 1): ("scored", 1.0),
            ("q2", 0): ("failed", None),
            ("q3", 0): ("not_applicable", None),
        }
    )
    assert found["m"] == {"q1": 1.0}
    assert found["m"].expected == {"q1", "q2"}


def record(query_id: str, cost: Cost, *, ok: bool = True) -> RunRecord:
    return run_record(query_id, Prediction(answer="x") if ok else FAILED, cost=cost)


def costs(frame: Frame, records: Sequence[RunRecord], models: Models = OPENAI) -> dict[str, QueryValues]:
    return cost_values(frame, query_scores(frame, records, models, load_prices()))


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
    found = costs(frame, records)
    assert found["latency_s"] == {"q1": 2.0, "q4": 4.0}
    assert found["input_tokens"] == {"q1": 1_000.0, "q2": 1_000.0, "q3": 1_000.0}
    assert found["usd"]["q1"] == pytest.approx((1_000 * 0.15 + 20 * 0.60) / 1e6)
    assert all(own.expected == frame.query_types.keys() for own in found.values())
    # Of q4 a report knows a lower bound, which is nothing to compare with.
    known, every = (query_scores(frame, own, OPENAI, load_prices()) for own in (records[:3], records))
    reported = query_costs(frame, known)
    reported += [row for row in query_costs(frame, every) if row.measure in TIMES]
    means = {row.measure: row.mean for row in reported if row.query_type == "overall"}
    for name, own in found.items():
        assert np.mean(list(own.values())) == pytest.approx(means[name]), name
