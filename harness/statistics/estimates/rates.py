"""Rates of a model from earlier calls: characters per token, tokens per reply, seconds per call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.core.records import ExpectedCalls
from harness.statistics.estimates.timing import SecondsFit, fit_seconds, own_seconds
from harness.store.asked_calls import AskedCall

CHARACTERS_PER_TOKEN = 4.0
"""Default if nothing was measured: a rule of thumb for English and byte-pair encodings."""


@dataclass(frozen=True)
class Replies:
    """Calls of one kind: those with the same `max_tokens`."""

    output_tokens: float
    """Mean of a reply."""
    cached_share: float
    """Share of input tokens that came from a prompt cache."""


@dataclass(frozen=True)
class Rates:
    """Rates of one model; without any call, assumptions."""

    n_calls: int = 0
    characters_per_token: float = CHARACTERS_PER_TOKEN
    replies: Mapping[int, Replies] = field(default_factory=dict)
    """By `max_tokens`."""
    seconds: SecondsFit | None = None

    def replies_of(self, calls: ExpectedCalls) -> Replies:
        """Tokens of replies to calls of that kind; without any, replies are as long as allowed."""
        measured = self.replies.get(round(calls.output_tokens_most))
        return measured or Replies(calls.output_tokens_most, 0.0)

    def knows(self, calls: ExpectedCalls) -> bool:
        """Whether a call of that kind was measured."""
        return round(calls.output_tokens_most) in self.replies


def rates_of(journals: Sequence[Sequence[AskedCall]]) -> Rates:
    """The rates of one model from its calls, one list per journal: calls of one journal shared the server."""
    calls = [call for journal in journals for call in journal]
    input_tokens = sum(call.input_tokens for call in calls)
    if not input_tokens:
        return Rates()
    by_limit: dict[int, list[AskedCall]] = {}
    for call in calls:
        by_limit.setdefault(call.max_tokens, []).append(call)
    timed = [row for journal in journals for row in _timed(journal)]
    return Rates(
        n_calls=len(calls),
        characters_per_token=sum(call.characters for call in calls) / input_tokens,
        replies={limit: _replies(alike) for limit, alike in by_limit.items()},
        seconds=fit_seconds(timed),
    )


def _replies(calls: Sequence[AskedCall]) -> Replies:
    read = sum(call.input_tokens for call in calls)
    return Replies(
        output_tokens=sum(call.output_tokens for call in calls) / len(calls),
        cached_share=sum(call.cached_tokens for call in calls) / max(read, 1),
    )


def _timed(calls: Sequence[AskedCall]) -> list[tuple[float, float, float]]:
    """(input tokens, output tokens, own seconds) of each call."""
    spans = own_seconds([(call.started_s, call.started_s + call.wall_s) for call in calls])
    return [
        (call.input_tokens - call.cached_tokens, call.output_tokens, own)
        for call, own in zip(calls, spans, strict=True)
    ]
