"""The order in which queries are taken when cells take turns."""

from collections import Counter
from dataclasses import replace
from math import ceil

from harness.datasets import load_dataset
from harness.datasets.demo import SPEC
from harness.datasets.sampling import query_order

WHOLE = load_dataset(SPEC)


def test_it_holds_every_query_once_and_depends_on_the_seed_and_not_on_the_order_of_rows() -> None:
    order = query_order(WHOLE.references, 0)
    turned = replace(WHOLE, queries=WHOLE.queries[::-1], references=WHOLE.references[::-1])
    assert sorted(order) == sorted(query.query_id for query in WHOLE.queries)
    assert query_order(turned.references, 0) == order != query_order(WHOLE.references, 1)


def test_every_beginning_holds_of_each_type_its_share_give_or_take_a_query() -> None:
    types = {one.query_id: one.query_type for one in WHOLE.references}
    whole = Counter(types.values())
    order = query_order(WHOLE.references, 3)
    for length in range(1, len(order) + 1):
        taken = Counter(types[query_id] for query_id in order[:length])
        for query_type, n in whole.items():
            assert abs(taken[query_type] - length * n / len(order)) < ceil(len(whole) / 2), (length, taken)
