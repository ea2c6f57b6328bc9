"""Measured cost of a phase of a run: compared with its estimate, and used for later estimates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from harness.core.records import IndexRecord, RunRecord, Usage
from harness.statistics.estimates.timing import BusyTime, covered_seconds

GENERATOR, EMBEDDER = "generator", "embedder"


@dataclass(frozen=True)
class MeasuredCost:
    """Cost of one index, or of a number of answers."""

    units: int
    """Answers; 1 for an index."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By model role; includes replayed calls."""
    seconds: float | None = None
    """Time in which any of the work was in progress. None: unknown, for example because calls were replayed."""
    texts: int = 0
    """Number of texts embedded or taken from the cache."""
    shares_vectors: bool = False
    """Whether vectors that were paid for once count in several answers, so that the sum exceeds what was paid."""

    @property
    def generator(self) -> Usage:
        """Usage of the generator."""
        return self.usage.get(GENERATOR, Usage())

    @property
    def is_metered(self) -> bool:
        """Whether every token was counted."""
        return not any(usage.unmetered_calls for usage in self.usage.values())


def index_spent(record: IndexRecord) -> MeasuredCost:
    """The cost of an index, whoever paid."""
    cost = record.cost
    live = not (cost.replayed_calls or cost.cached_texts)
    return MeasuredCost(
        units=1,
        usage=cost.usage,
        seconds=cost.wall_s if live else None,
        texts=cost.embedded_texts + cost.cached_texts,
    )


def answers_spent(records: Iterable[RunRecord]) -> MeasuredCost:
    """The cost of these answers, including failed ones.

    Seconds in which any of them was running; answers that were not made live, as after an interruption, are
    assumed to have been as fast as the others.
    """
    n = texts = 0
    usage: dict[str, Usage] = {}
    live: list[BusyTime] = []
    shares_vectors = False
    for record in records:
        cost, n = record.cost, n + 1
        texts += cost.embedded_texts + cost.cached_texts
        shares_vectors = shares_vectors or bool(cost.cached_usage)
        usage |= {role: usage[role] + used if role in usage else used for role, used in cost.usage.items()}
        if span := live_span(record):
            live.append(span)
    seconds = covered_seconds(live) * n / len(live) if live else None
    return MeasuredCost(units=n, usage=usage, seconds=seconds, texts=texts, shares_vectors=shares_vectors)


def live_span(record: RunRecord) -> BusyTime | None:
    """Start and end of an answer, in seconds since 1970; None if it was not timed or partly replayed."""
    if record.cost.wall_s is None or record.cost.replayed_calls:
        return None
    try:
        start = datetime.fromisoformat(record.started_at).timestamp()
    except (ValueError, OverflowError):
        return None
    return start, start + record.cost.wall_s
