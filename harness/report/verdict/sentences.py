"""At most three sentences after the headline of a verdict, in plain words, without p values and intervals, which
are in the table and the statistics section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from harness.display import counted, short_number
from harness.report.verdict.headline import (
    CHEAPEST,
    EQUAL,
    OFTEN,
    SETTLED,
    UNSETTLED,
    amount,
    duration,
    failed_in,
    few_beside_baseline,
    hidden_by_failures,
    margin_of,
    name,
    number,
    said_apart,
    scored,
    scored_apart,
    stand_in_of,
)
from harness.report.verdict.types import RIVALS, UNFINISHED, Number, Outcome, Standing, Verdict
from harness.statistics.confidence_intervals import ENOUGH, FEWEST

_CHEAPER = {"usd": "costs {} less", "tokens": "uses {} fewer tokens", "latency_s": "is {} faster"}
_LESS = {"usd": "costs less", "tokens": "uses fewer tokens", "latency_s": "is faster"}
_COSTS: Mapping[str, Callable[[Standing], Number | None]] = {
    "usd": lambda one: one.usd_per_1000,
    "tokens": lambda one: one.tokens,
    "latency_s": lambda one: one.seconds,
}
_CLEARLY_LESS = 0.9
"""A cost below this share of another one is said to be lower."""
_NO_WAIT = 0.1
"""Seconds of a question that nobody chooses a system by."""
_FEW_NAMES = 2
"""So many systems are named in a sentence."""


def sentences(verdict: Verdict) -> tuple[str, ...]:
    """What supports the headline: the size of the difference, the risk, and what would settle it."""
    return tuple(dict.fromkeys(_sentences(verdict)))[:3]


def _sentences(verdict: Verdict) -> Iterator[str]:
    if verdict.outcome == Outcome.NOTHING_RIGHT:
        yield "See the failed questions in the report: the model, the prompt or the reference answers may not fit."
    yield from filter(None, [_model(verdict)])
    if verdict.outcome == Outcome.MODEL_CANNOT_ANSWER or verdict.is_by_evidence:
        stopped = _stopped(verdict) if verdict.n_questions < ENOUGH else ""
        few = verdict.n_questions < ENOUGH and not stopped
        yield from filter(None, [stopped])
        if not verdict.model_limit:
            yield f"{'More questions or a' if few else 'A'} stronger model may show which system answers better."
        if not verdict.is_by_evidence:
            return
    if verdict.recommended is None:
        return
    yield from filter(None, [_failing(verdict)])
    if verdict.outcome == Outcome.ONE_SYSTEM:
        if not verdict.systems("not ranked"):
            yield "Run a second system to compare it with."
        return
    if few_beside_baseline(verdict):
        floor = verdict.standing_of(verdict.lower_baseline)
        yield (
            f"{name(verdict.lower_baseline)} needs no documents and has {scored(verdict, floor)}: more questions "
            "may show whether documents help."
        )
        yield from filter(None, [_difference(verdict)])
        return
    if verdict.outcome == Outcome.NOT_ABOVE_BASELINE:
        yield from _beside_baseline(verdict)
        return
    yield from filter(None, (_score_alike(verdict), _difference(verdict), _risk(verdict) or _costs(verdict)))
    yield from filter(None, [_more(verdict)])


def _beside_baseline(verdict: Verdict) -> Iterator[str]:
    best, floor = verdict.own, verdict.standing_of(verdict.lower_baseline)
    behind = ""
    if best and best.score and floor and floor.score and verdict.leads(floor, best):
        behind = f", {amount(verdict, abs(floor.score.value - best.score.value))} behind"
    yield f"The best system is {name(verdict.recommended or '')} with {scored(verdict, best)}{behind}."
    yield "A stronger model, another retriever or more questions may change that."


def _model(verdict: Verdict) -> str:
    """Advice to change the model before the system; empty if that is not shown."""
    limit = verdict.model_limit
    if limit is None:
        return ""
    return (
        f"The model is the limit: even with the right passages ({name(limit.baseline)}) it has "
        f"{100 * limit.share:.0f} % {limit.title}. Try a better model before a better system."
    )


def _failing(verdict: Verdict) -> str:
    found = [one for one in verdict.standings if one.why != UNFINISHED and (one.failed or 0.0) >= OFTEN]
    if not found:
        return ""
    if stand_in := stand_in_of(verdict):
        other = stand_in[1]
        return (
            f"Until then use {name(other.system)}: it is not shown to be worse and failed in "
            f"{100 * (other.failed or 0.0):.0f} %."
        )
    most = max(found, key=lambda one: one.failed or 0.0)
    again = "ask again and import the answers" if most.is_imported else "run again with --retry-failed"
    if most in hidden_by_failures(verdict):
        which = " and ".join(name(one.system) for one in found) if len(found) <= _FEW_NAMES else "these systems"
        return f"Failed answers count as wrong: fix {which}, then {again}."
    return f"{failed_in(most)}, which count as wrong: fix it, then {again}."


def _difference(verdict: Verdict) -> str:
    """The lead over the next run, or the gap to the best; and a cheaper one. None with missing values."""
    if verdict.outcome == Outcome.INCONCLUSIVE:
        return ""
    own = verdict.own
    rivals = [one for one in verdict.standings if one.status in RIVALS and one.score]
    if own is None or own.score is None or not rivals:
        return ""
    other = rivals[0]
    gap = own.score.value - (other.score.value if other.score else 0.0)
    cheap, better = verdict.cheaper, abs(gap) > EQUAL
    if verdict.outcome == Outcome.TOO_FEW and own.n < FEWEST:
        # The headline says that so few questions show nothing; only a choice between equal runs has a reason.
        cheap = None
        if better:
            return ""
    if better:
        side = "ahead of" if (gap > 0) == verdict.higher_is_better else "behind"
        said = f"{name(own.system)} is {amount(verdict, abs(gap))} {side} {name(other.system)}"
    elif not (said := _what_decided(verdict) or _same_score(verdict, own, other)):
        return ""
    if cheap:
        whom = "which" if cheap.system == other.system and better else name(cheap.system)
        said += f"{',' if whom == 'which' else ';'} {whom} may be as good and "
        said += _CHEAPER[cheap.unit].format(f"{short_number(cheap.ratio)} times")
    elif better and verdict.outcome in UNSETTLED and _costs_least(verdict, own):
        said += f" and {CHEAPEST[verdict.cost]}"
    return f"{said}."


def _costs_least(verdict: Verdict, own: Standing) -> bool:
    """Whether it is by more than measuring errors the cheapest of the leading runs."""
    runs = [own, *(one for one in verdict.leading if one is not own)]
    known = [_COSTS[verdict.cost](one) for one in runs if verdict.cost and not one.why_unpriced]
    costs = [cost for cost in known if cost is not None]
    if len(costs) < len(runs) or costs[0].at_least:
        return False
    return all(costs[0].value < _CLEARLY_LESS * cost.value for cost in costs[1:])


def _score_alike(verdict: Verdict) -> str:
    other, command = scored_apart(verdict), "core all runs with one `rag-harness evaluate`."
    if other is None:
        return ""
    return f"S{command}" if verdict.outcome in SETTLED else f"{said_apart(verdict, other)}: s{command}"


def _what_decided(verdict: Verdict) -> str:
    """Between two runs with the same score. Empty if nothing did, or if the headline says it."""
    tie = verdict.tie_break
    if tie is None or (tie.by in _LESS and verdict.is_ceiling):
        return ""
    both = f"{name(verdict.recommended or '')} and {name(tie.system)}"
    if tie.by in _LESS:
        return f"{both} have the same score; {name(verdict.recommended or '')} {_LESS[tie.by]}"
    own, other = (f"{100 * one:.0f} %" if tie.is_share else short_number(one) for one in (tie.own, tie.other))
    chance = "" if tie.is_shown else ", which may be chance"
    return f"{both} have the same score, so {tie.by} decides: {own} against {other}{chance}"


def _same_score(verdict: Verdict, own: Standing, other: Standing) -> str:
    """Empty if the headline says it and there is nothing to add."""
    unpriced = next((one for one in verdict.leading if one.why_unpriced), None)
    if verdict.is_ceiling or (verdict.outcome == Outcome.LEADING and not verdict.cheaper and not unpriced):
        return ""
    said = f"{name(own.system)} and {name(other.system)} have the same score"
    if unpriced:
        return f"{said}; {name(unpriced.system)} {unpriced.why_unpriced}"
    free = [one for one in (own, other) if one.usd_per_1000 is None]
    return (
        f"{said}; no price is known for {name(free[0].system)}, so costs decide nothing"
        if len(free) == 1
        else said
    )


def _risk(verdict: Verdict) -> str:
    # Of a few questions the probability is near certain or near chance, whatever the truth is.
    if verdict.outcome not in {Outcome.LEADING, Outcome.INCONCLUSIVE} or verdict.is_ceiling:
        return ""
    best, worst = name(verdict.recommended or ""), verdict.at_most_worse
    if worst is not None and verdict.is_share and 100 * worst <= verdict.margin:
        return f"If {best} is not the best, it is hardly more than {amount(verdict, worst)} behind."
    if verdict.outcome == Outcome.INCONCLUSIVE or verdict.probability is None:
        return f"{best} may be as much as {amount(verdict, worst)} behind another system." if worst else ""
    # A limit beyond the margin leaves 2.5 % there.
    sure = min(0.97 if worst else 0.99, verdict.probability)
    return f"The chance that {best} is within {margin_of(verdict)} of the best is {100 * sure:.0f} %."


def _costs(verdict: Verdict) -> str:
    worth = sorted(verdict.leading, key=lambda one: one.status != "recommended")[:2]
    if any(one.why_unpriced for one in worth):
        return ""
    dollars = [(one, one.usd_per_1000) for one in worth if one.usd_per_1000 is not None]
    if len(dollars) == len(worth) and any(cost.value for _, cost in dollars):
        shown = " and ".join(f"{number(cost, '$')} with {name(one.system)}" for one, cost in dollars)
        return f"1,000 questions cost {shown}."
    timed = [(one, one.seconds) for one in worth if one.seconds is not None]
    if all(seconds.value < _NO_WAIT for _, seconds in timed):
        return ""
    shown = " and ".join(f"{number(cost)} s with {name(one.system)}" for one, cost in timed)
    return f"A question takes {shown}." if timed and len(timed) == len(worth) else ""


def _more(verdict: Verdict) -> str:
    if verdict.outcome == Outcome.INCONCLUSIVE:
        whose = max(verdict.standings, key=lambda one: one.n_missing)
        return f"Score the missing values of {name(whose.system)} first."
    if verdict.is_ceiling:
        other = f" (report these runs with -m {verdict.separated_by})" if verdict.separated_by else ""
        return f"Harder questions or another metric{other} may separate them; more like these hardly will."
    more = verdict.more
    if stopped := _stopped(verdict):
        return stopped
    if more is None:
        return ""
    said = f"About {counted(more.queries, 'more question')} may settle it"
    if more.available == 0:
        return f"{said}{': write more' if more.are_own else ', but the data set has no more'}."
    takes = [duration(more.minutes)] if more.minutes else []
    if more.usd and more.usd >= 0.01:
        takes.append(f"${more.usd:,.2f}" if more.usd < 10 else f"${short_number(more.usd)}")
    if takes:
        said += f" ({', '.join(takes)})"
    if more.available is not None and more.available < more.queries:
        said += f"; {'your file' if more.are_own else 'the data set'} has {more.available:,} more"
    return f"{said}."


def _stopped(verdict: Verdict) -> str:
    """What to do where a budget ended the runs. Each command has its minutes anew; dollars add up."""
    if not verdict.n_left or verdict.outcome not in {*UNSETTLED, Outcome.MODEL_CANNOT_ANSWER}:
        return ""
    more = "" if verdict.stopped_by == "minutes" else f" with a larger --set budget.{verdict.stopped_by}=N"
    return (
        f"The budget ended before {counted(verdict.n_left, 'more question was', 'more questions were')} asked: "
        f"repeat the command{more} to ask more of them."
    )
