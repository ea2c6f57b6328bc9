"""Rows that follow from other rows alone: what a published script prints for a mean of ours.

`accuracy_multihop_printed`, from `accuracy_multihop_compat`: the "accuracy" of MultiHop-RAG's qa_evaluate.py as of
April 2025 (its pull request 20; versions before print none, a later one prints tp / n). It counts each of the
n - tp wrong answers three times, as false positive, false negative and true negative:

    printed = (tp + tn) / (tp + tn + fp + fn) = n / (3 n - 2 tp) = 1 / (3 - 2 tp / n)

A system that is never right has 1/3. It is no share of anything and only for reading tables made with that script;
it equals tp / n only at 1/2 and 1. It grows with tp / n, so the limits of an interval are mapped as the mean is.
"""

from collections.abc import Iterable
from dataclasses import replace

from harness.analysis.aggregate import Aggregate

MULTIHOP_COMPAT = "accuracy_multihop_compat"
MULTIHOP_PRINTED = "accuracy_multihop_printed"
DERIVED = {MULTIHOP_COMPAT: MULTIHOP_PRINTED}
"""Measure -> the one that follows from it."""


def derive(rows: Iterable[Aggregate]) -> list[Aggregate]:
    """The derived rows alone, in the order of the rows they follow from and with their counts; None stays None.

    Of `overall_natural` too: the mean there estimates tp / n over the whole data set, and the row what the script
    would print for it.
    """
    return [_multihop_printed(row) for row in rows if row.measure == MULTIHOP_COMPAT]


def _multihop_printed(row: Aggregate) -> Aggregate:
    mean, low, high = (
        None if share is None else 1 / (3 - 2 * share) for share in (row.mean, row.ci_low, row.ci_high)
    )
    return replace(row, measure=MULTIHOP_PRINTED, mean=mean, ci_low=low, ci_high=high)
