"""Estimates of tokens, dollars and seconds: calls x tokens x price, and calls x seconds per call, as ranges.

Tokens come from earlier runs of the same system and model, else from the prompt templates. Seconds come from those
runs, else from the speed of the models, else from a documented default. Reads and writes no files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from math import inf
from operator import add

from harness.core.records import Estimate, ExpectedCalls, IndexRecord, PhaseEstimate, Range, RunRecord, Usage, Work

GENERATOR, EMBEDDER = "generator", "embedder"
CHARACTERS_PER_TOKEN = 4.0
"""A rule of thumb for English and byte-pair encodings."""
PASSAGE_CHARACTERS = 1000
"""Length of the passages by which an embedder's speed is stated."""
_UNMEASURED_CHARACTERS = Range(low=3.0, high=5.0)
"""Characters per token, if none of the model's prompts was counted."""
_SHORTEST_REPLY = 1 / 16
"""Of `max_tokens`, if no reply of this kind was counted."""
_LEAST_OF_MOST = 0.25
"""Of a formula that is an upper bound."""
_SAME, _SIMILAR, _TIMED, _OTHER = (0.8, 1.25), (0.5, 2.0), (0.7, 1.5), (0.4, 2.5)
"""Ranges around a measurement: of the same configuration, of another configuration of the same system, of the
model's speed, of other calls of the model."""
_NO_EMBEDDING = 0.25
"""At most this share of the seconds of an index without model calls is not embedding."""
SAME_PARAMETERS = 2
NO_TIME, ALL = Range(low=0.0, high=0.0), Range(low=1.0, high=1.0)
PriceUsage = Callable[[Mapping[str, Usage]], float | None]
"""Usage by role -> USD; None: no price."""
BusyTime = tuple[float, float]
"""Start and end, in seconds."""


@dataclass(frozen=True)
class MeasuredCost:
    """Cost of one index, or of a number of answers."""

    units: int
    """Answers; 1 for an index."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By model role; includes replayed calls."""
    seconds: float | None = None
    """Time in which any of the work was in progress. None: unknown, for example because calls were replayed."""

    @property
    def generator(self) -> Usage:
        return self.usage.get(GENERATOR, Usage())

    @property
    def is_metered(self) -> bool:
        return not any(usage.unmetered_calls for usage in self.usage.values())


def index_spent(record: IndexRecord) -> MeasuredCost:
    """The cost of an index, whoever paid."""
    cost = record.cost
    return MeasuredCost(units=1, usage=cost.usage, seconds=cost.wall_s if cost.is_live else None)


def answers_spent(records: Iterable[RunRecord]) -> MeasuredCost:
    """The cost of these answers, including failed ones.

    Seconds in which any of them was running; answers that were not made live, as after an interruption, are
    assumed to have been as fast as the others.
    """
    n, usage, live = 0, dict[str, Usage](), list[BusyTime]()
    for record in records:
        cost, n = record.cost, n + 1
        usage |= {role: usage[role] + used if role in usage else used for role, used in cost.usage.items()}
        if span := _live_span(record):
            live.append(span)
    seconds = covered_seconds(live) * n / len(live) if live else None
    return MeasuredCost(units=n, usage=usage, seconds=seconds)


def _live_span(record: RunRecord) -> BusyTime | None:
    """Start and end of an answer, in seconds since 1970; None if it was not timed or partly replayed."""
    if record.cost.wall_s is None or record.cost.replayed_calls:
        return None
    try:
        start = datetime.fromisoformat(record.started_at).timestamp()
    except (ValueError, OverflowError):
        return None
    return start, start + record.cost.wall_s


def covered_seconds(intervals: Iterable[BusyTime]) -> float:
    """The time covered by at least one interval."""
    covered, reached = 0.0, -inf
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


