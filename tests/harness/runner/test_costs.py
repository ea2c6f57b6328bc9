"""Costs of parallel work: what nobody measured is unknown, not zero."""

from harness.core.records import Cost
from harness.runner.costs import cost_together


def test_memory_that_no_process_measured_is_unknown_and_cpu_is_a_sum_of_all_or_unknown() -> None:
    unmeasured = Cost(wall_s=1.0)
    measured = Cost(wall_s=1.0, cpu_s=2.0, peak_rss_bytes=5)
    together = [cost_together(costs, 1.0) for costs in ([unmeasured] * 2, [measured, unmeasured], [measured] * 2)]
    assert [cost.peak_rss_bytes for cost in together] == [None, 5, 5]
    assert [cost.cpu_s for cost in together] == [None, None, 4.0]
