"""Costs from meters, and sums of costs."""

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.core.current_process import peak_rss_bytes
from harness.core.records import Cost, Usage
from harness.models.metering import Meter


def cost_of(
    meter: Meter, wall_s: float | None, cpu_s: float | None, embedder_rss_bytes: int | None = None
) -> Cost:
    """The cost counted by `meter`, with the peak memory of this process so far. `wall_s` None: unknown, and so are
    the seconds of the stages.
    """
    return Cost(
        wall_s=wall_s,
        throttled_s=None if wall_s is None else min(meter.throttled_s, wall_s),
        stages_s={} if wall_s is None else dict(meter.stages_s),
        usage=meter.whole_usage,
        cpu_s=cpu_s,
        peak_rss_bytes=peak_rss_bytes(),
        embedder_rss_bytes=embedder_rss_bytes,
        embedded_texts=meter.embedded_texts,
        cached_texts=meter.cached_texts,
        cached_from=dict(meter.cached_from),
        saved_s=meter.saved_s,
        replayed_calls=meter.replayed_calls,
        replayed_from=meter.replayed_from,
        cached_usage=meter.cached_usage,
    )


def cost_together(costs: Sequence[Cost], wall_s: float | None) -> Cost:
    """The sum of parallel work in `wall_s` seconds. Throttled and saved seconds overlap, so they are unknown."""
    return Cost(
        wall_s=wall_s,
        throttled_s=None,
        usage=usage_together([cost.usage for cost in costs]),
        cpu_s=sum_if_known([cost.cpu_s for cost in costs]),
        peak_rss_bytes=largest_known([cost.peak_rss_bytes for cost in costs]),
        embedded_texts=sum(cost.embedded_texts for cost in costs),
        cached_texts=sum(cost.cached_texts for cost in costs),
        cached_from=dict(sum((Counter(cost.cached_from) for cost in costs), Counter())),
        replayed_calls=sum(cost.replayed_calls for cost in costs),
        replayed_from=by_payer([cost.replayed_from for cost in costs]),
        cached_usage=by_payer([cost.cached_usage for cost in costs]),
    )


def sum_if_known(values: Sequence[float | None]) -> float | None:
    """None if any value is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def largest_known(values: Sequence[int | None]) -> int | None:
    """None if all values are unknown."""
    return max((value for value in values if value is not None), default=None)


def by_payer(used: Sequence[Mapping[str, Mapping[str, Usage]]]) -> dict[str, dict[str, Usage]]:
    payers = {payer for one in used for payer in one}
    return {payer: usage_together([one.get(payer, {}) for one in used]) for payer in sorted(payers)}


def usage_together(used: Sequence[Mapping[str, Usage]]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for one in used:
        for role, usage in one.items():
            total[role] = total.get(role, Usage()) + usage
    return total