@dataclass(frozen=True)
class Rates:
    """What is known of the models of a configuration. None: nothing."""

    characters_per_token: float | None = None
    reply_tokens: Mapping[int, float] = field(default_factory=dict)
    """`max_tokens` of a call -> mean tokens of its replies."""
    prompt_tokens_per_s: Range | None = None
    completion_tokens_per_s: Range | None = None
    call_s: Range | None = None
    """Seconds per call, parallel calls considered; used if the speed in tokens is unknown."""
    passages_per_s: Range | None = None
    """Passages of `PASSAGE_CHARACTERS` that the embedder embeds."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    embedder_tokens_per_minute: float | None = None


@dataclass(frozen=True)
class Earlier:
    """One phase of an earlier run of the same system with the same generator."""

    spent: MeasuredCost
    work: Work | None
    """The formula's result for one unit; None if it has none, or its corpus no longer exists."""
    closeness: int = 0
    """`SAME_PARAMETERS`, plus 1 for the same data set. Only the closest runs count."""


@dataclass(frozen=True)
class Task:
    """The phase to estimate: a number of units (answers, an index, or documents of an index without formula)."""

    units: int
    work: Work | None
    """The work of one unit, without generator calls if the run has no generator."""
    rates: Rates
    earlier: Sequence[Earlier]
    price: PriceUsage
    embedder_is_metered: bool
    is_most: bool = False
    """Whether the formula is an upper bound."""
    notes: tuple[str, ...] = ()
    """Assumptions of the formula, mentioned unless earlier runs correct it."""
    to_embed: Range = ALL
    """Share of the texts that have no stored vector."""


@dataclass(frozen=True)
class _Amounts:
    calls: float
    read: Range
    written: Range
    embedded: Range

    def times(self, low: float, high: float) -> "_Amounts":
        return _Amounts(self.calls, *(one.times(low, high) for one in (self.read, self.written, self.embedded)))


def predict(task: Task) -> PhaseEstimate:
    """The estimate of one phase; all unknown without a formula and without earlier runs."""
    best = max((one.closeness for one in task.earlier), default=0)
    closest = [one for one in task.earlier if one.closeness == best]
    share, spread = _share_of(task), _SAME if best >= SAME_PARAMETERS else _SIMILAR
    earlier = [one for one in closest if one.spent.is_metered and share(one) is not None]
    timed = [one for one in closest if one.spent.seconds is not None and share(one) is not None]
    seconds = None
    if taken := [(one.spent.seconds or 0.0) * (share(one) or 0.0) for one in timed]:
        # The others may have been slowed down by something else.
        seconds = Range(low=min(taken) * spread[0], high=max(sum(taken) / len(taken) * spread[1], *taken))
        if task.work is not None and not task.work.calls:
            seconds = seconds.times(task.to_embed.low, max(task.to_embed.high, _NO_EMBEDDING))
    runs = f"{len(closest)} earlier {'run' if len(closest) == 1 else 'runs'}"
    if not earlier:
        if task.work is not None:
            return _from_formula(task, seconds)
        if not closest:
            return PhaseEstimate(notes=("this system has no cost formula, and there is no earlier run of it",))
        note = "the models that its earlier runs called were not metered"
        return PhaseEstimate(seconds=seconds, basis=runs if seconds else "unknown", notes=(note,))
    scale = {id(one): share(one) or 0.0 for one in earlier}

    def mean_of(role: str, name: str) -> float:
        used = [getattr(one.spent.usage.get(role, Usage()), name) * scale[id(one)] for one in earlier]
        return float(sum(used) / len(used))

    names = ("input_tokens", "output_tokens", "cached_tokens", "calls")
    read, written, cached, calls = (mean_of(GENERATOR, name) for name in names)
    embedded = mean_of(EMBEDDER, "input_tokens")
    exact = _Amounts(calls, *(Range(low=value, high=value) for value in (read, written, embedded)))
    amounts = exact.times(0.9, 1.1) if best >= SAME_PARAMETERS else exact.times(*_SIMILAR)
    notes = () if best >= SAME_PARAMETERS else ("the earlier runs had other parameters",)
    return _phase(task, amounts, seconds, runs, notes, cached / read if read else 0.0)


def without_calls(work: Work) -> Work:
    """The work of a run without a generator."""
    return work.model_copy(update={"calls": ()})


