"""Estimates a phase from a system's expectation and earlier measurements.

tokens = expected prompts and replies at the model's rates, times actual / expected of earlier runs; seconds =
those tokens at the model's speed, plus the time of earlier runs outside of calls.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.core.records import PhaseEstimate, Usage, Work
from harness.statistics.estimates.measured_cost import EMBEDDER, GENERATOR, MeasuredCost
from harness.statistics.estimates.rates import CHARACTERS_PER_TOKEN, Rates
from harness.statistics.estimates.timing import UNLIMITED, Allowed, SecondsFit, least_squares

PriceUsage = Callable[[Mapping[str, Usage]], float | None]
"""Usage by role -> USD; None: no price."""
_EXTRAPOLATION_FACTOR = 10
"""Ratio of the number of texts to the largest timed index from which on the estimate says that it extrapolates."""
_MATTERS = 0.1
"""Minimum share of a phase's seconds for a note on how they were extrapolated."""
SAME_PARAMETERS = 2


@dataclass(frozen=True)
class Earlier:
    """One phase of an earlier run of the same system with the same generator."""

    spent: MeasuredCost
    work: Work | None
    """The formula's result for one unit; None if it has none, or its corpus no longer exists."""
    size: float = 0.0
    """The size with which its seconds outside of calls grew; as `Task.size`."""
    closeness: int = 0
    """`SAME_PARAMETERS`, plus 1 for the same data set. Only the closest runs count."""


@dataclass(frozen=True)
class Amounts:
    """Usage of the generator and the embedder."""

    calls: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cached_tokens: float = 0.0
    embedder_tokens: float = 0.0

    def usage(self) -> dict[str, Usage]:
        """By role, rounded."""
        asked = Usage(
            calls=round(self.calls),
            input_tokens=round(self.input_tokens),
            output_tokens=round(self.output_tokens),
            cached_tokens=round(self.cached_tokens),
        )
        embedded = Usage(input_tokens=round(self.embedder_tokens))
        return {role: used for role, used in ((GENERATOR, asked), (EMBEDDER, embedded)) if used.is_used}


@dataclass(frozen=True)
class Task:
    """The phase to estimate: a number of units."""

    units: int
    work: Work | None
    """The work of one unit, without generator calls if the run has no generator."""
    rates: Rates
    earlier: Sequence[Earlier]
    price: PriceUsage
    embedder_is_metered: bool
    generator: Allowed = UNLIMITED
    embedder: Allowed = UNLIMITED
    size: float = 0.0
    """Quantity to which seconds outside of calls (embedding, searching, storing) are proportional: texts of an
    index, or answers."""
    timed: Sequence[tuple[float, float]] = ()
    """(size, seconds outside of calls) of similar earlier phases."""
    assumed: tuple[str, ...] = ()
    """Assumptions of the formula, mentioned unless it is corrected."""


def predict(task: Task) -> PhaseEstimate:
    """The estimate of one phase; all unknown without a formula and without earlier runs."""
    earlier = _closest([one for one in task.earlier if one.spent.is_metered])
    if task.work is None:
        return _from_earlier(task, earlier) if earlier or not task.earlier else _timed(task)
    amounts, n_runs = _corrected(task, expected_amounts(task.work, task.units, task.rates), earlier)
    if n_runs:
        basis = f"formula, corrected by {n_runs} {'run' if n_runs == 1 else 'runs'}"
    else:
        basis = "formula, at the model's measured rates" if _is_measured(task) else "formula"
    notes = _assumptions(task, corrected=bool(n_runs))
    if n_runs and earlier[0].closeness < SAME_PARAMETERS:
        notes.append("the runs that correct the formula had other parameters")
    return _estimate(task, amounts, earlier, (basis, *notes))


def expected_amounts(work: Work, units: float, rates: Rates) -> Amounts:
    """The formula's result for `units` at these rates."""
    calls = input_tokens = output_tokens = cached = 0.0
    for kind in work.calls:
        replies, n_calls = rates.replies_of(kind), kind.calls * units
        read = n_calls * kind.input_characters / rates.characters_per_token
        calls += n_calls
        input_tokens += read
        output_tokens += n_calls * replies.output_tokens
        cached += read * replies.cached_share
    embedded = units * work.embedded_characters / CHARACTERS_PER_TOKEN
    return Amounts(calls, input_tokens, output_tokens, cached, embedded)


def _corrected(task: Task, amounts: Amounts, earlier: Sequence[Earlier]) -> tuple[Amounts, int]:
    """`amounts` times actual / expected of the earlier runs, and the number of these runs."""
    known = [(one.spent, one.work) for one in earlier if one.work and one.spent.units]
    if not known:
        return amounts, 0
    expected = [expected_amounts(work, spent.units, task.rates) for spent, work in known]
    actual = [_amounts(spent) for spent, _ in known]

    def ratio(name: str) -> float:
        before = sum(getattr(one, name) for one in expected)
        return float(sum(getattr(one, name) for one in actual) / before) if before else 1.0

    corrected = {name: getattr(amounts, name) * ratio(name) for name in Amounts.__dataclass_fields__}
    return Amounts(**corrected), len(known)


def _from_earlier(task: Task, earlier: Sequence[Earlier]) -> PhaseEstimate:
    """The cost per unit of earlier runs, for a system without expectations."""
    units = sum(one.spent.units for one in earlier)
    if not units:
        return PhaseEstimate(notes=("this system has no cost formula, and there is no earlier run of it",))
    spent = [_amounts(one.spent) for one in earlier]
    means = {
        name: sum(getattr(one, name) for one in spent) * task.units / units
        for name in Amounts.__dataclass_fields__
    }
    basis = f"{len(earlier)} earlier {'run' if len(earlier) == 1 else 'runs'}"
    return _estimate(task, Amounts(**means), earlier, (basis,))


