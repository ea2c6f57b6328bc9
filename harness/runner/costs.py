"""From what was metered to what it cost."""

import resource
import sys

from harness.models.metering import Meter
from harness.records import Cost


def cost_of(meter: Meter, wall_s: float, cpu_s: float | None, embedder_rss_bytes: int | None = None) -> Cost:
    """The cost of what `meter` counted in `wall_s` seconds of this process, with its peak memory so far."""
    # ru_maxrss is in kilobytes on Linux, in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(
        wall_s=wall_s,
        throttled_s=min(meter.throttled_s, wall_s),
        stages_s=dict(meter.stages_s),
        usage=meter.whole_usage,
        cpu_s=cpu_s,
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        embedder_rss_bytes=embedder_rss_bytes,
        embedded_texts=meter.embedded_texts,
        cached_texts=meter.cached_texts,
        cached_from=dict(meter.cached_from),
        saved_s=meter.saved_s,
        replayed_calls=meter.replayed_calls,
        replayed_from=meter.replayed_from,
    )