def _share_of(task: Task) -> Callable[[Earlier], float | None]:
    """share(earlier): the size of the phase as a multiple of an earlier one."""

    def size(work: Work, units: float) -> float:
        read = sum(kind.calls * (kind.input_characters + kind.output_tokens_most) for kind in work.calls)
        return units * (read or work.embedded_characters)

    def share(one: Earlier) -> float | None:
        if not one.spent.units:
            return None
        units = task.units / one.spent.units
        if task.work is None or one.work is None:
            return units if task.work is None or one.closeness > SAME_PARAMETERS else None
        before, now = size(one.work, one.spent.units), size(task.work, task.units)
        if bool(before) != bool(now):
            return None  # Such as a search by words, which says nothing of one that embeds.
        return now / before if before else units

    return share


def _from_formula(task: Task, seconds: Range | None) -> PhaseEstimate:
    work, rates = task.work or Work(), task.rates
    calls = task.units * sum(kind.calls for kind in work.calls)
    per_token, notes = rates.characters_per_token, list(task.notes)
    characters = Range(low=per_token, high=per_token) if per_token else _UNMEASURED_CHARACTERS
    read = _tokens(task.units * sum(kind.calls * kind.input_characters for kind in work.calls), characters)
    written = reduce(add, (_reply(kind, rates).times(kind.calls * task.units) for kind in work.calls), NO_TIME)
    embedded = _tokens(task.units * work.embedded_characters, _UNMEASURED_CHARACTERS)
    amounts = _Amounts(calls, read, written, embedded)
    if work.calls and not per_token:
        notes.append(f"{characters.low:g} to {characters.high:g} characters per token are assumed")
    if any(round(kind.output_tokens_most) not in rates.reply_tokens for kind in work.calls):
        notes.append(f"replies are assumed to have {100 * _SHORTEST_REPLY:.0f} to 100 % of their maximum length")
    amounts = amounts.times(_LEAST_OF_MOST, 1.0) if task.is_most else amounts
    return _phase(task, amounts, seconds, "prompt templates", notes)


def _tokens(characters: float, per_token: Range) -> Range:
    return Range(low=characters / per_token.high, high=characters / per_token.low)


def _reply(kind: ExpectedCalls, rates: Rates) -> Range:
    measured = rates.reply_tokens.get(round(kind.output_tokens_most))
    if measured is not None:
        return Range(low=measured, high=measured).times(*_SAME)
    return Range(low=kind.output_tokens_most * _SHORTEST_REPLY, high=kind.output_tokens_most)


def _phase(
    task: Task,
    amounts: _Amounts,
    seconds: Range | None,
    basis: str,
    notes: Iterable[str],
    cached_share: float = 0.0,
) -> PhaseEstimate:
    """`seconds`: those of earlier runs. `cached_share`: of the prompt tokens, from a server's prompt cache."""
    embedded = amounts.embedded.times(task.to_embed.low, task.to_embed.high)
    embedded = embedded if task.embedder_is_metered else NO_TIME
    amounts = _Amounts(amounts.calls, amounts.read, amounts.written, embedded)
    cheapest = task.price(_usage(amounts, "low", cached_share))
    dearest = task.price(_usage(amounts, "high", 0.0))
    unpriced = ["dollars: the price table has no price for this model"] if dearest is None else []
    seconds = seconds or _model_seconds(task, amounts)
    if seconds is not None:
        least = _least_seconds(task.rates, amounts)
        seconds = Range(low=max(seconds.low, least.low), high=max(seconds.high, least.high))
    return PhaseEstimate(
        calls=amounts.calls,
        input_tokens=amounts.read,
        output_tokens=amounts.written,
        embedder_tokens=amounts.embedded,
        usd=None if cheapest is None or dearest is None else Range(low=cheapest, high=dearest),
        seconds=seconds,
        basis=basis,
        notes=(*notes, *unpriced),
    )


def _usage(amounts: _Amounts, bound: str, cached_share: float) -> dict[str, Usage]:
    read, written, embedded = (
        round(getattr(one, bound)) for one in (amounts.read, amounts.written, amounts.embedded)
    )
    asked = Usage(
        calls=round(amounts.calls),
        input_tokens=read,
        output_tokens=written,
        cached_tokens=round(read * cached_share),
    )
    used = {GENERATOR: asked, EMBEDDER: Usage(input_tokens=embedded)}
    return {role: usage for role, usage in used.items() if usage.is_used}