def _timed(task: Task) -> PhaseEstimate:
    """Only the time, if the model usage of earlier runs was not metered."""
    timed = [one.spent for one in _closest(task.earlier) if one.spent.seconds is not None and one.spent.units]
    units = sum(spent.units for spent in timed)
    return PhaseEstimate(
        seconds=sum(spent.seconds or 0.0 for spent in timed) * task.units / units if units else None,
        basis=f"{len(timed)} earlier {'run' if len(timed) == 1 else 'runs'}" if timed else "unknown",
        notes=("the models that its earlier runs called were not metered",),
    )


def _amounts(spent: MeasuredCost) -> Amounts:
    asked, embedded = spent.generator, spent.usage.get(EMBEDDER, Usage())
    tokens = (asked.input_tokens, asked.output_tokens, asked.cached_tokens)
    return Amounts(asked.calls, *tokens, embedded.input_tokens)


def _closest(earlier: Sequence[Earlier]) -> list[Earlier]:
    best = max((one.closeness for one in earlier), default=0)
    return [one for one in earlier if one.closeness == best]


def _estimate(task: Task, amounts: Amounts, earlier: Sequence[Earlier], said: Sequence[str]) -> PhaseEstimate:
    """`said`: the basis, then notes."""
    if not task.embedder_is_metered:
        amounts = Amounts(amounts.calls, amounts.input_tokens, amounts.output_tokens, amounts.cached_tokens)
    usage = amounts.usage()
    usd = task.price(usage)
    seconds, about_seconds = _seconds(task, amounts, earlier)
    unpriced = ["dollars: the price table has no price for this model"] if usd is None else []
    return PhaseEstimate(
        calls=amounts.calls,
        input_tokens=amounts.input_tokens,
        output_tokens=amounts.output_tokens,
        cached_tokens=amounts.cached_tokens,
        embedder_tokens=amounts.embedder_tokens,
        usd=usd,
        seconds=seconds,
        basis=said[0],
        notes=(*said[1:], *about_seconds, *unpriced),
    )


def _seconds(task: Task, amounts: Amounts, earlier: Sequence[Earlier]) -> tuple[float | None, list[str]]:
    speed, other = task.rates.seconds, _other_seconds(task.timed, task.size)
    asking, least_s = 0.0, _least_seconds(task, amounts)
    if (amounts.calls and speed is None) or (not amounts.calls and other is None):
        said = f"at least {least_s / 60:,.1f} min because of the limits of requests and tokens per minute"
        return None, [said] if least_s else []
    if amounts.calls and speed is not None:
        asking = max(_asking(speed, amounts) * _pace(task, speed, earlier), _generator_s(task, amounts))
    if other is None:
        return max(asking, least_s), ["seconds are those of model calls only: no other time was measured yet"]
    total = max(asking + other, least_s)
    return total, _extrapolation_note(task, other / total) if total else []


def _least_seconds(task: Task, amounts: Amounts) -> float:
    """Minimum seconds under the rate limits of both models."""
    return max(_generator_s(task, amounts), task.embedder.seconds(0.0, amounts.embedder_tokens))


def _generator_s(task: Task, amounts: Amounts) -> float:
    return task.generator.seconds(amounts.calls, amounts.input_tokens + amounts.output_tokens)


def _asking(speed: SecondsFit, amounts: Amounts) -> float:
    fresh = max(amounts.input_tokens - amounts.cached_tokens, 0.0)
    return speed.seconds(amounts.calls, fresh, amounts.output_tokens)


def _pace(task: Task, speed: SecondsFit, earlier: Sequence[Earlier]) -> float:
    """Actual / expected seconds of calls in earlier runs of this system; 1 if none was timed."""
    actual = expected = 0.0
    for one in earlier:
        if one.spent.seconds is not None:
            other = _other_seconds(task.timed, one.size) or 0.0
            actual += max(one.spent.seconds - other, 0.0)
            expected += _asking(speed, _amounts(one.spent))
    return actual / expected if actual and expected else 1.0


def _other_seconds(timed: Sequence[tuple[float, float]], size: float) -> float | None:
    """Seconds outside of calls: proportional to size if one size was timed, a line through several."""
    if not size:
        return 0.0
    timed = [(each, seconds) for each, seconds in timed if each > 0]
    if not timed:
        return None
    sizes = [each for each, _ in timed]
    if max(sizes) >= 2 * min(sizes):
        fixed, growing = least_squares([[1.0, each] for each in sizes], [seconds for _, seconds in timed])
        return fixed + growing * size
    return size * sum(seconds for _, seconds in timed) / sum(sizes)


def _extrapolation_note(task: Task, share: float) -> list[str]:
    """A note if seconds outside of calls matter and nothing of this size was timed."""
    largest = max((each for each, _ in task.timed), default=0.0)
    if share < _MATTERS or not largest or task.size <= _EXTRAPOLATION_FACTOR * largest:
        return []
    return [f"seconds outside of calls are scaled up from {largest:,.0f} to {task.size:,.0f}: probably too high"]


def _is_measured(task: Task) -> bool:
    return bool(task.rates.n_calls and task.work and task.work.calls)


def _assumptions(task: Task, *, corrected: bool) -> list[str]:
    kinds = task.work.calls if task.work else ()
    if not kinds:
        return []
    notes = [] if corrected else list(task.assumed)
    if not task.rates.n_calls:
        notes.append(f"{CHARACTERS_PER_TOKEN:g} characters per token are assumed")
    if not corrected and not all(task.rates.knows(kind) for kind in kinds):
        notes.append("replies without an earlier measurement are assumed to have their maximum length")
    return notes
