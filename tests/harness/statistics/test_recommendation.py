"""Which run is recommended, and how sure that is."""

from collections.abc import Sequence

import numpy as np
import pytest

from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, compare_measure
from harness.statistics.query_values import QueryValues
from harness.statistics.recommendation import leads_of, probability_within, ranked_places
from harness.statistics.sampling_design import SamplingDesign

Values = Sequence[float | None]


def compared(*runs: Values, documents: Sequence[str] = (), higher: bool = True) -> MeasureComparison:
    ids = [f"q{place:04d}" for place in range(len(runs[0]))]
    held = tuple(
        QueryValues({one: value for one, value in zip(ids, run, strict=True) if value is not None}, frozenset(ids))
        for run in runs
    )
    shared = {(a, b): frozenset(ids) for a in range(len(runs)) for b in range(a + 1, len(runs))}
    design = SamplingDesign(clusters=dict(zip(ids, documents, strict=True)) if documents else {})
    return compare_measure(PairedMeasure("m", higher, held, range=(0.0, 1.0)), shared, design)


def right(count: int, n: int = 100, first: int = 0) -> list[float]:
    return [float(first <= place < first + count) for place in range(n)]


def test_the_best_mean_comes_first() -> None:
    one = compared(right(50), right(80), right(60))
    assert ranked_places(one) == [1, 2, 0]
    assert ranked_places(compared(right(50), right(80), right(60), higher=False)) == [0, 2, 1]


def test_each_lead_is_tested_alone_so_that_more_rivals_take_no_power() -> None:
    best, second = right(70), right(55)
    (alone,) = leads_of(compared(best, second), 0)
    among = leads_of(compared(best, second, *(right(count) for count in (20, 25, 30, 35))), 0)
    assert alone.is_shown
    assert among[0] == alone


def test_leads_are_in_order_and_turn_where_less_is_better() -> None:
    found = leads_of(compared(right(20), right(60), right(40), higher=False), 0)
    assert [lead.place for lead in found] == [2, 1]
    assert [lead.difference for lead in found] == pytest.approx([0.2, 0.4])


def test_a_lead_of_a_few_documents_is_shown_on_these_documents_only() -> None:
    documents = [f"d{place // 25}" for place in range(100)]
    (lead,) = leads_of(compared(right(60), right(40), documents=documents), 0)
    assert lead.is_shown_here
    assert not lead.is_shown


def test_a_lead_that_missing_values_may_undo_is_not_shown() -> None:
    gappy: list[float | None] = [1.0] * 61 + [None] * 39
    (lead,) = leads_of(compared(gappy, right(30)), 0)
    assert lead.is_shown
    (lead,) = leads_of(compared(right(64), gappy), 0)
    assert not lead.is_shown
    assert lead.n_missing == 39


def test_equal_runs_on_many_queries_are_within_the_margin() -> None:
    rng = np.random.default_rng(3)
    runs = [(rng.random(2000) < 0.6).astype(float).tolist() for _ in range(2)]
    probability = probability_within(compared(*runs), 0, 0.05)
    assert probability is not None
    assert probability > 0.9


def test_a_run_that_is_far_behind_is_not() -> None:
    one = compared(right(90), right(40))
    assert probability_within(one, 0, 0.05) == 1.0
    probability = probability_within(one, 1, 0.05)
    assert probability is not None
    assert probability < 0.01


def test_fewer_queries_make_it_less_sure() -> None:
    found = [
        probability_within(compared(*(right(int(share * n), n) for share in (0.7, 0.6, 0.6, 0.6))), 0, 0.05)
        for n in (20, 200)
    ]
    assert found[0] is not None and found[1] is not None
    assert found[0] < found[1]


def test_of_one_run_nothing_is_said() -> None:
    one = compared(right(10))
    assert leads_of(one, 0) == []
    assert probability_within(one, 0, 0.05) is None