def _model_seconds(task: Task, amounts: _Amounts) -> Range | None:
    """Seconds of model calls and of embedding, from the speed of the models; None if one of them is unknown."""
    rates, work, seconds = task.rates, task.work or Work(), NO_TIME
    if amounts.calls and rates.prompt_tokens_per_s and rates.completion_tokens_per_s:
        seconds += _tokens_s(amounts.read, rates.prompt_tokens_per_s)
        seconds += _tokens_s(amounts.written, rates.completion_tokens_per_s)
    elif amounts.calls:
        if rates.call_s is None:
            return None
        least = _LEAST_OF_MOST if task.is_most else 1.0
        seconds += rates.call_s.times(amounts.calls * least, amounts.calls)
    texts = task.units * work.embedded_texts
    if texts:
        if rates.passages_per_s is None:
            return None
        length = work.embedded_characters / work.embedded_texts / PASSAGE_CHARACTERS
        # Most encoders cut longer texts, and a short one costs a call of its own.
        passages = texts * min(max(length, 0.1), 1.5)
        seconds += _tokens_s(task.to_embed.times(passages), rates.passages_per_s)
    return seconds


def _tokens_s(tokens: Range, speed: Range) -> Range:
    return Range(low=tokens.low / speed.high, high=tokens.high / speed.low)


def _least_seconds(rates: Rates, amounts: _Amounts) -> Range:
    """Minimum seconds under the limits per minute."""
    requests = Range(low=amounts.calls, high=amounts.calls)
    limits = (
        (requests, rates.requests_per_minute),
        (amounts.read + amounts.written, rates.tokens_per_minute),
        (amounts.embedded, rates.embedder_tokens_per_minute),
    )
    least = [amount.times(60 / limit) for amount, limit in limits if limit] or [NO_TIME]
    return Range(low=max(one.low for one in least), high=max(one.high for one in least))


def measured_range(value: float, *, is_speed: bool) -> Range:
    """The range around a measured speed of a model, or around the seconds of its other calls."""
    return Range(low=value, high=value).times(*(_TIMED if is_speed else _OTHER))


QUANTITIES = ("calls", "input_tokens", "output_tokens", "usd", "seconds")


@dataclass(frozen=True)
class Sum:
    value: Range | None
    """The sum of the known values; None if none is known."""
    is_whole: bool
    """False: some values are unknown, and `value` is a lower bound."""


def phases_left(estimate: Estimate) -> dict[str, PhaseEstimate]:
    """By name, `index` unless it is built or another run builds it, and `answer` for those without a record;
    without judges.
    """
    if not estimate.n_left:
        return {}
    phases = {"answer": _scaled(estimate.answer, estimate.n_left / estimate.n_answers)}
    if estimate.index_is_built or estimate.index_is_shared:
        return phases
    return {"index": _scaled(estimate.index, estimate.index_left), **phases}


def _scaled(phase: PhaseEstimate, share: float) -> PhaseEstimate:
    known = {
        name: value for name in (*QUANTITIES, "embedder_tokens") if (value := getattr(phase, name)) is not None
    }
    return phase.model_copy(
        update={
            name: value.times(share) if isinstance(value, Range) else value * share
            for name, value in known.items()
        }
    )


def totals(phases: Iterable[PhaseEstimate], start: Range = NO_TIME) -> dict[str, Sum]:
    """The sum of each of `QUANTITIES`; 0 without phases. Tokens of the embedder count as input; `start` counts as
    seconds.
    """
    listed, sums = list(phases), dict[str, Sum]()
    for name in QUANTITIES:
        values = [_value(phase, name) for phase in listed]
        known = [value for value in values if value is not None]
        whole = reduce(add, known, start if name == "seconds" else NO_TIME)
        sums[name] = Sum(whole if known or not values else None, len(known) == len(values))
    return sums


def _value(phase: PhaseEstimate, name: str) -> Range | None:
    value: Range | float | None = getattr(phase, name)
    if name == "input_tokens" and isinstance(value, Range):
        return value + (phase.embedder_tokens or NO_TIME)
    return Range(low=value, high=value) if isinstance(value, float | int) else value
