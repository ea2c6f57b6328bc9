"""How long an index takes by itself, whatever earlier builds left for it."""

from collections.abc import Callable

import pytest

from harness.core.records import Cost
from harness.display import format_value
from harness.report.tables.costs import index_table
from harness.report.view import load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
TYPES = {"inference_query": 2}


@pytest.mark.parametrize(
    ("cost", "said", "noted"),
    [
        (Cost(wall_s=30.0), "30", ""),
        (
            Cost(wall_s=30.0, replayed_calls=3, saved_s=70.0),
            "100 rebuilt",
            "3 model calls",
        ),
        (Cost(wall_s=30.0, cached_texts=3), "≥ 30", "a lower bound: 3 vectors"),
    ],
)
def test_seconds_are_measured_or_rebuilt_or_a_lower_bound(
    make_run: MakeRun, cost: Cost, said: str, noted: str
) -> None:
    (group,) = load_groups([make_run(types=TYPES, index_cost=cost)], load_prices())
    table = index_table(group)
    assert table is not None
    assert format_value(table.rows[0][table.header.index("seconds")]).replace(".0", "") == said
    assert noted in "\n".join(group.note_lines)
    assert ("Index seconds" in "\n".join(group.note_lines)) is bool(noted)
