"""What MultiHop-RAG's script printed as accuracy, from the share that it should have printed."""

import pytest

from harness.analysis import NATURAL, aggregate_scores
from harness.analysis.derived import derive

from .conftest import Find, MakeFrame, score

COMPAT, PRINTED = "accuracy_multihop_compat", "accuracy_multihop_printed"


@pytest.mark.parametrize(
    ("tp", "n", "printed"),
    [
        (0, 4, 1 / 3),
        (1, 4, 0.4),  # 4 / (12 - 2)
        (3, 4, 2 / 3),  # 4 / (12 - 6)
        (309, 426, 426 / 660),  # 426 / (1278 - 618), the recorded answers of gpt-4o-mini
    ],
)
def test_the_printed_number_as_worked_by_hand(
    frame: MakeFrame, find: Find, tp: int, n: int, printed: float
) -> None:
    scores = [score(f"t{number}", float(number < tp), measure=COMPAT) for number in range(n)]
    assert find(derive(aggregate_scores(frame({"t": n}), scores)), PRINTED).mean == pytest.approx(printed)


def test_it_equals_the_share_only_at_one_half_and_at_one(frame: MakeFrame, find: Find) -> None:
    n = 12
    equal = []
    for tp in range(n + 1):
        scores = [score(f"t{number}", float(number < tp), measure=COMPAT) for number in range(n)]
        rows = aggregate_scores(frame({"t": n}), scores)
        if find(derive(rows), PRINTED).mean == find(rows, COMPAT).mean:
            equal.append(tp)
    assert equal == [6, 12]


def test_the_interval_is_mapped_and_the_counts_are_kept(frame: MakeFrame, find: Find) -> None:
    scores = [score("t0", 1.0, measure=COMPAT), score("t1", 0.0, measure=COMPAT, status="imputed")]
    rows = aggregate_scores(frame({"t": 3}), scores)
    share, printed = find(rows, COMPAT), find(derive(rows), PRINTED)
    assert share.ci_low is not None
    assert share.ci_high is not None
    assert printed.ci_low == pytest.approx(1 / (3 - 2 * share.ci_low))
    assert printed.ci_high == pytest.approx(1 / (3 - 2 * share.ci_high))
    assert (printed.n_scored, printed.n_imputed, printed.n_failed, printed.n_expected) == (1, 1, 1, 3)
    assert (printed.run_id, printed.system, printed.dataset) == (share.run_id, share.system, share.dataset)


def test_the_natural_mix_is_derived_from_its_own_mean_and_not_from_the_types(frame: MakeFrame, find: Find) -> None:
    scores = [score("a0", 1.0, measure=COMPAT), score("b0", 0.0, measure=COMPAT)]
    rows = aggregate_scores(frame({"a": 1, "b": 1}, mix={"a": 300, "b": 100}), scores)
    # 300 of 400 right: 400 / (1200 - 600). The types alone give 1 and 1/3, whose weighted mean is 5/6.
    assert find(derive(rows), PRINTED, NATURAL).mean == pytest.approx(2 / 3)


def test_every_row_of_the_share_gets_one_and_no_other_measure_does(frame: MakeFrame) -> None:
    scores = [score("a0", 1.0, measure=COMPAT), score("b0", 0.0, measure=COMPAT), score("a0", 1.0)]
    rows = aggregate_scores(frame({"a": 1, "b": 1}), scores)
    assert [row.query_type for row in derive(rows)] == [row.query_type for row in rows if row.measure == COMPAT]
    assert {row.measure for row in derive(rows)} == {PRINTED}
    assert derive([row for row in rows if row.measure != COMPAT]) == []


def test_what_was_not_measured_stays_unknown(frame: MakeFrame, find: Find) -> None:
    row = find(derive(aggregate_scores(frame({"t": 1}), [score("t0", None, measure=COMPAT)])), PRINTED)
    assert (row.mean, row.ci_low, row.ci_high, row.n_failed) == (None, None, None, 1)
