"""Counts of a run's records, made in one pass: failures, retries, timeouts, tokens."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from harness.core.records import OWN_MODELS, REASONING, Cost, RunRecord
from harness.display.text_format import printable
from harness.statistics import Frame
from harness.statistics.cost import called_roles
from harness.store import Records

_MOST_KINDS = 4
_LONGEST_REASON = 160


@dataclass
class RecordCounts:
    """Of the records that count."""

    n: int = 0
    n_asked: int = 0
    """(query, repeat) pairs of the frame that have one."""
    n_asked_failed: int = 0
    """Of those."""
    failures: Counter[str] = field(default_factory=Counter)
    """Number of failures by kind."""
    first_failure: str = ""
    """Message of the first failure."""
    n_retried: int = 0
    n_failed: int = 0
    n_timeouts: int = 0
    n_replayed: int = 0
    """Answered, with calls from an earlier attempt."""
    n_cached: int = 0
    """Answered without one, with vectors that were there."""
    n_unsplit: int = 0
    """Timed answers for which waiting for a provider's limit is not known separately."""
    n_unmetered: int = 0
    """A call of a model of the harness was not counted."""
    any_token: bool = False
    """Of a model of the harness."""
    n_own: int = 0
    """A pipeline's own models answered."""
    any_own_token: bool = False
    n_cut: int = 0
    """A reply was cut off."""
    n_cut_prompts: int = 0
    """A server counted fewer tokens than were sent."""
    output_tokens: int = 0
    reasoning_tokens: int = 0
    n_reasoned: int = 0
    """The reasoning of a model was kept apart from the answer."""
    roles: set[str] = field(default_factory=set)
    """Roles whose model was called."""

    @property
    def why_failed(self) -> str:
        """The most frequent kinds of failures and the message of the first; empty if none failed."""
        kinds = self.failures.most_common(_MOST_KINDS)
        shown = ", ".join(f"{printable(kind)} {count:,}" for kind, count in kinds)
        first = printable(self.first_failure, _LONGEST_REASON)
        return f"{shown}; the first: {first or 'no message'}" if shown else ""

    @classmethod
    def of(cls, records: Records, frame: Frame) -> RecordCounts:
        """Of these, those of queries and repeats outside the frame included."""
        counts = cls()
        for (query_id, repeat), record in records.items():
            counts._add(record, query_id in frame.query_types and 0 <= repeat < frame.repeats)
        return counts

    def _add(self, record: RunRecord, is_asked: bool) -> None:
        self.n += 1
        self.n_retried += record.attempt > 1
        self.n_failed += record.status != "ok"
        self.n_timeouts += record.status == "timeout"
        if is_asked:
            self._add_asked(record)
        trace = record.prediction.trace if record.prediction else ()
        self.n_reasoned += any(step.name == REASONING for step in trace)
        if record.status == "ok":
            self.n_replayed += record.cost.replayed_calls > 0
            self.n_cached += record.cost.cached_texts > 0 and not record.cost.replayed_calls
        self.n_unsplit += record.cost.wall_s is not None and record.cost.throttled_s is None
        self._add_usage(record.cost)

    def _add_asked(self, record: RunRecord) -> None:
        self.n_asked += 1
        self.n_asked_failed += record.status != "ok"
        if record.failure:
            if not self.failures:
                self.first_failure = record.failure.message
            self.failures[record.failure.kind] += 1

    def _add_usage(self, cost: Cost) -> None:
        self.roles |= called_roles(cost)
        own = cost.usage.get(OWN_MODELS)
        self.n_own += own is not None
        self.any_own_token |= own is not None and own.has_tokens
        metered = [usage for role, usage in cost.usage.items() if role != OWN_MODELS]
        self.n_unmetered += any(usage.unmetered_calls for usage in metered)
        self.any_token |= any(usage.has_tokens for usage in metered)
        self.n_cut += any(usage.cut_calls for usage in cost.usage.values())
        self.n_cut_prompts += any(usage.cut_prompts for usage in cost.usage.values())
        self.output_tokens += sum(usage.output_tokens for usage in cost.usage.values())
        self.reasoning_tokens += sum(usage.reasoning_tokens for usage in cost.usage.values())
