"""Estimates as text: in one line, in the columns of a table, and as the number of answers that a budget allows."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, sqrt

from harness.config import BudgetConfig
from harness.core.records import Estimate, Range
from harness.display.text_format import counted, duration, short_number
from harness.statistics.estimate import NO_TIME, Sum, phases_left, totals

_WIDEST = 3
"""From this ratio on, a range of answers is shown by its geometric middle: `1 to 20 of 20` says nothing."""


def in_one_line(estimates: Sequence[Estimate]) -> str:
    """`3-12 min, 410,000-480,000 tokens, $0.00; from 4 earlier runs`; only the time if no model is called."""
    phases = [phase for estimate in estimates for phase in phases_left(estimate).values()]
    summed = totals(phases, start_of(estimates))
    tokens, minutes = tokens_of(summed), minutes_text(summed["seconds"]) or "an unknown time"
    asking = [
        one for one in phases if one.calls != 0 or one.embedder_tokens is None or one.embedder_tokens.high > 0
    ]
    if not asking:
        return minutes
    usd = usd_text(summed["usd"])
    words = [minutes, f"{tokens} tokens" if tokens else "unknown tokens", f"${usd}" if usd else "unknown dollars"]
    return f"{', '.join(words)}; from {' and '.join(dict.fromkeys(phase.basis for phase in asking))}"


def time_left(planned: Sequence[tuple[BudgetConfig, Sequence[Estimate]]]) -> Sum:
    """Of all runs of some configs, none longer than its budget allows."""
    value, is_whole = NO_TIME, True
    for budget, estimates in planned:
        phases = [phase for estimate in estimates for phase in phases_left(estimate).values()]
        found = totals(phases, start_of(estimates))["seconds"]
        most = inf if budget.minutes is None else 60 * budget.minutes
        own = found.value or NO_TIME
        value += Range(low=min(own.low, most), high=min(own.high, most))
        is_whole = is_whole and (found.is_whole or most < inf)
    return Sum(value, is_whole)


def downloads_text(weights: Mapping[str, int]) -> str:
    """`local/qwen2.5-coder-1.5b (1,117 MB)`."""
    return ", ".join(f"{name} ({size / 1e6:,.0f} MB)" for name, size in weights.items())


def start_of(estimates: Iterable[Estimate]) -> Range:
    return sum((estimate.start for estimate in estimates if estimate.n_left), NO_TIME)


def minutes_text(seconds: Sum) -> str:
    """`3-5 min`, `2 h 10 min - 3 h`; `at least 3 min` if a part is unknown, empty if all are."""
    if seconds.value is None:
        return ""
    low, high = duration(seconds.value.low), duration(seconds.value.high)
    if not seconds.is_whole:
        return f"at least {low}"
    if low == high:
        return low
    (least, unit), (most, other) = low.rsplit(" ", 1), high.rsplit(" ", 1)
    return f"{least}-{most} {unit}" if unit == other and " " not in least + most else f"{low} - {high}"


def tokens_of(summed: Mapping[str, Sum]) -> str:
    """Prompt and completion tokens together, in short: `120,000-150,000`, `0.9-1.7 million`."""
    parts = [summed[name] for name in ("input_tokens", "output_tokens")]
    known = [one.value for one in parts if one.value is not None]
    if not known:
        return ""
    total, is_whole = sum(known, NO_TIME), all(one.is_whole for one in parts)
    scale, unit = (1e6, " million") if total.high >= 1e6 else (1, "")
    low, high = (short_number(value / scale) for value in (total.low, total.high))
    return ("" if is_whole else "≥ ") + (low if low == high or not is_whole else f"{low}-{high}") + unit


def usd_text(usd: Sum) -> str:
    """`0.02-0.05`; empty if it is unknown."""
    if usd.value is None:
        return ""
    ends = (usd.value.low, usd.value.high)
    low, high = (f"{value:,.2f}" if value >= 0.1 or not value else f"{value:.1g}" for value in ends)
    return ("" if usd.is_whole else "≥ ") + (low if low == high or not usd.is_whole else f"{low}-{high}")


def budget_text(budget: BudgetConfig) -> str:
    """`10 min or $2`; empty without limits."""
    limits = [] if budget.minutes is None else [duration(60 * budget.minutes)]
    limits += [] if budget.usd is None else [f"${budget.usd:g}"]
    limits += [] if budget.tokens is None else [f"{budget.tokens:,} tokens"]
    return " or ".join(limits)


def likely_answers(budget: BudgetConfig, estimates: Sequence[Estimate]) -> str:
    """The queries that a budget is likely to allow: `3 to 8 of 20 answers per system`; empty if all."""
    n = max((estimate.n_left for estimate in estimates), default=0)
    phases = [phases_left(estimate) for estimate in estimates]
    fixed = totals([one["index"] for one in phases if "index" in one], start_of(estimates))
    answers = totals([one["answer"] for one in phases if "answer" in one])
    limits: list[tuple[float | None, tuple[str, ...]]] = [
        (None if budget.minutes is None else 60 * budget.minutes, ("seconds",)),
        (budget.usd, ("usd",)),
        (budget.tokens, ("input_tokens", "output_tokens")),
    ]
    least = most = float(n)
    for limit, names in limits:
        before, each = (sum((one[name].value or NO_TIME for name in names), NO_TIME) for one in (fixed, answers))
        if limit is not None:
            least = min(least, n * max(0.0, limit - before.high) / each.high if each.high else n)
            most = min(most, n * max(0.0, limit - before.low) / each.low if each.low else n)
    if int(least) >= n:
        return ""
    return f"{_likely(int(least), int(most))} of {counted(n, 'answer')} per system"


def _likely(least: int, most: int) -> str:
    if least == most:
        return f"{least:,}"
    if most <= _WIDEST * least:
        return f"{least:,} to {most:,}"
    return "a few" if most < 2 * _WIDEST else f"roughly {round(sqrt(max(1, least) * most)):,}"
