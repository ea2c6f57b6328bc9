"""The remaining cost of estimates, and their sums."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.core.records import Estimate, PhaseEstimate

QUANTITIES = ("calls", "input_tokens", "output_tokens", "usd", "seconds")


@dataclass(frozen=True)
class Sum:
    """The sum of one quantity over several phases."""

    value: float | None
    """The sum of the known values; None if none is known."""
    is_whole: bool
    """False: some values are unknown, and `value` is a lower bound."""


def phases_left(estimate: Estimate) -> list[PhaseEstimate]:
    """The index unless it is built, and the answers without a record; without judges."""
    return list(named_phases_left(estimate).values())


def named_phases_left(estimate: Estimate) -> dict[str, PhaseEstimate]:
    """`phases_left` by name: `index`, `answer`."""
    if not estimate.n_left:
        return {}
    index = {} if estimate.index_is_built else {"index": estimate.index}
    return {**index, "answer": scaled(estimate.answer, estimate.n_left / estimate.n_answers)}


def scaled(phase: PhaseEstimate, share: float) -> PhaseEstimate:
    """That share of a phase."""
    quantities = (*QUANTITIES, "cached_tokens", "embedder_tokens")
    values = {name: getattr(phase, name) for name in quantities}
    known = {name: value * share for name, value in values.items() if value is not None}
    return phase.model_copy(update=known)


def totals(phases: Iterable[PhaseEstimate]) -> dict[str, Sum]:
    """The sum of each of `QUANTITIES`; 0 without phases. Tokens of the embedder count as input."""
    listed = list(phases)
    return {name: _sum([_value(phase, name) for phase in listed]) for name in QUANTITIES}


def bases(phases: Iterable[PhaseEstimate]) -> list[str]:
    """The distinct bases of these estimates; phases without model calls count only if all are such."""
    listed = list(phases)
    asking = [phase for phase in listed if phase.calls != 0 or phase.embedder_tokens]
    return list(dict.fromkeys(phase.basis for phase in asking or listed))


def _value(phase: PhaseEstimate, name: str) -> float | None:
    value: float | None = getattr(phase, name)
    if name == "input_tokens" and value is not None:
        return value + (phase.embedder_tokens or 0.0)
    return value


def _sum(values: list[float | None]) -> Sum:
    known = [value for value in values if value is not None]
    return Sum(sum(known) if known or not values else None, len(known) == len(values))
