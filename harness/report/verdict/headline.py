"""What to do, in at most 20 words, and what a verdict says of its runs."""

from __future__ import annotations

from harness.display import counted, short_number
from harness.report.labels import shortened
from harness.report.verdict.types import (
    OPEN,
    RIVALS,
    SCORED_OTHERWISE,
    UNFINISHED,
    Number,
    Outcome,
    Standing,
    Verdict,
)
from harness.statistics.confidence_intervals import ENOUGH, FEWEST

CHEAPEST = {"usd": "costs the least", "tokens": "uses the fewest tokens", "latency_s": "is the fastest"}
EQUAL = 1e-9
_UNITS = {"latency_s": " s", "wall_s": " s", "throttled_s": " s", "usd": " dollars"}
OFTEN = 0.1
"""A run that fails on this share of queries is mentioned first."""
_GUESSES = "even with the right passages, answers are not shown to beat guessing"
SETTLED = {Outcome.CLEAR_WINNER, Outcome.CHEAPER, Outcome.EQUALLY_GOOD}
UNSETTLED = {Outcome.LEADING, Outcome.INCONCLUSIVE, Outcome.TOO_FEW}


def headline(verdict: Verdict) -> str:  # noqa: C901, PLR0911 - a table of outcomes
    """What to do, for outcomes with a ranking."""
    if verdict.recommended is None:
        return (
            "Only baselines were run. Run a system to compare with them."
            if verdict.outcome == Outcome.ONLY_BASELINES
            else f"No system can be chosen: every one has {scored(verdict, verdict.standings[0])}."
        )
    if verdict.outcome in UNSETTLED:
        return _at_the_ceiling(verdict) if verdict.is_ceiling else _unsettled(verdict)
    best, score = name(verdict.recommended), scored(verdict, verdict.own)
    match verdict.outcome:
        case _ if verdict.outcome in SETTLED and (other := scored_apart(verdict)):
            return f"Rescore before choosing: {said_apart(verdict, other)}; of the others, {best} leads."
        case Outcome.CLEAR_WINNER:
            return _clear_winner(verdict)
        case Outcome.CHEAPER:
            cheap = "faster" if verdict.cost == "latency_s" else "cheaper"
            return f"Use {best} ({score}): as good as the best within {margin_of(verdict)}, and {cheap}."
        case Outcome.EQUALLY_GOOD:
            return f"Use {best} ({score}): the leading systems are equally good within {margin_of(verdict)}."
        case Outcome.NOT_ABOVE_BASELINE:
            return _not_above_baseline(verdict)
        case Outcome.MODEL_CANNOT_ANSWER if verdict.is_by_evidence:
            return f"By {verdict.metric_title}, {advice(verdict)}: {_GUESSES}."
        case Outcome.MODEL_CANNOT_ANSWER:
            return f"Use {best} for now, although {_GUESSES}."
        case _ if verdict.systems("not ranked"):
            return f"{best}: {score}. The other systems cannot be compared with it: see the notes."
        case _:
            return f"{best}: {score}."


def _clear_winner(verdict: Verdict) -> str:
    best, score = name(verdict.recommended or ""), scored(verdict, verdict.own)
    if hidden := hidden_by_failures(verdict):
        return f"Use {best} for now ({score}): {failed_in(hidden[0])}."
    rivals = verdict.systems(*RIVALS)
    is_left = any(one.status == "not ranked" and one.why != UNFINISHED for one in verdict.standings)
    others = name(rivals[0]) if len(rivals) == 1 else f"every other {'ranked ' if is_left else ''}system"
    return f"Use {best} ({score}): it is significantly better than {others}."


def _repair(verdict: Verdict) -> str:
    """That the leading run fails too often to be used; empty if no other one stands in for it."""
    if not (stand_in := stand_in_of(verdict)):
        return ""
    own, share = stand_in[0], 100 * (stand_in[0].failed or 0.0)
    why = f"it leads ({scored(verdict, own)}), but failed in {share:.0f} % of its answers"
    return f"Repair {name(own.system)} before you use it: {why}."


def _not_above_baseline(verdict: Verdict) -> str:
    lower = name(verdict.lower_baseline)
    if few_beside_baseline(verdict):
        best, n = name(verdict.recommended or ""), counted(verdict.n_questions, "question")
        score = scored(verdict, verdict.own)
        return _repair(verdict) or f"Use {best} for now ({score}): {n} cannot show that it is better than {lower}."
    floor = verdict.standing_of(verdict.lower_baseline)
    shown = f" ({scored(verdict, floor)})" if floor and floor.score else ""
    advised = "No" if verdict.leads(verdict.own, floor) else "Use none yet: no"
    return f"{advised} system is shown to beat {lower}{shown}, which needs no documents."


def _unsettled(verdict: Verdict) -> str:
    if said := _repair(verdict):
        return said
    best, own = name(verdict.recommended or ""), verdict.own
    score = scored(verdict, own)
    if verdict.outcome == Outcome.INCONCLUSIVE:
        most = max(verdict.standings, key=lambda one: one.n_missing)
        missing = f"{most.n_missing:,} of {counted(most.n, 'query', 'queries')}"
        return f"Use {best} for now. Inconclusive: {name(most.system)} has no value for {missing}."
    if verdict.outcome == Outcome.TOO_FEW:
        n = own.n if own else verdict.n_questions
        if n < FEWEST:
            return f"Use {best} for now ({score}): {counted(n, 'question')} cannot show which system is better."
        return f"Use {best} for now ({score}): {counted(n, 'question is', 'questions are')} too few to be sure."
    if rival := _equal_rival(verdict):
        return f"Use {best} for now ({score}): {name(rival)} has the same score."
    return f"Use {best} for now: it leads with {score}, but that may be chance."


def _at_the_ceiling(verdict: Verdict) -> str:
    best, score = name(verdict.recommended or ""), scored(verdict, verdict.own)
    tie = verdict.tie_break
    said = f"Use {best}: all {len(verdict.leading)} leading systems have {score} over {n_compared(verdict)}"
    if tie and tie.by not in CHEAPEST:
        return f"{said}, and it leads in {tie.by}."
    if verdict.cost:
        return f"{said}, and it {CHEAPEST[verdict.cost]}."
    return f"{said}." if tie else f"{said}, so the simplest will do."


def failed_in(one: Standing) -> str:
    return f"{name(one.system)} failed in {100 * (one.failed or 0.0):.0f} % of its answers"


def hidden_by_failures(verdict: Verdict) -> list[Standing]:
    """Runs beaten by a clear winner that often failed, and might lead if every failed answer had been right."""
    own = verdict.own
    if verdict.outcome != Outcome.CLEAR_WINNER or own is None or own.score is None or not verdict.is_share:
        return []
    found = [
        one
        for one in verdict.standings
        if one.status in RIVALS and one.score and (one.failed or 0.0) >= OFTEN
        if one.score.value + (one.failed or 0.0) >= own.score.value
    ]
    return sorted(found, key=lambda one: -(one.failed or 0.0))


def few_beside_baseline(verdict: Verdict) -> bool:
    """Whether the recommended run is better than the lower baseline, and the questions are too few to show it."""
    own, floor = verdict.own, verdict.standing_of(verdict.lower_baseline)
    is_few = verdict.outcome == Outcome.NOT_ABOVE_BASELINE and verdict.n_questions < ENOUGH
    return is_few and verdict.leads(own, floor)


def stand_in_of(verdict: Verdict) -> tuple[Standing, Standing] | None:
    """The recommended run, if it often fails, and one that does not and is not shown to be worse."""
    own = verdict.own
    is_open = verdict.outcome in UNSETTLED or few_beside_baseline(verdict)
    if not is_open or own is None or (own.failed or 0.0) < OFTEN:
        return None
    tied = [one for one in verdict.standings if one.status in OPEN and (one.failed or 0.0) < OFTEN]
    return (own, tied[0]) if tied else None


def scored_apart(verdict: Verdict) -> Standing | None:
    """The first run with a better score by another judge, version or parameters."""
    own = verdict.own
    apart = (one for one in verdict.standings if one.why == SCORED_OTHERWISE)
    return next((one for one in apart if verdict.leads(one, own)), None)


def said_apart(verdict: Verdict, other: Standing) -> str:
    return f"{name(other.system)} ({scored(verdict, other)}) was {SCORED_OTHERWISE}"


def _equal_rival(verdict: Verdict) -> str:
    """Another run with the same score as the recommended one; empty if there is none."""
    own, rivals = verdict.own, [one for one in verdict.standings if one.status in {"as good", *OPEN}]
    if own is None or own.score is None or not rivals or rivals[0].score is None:
        return ""
    return rivals[0].system if abs(own.score.value - rivals[0].score.value) <= EQUAL else ""


def advice(verdict: Verdict) -> str:
    """`use kg for now`; empty if there is nothing to advise."""
    is_few = few_beside_baseline(verdict)
    unadvised = {Outcome.NOT_ABOVE_BASELINE, Outcome.ONE_SYSTEM}
    if verdict.recommended is None or (verdict.outcome in unadvised and not is_few):
        return ""
    if verdict.outcome in SETTLED and scored_apart(verdict):
        return ""
    stand_in = stand_in_of(verdict)
    best = name(stand_in[1].system if stand_in else verdict.recommended)
    is_settled = bool(verdict.systems(*RIVALS)) and not verdict.systems(*OPEN) and verdict.is_by_evidence
    for_now = (
        is_few
        or verdict.outcome in UNSETTLED
        or bool(hidden_by_failures(verdict))
        or (verdict.outcome == Outcome.MODEL_CANNOT_ANSWER and not is_settled)
    )
    return f"use {best}{' for now' if for_now else ''}"


def n_compared(verdict: Verdict) -> str:
    own = verdict.own
    return counted(own.n if own else verdict.n_questions, "question")


def size_of(verdict: Verdict) -> str:
    """`26 queries, 3 of them unanswerable and not ranked`, `12 queries; evidence found applies to 7 of them`."""
    said, left = counted(verdict.n_queries, "query", "queries"), verdict.n_unanswerable
    own = verdict.own
    if own and own.n < verdict.n_questions - left:
        return f"{said}; {verdict.metric_title} applies to {own.n:,} of them"
    return f"{said}, {left:,} of them unanswerable and not ranked" if left else said


def name(label: str) -> str:
    return shortened(label, 40)


def scored(verdict: Verdict, standing: Standing | None) -> str:
    """`62 % answers right`, `token F1 0.53`."""
    if standing is None or standing.score is None:
        return f"no {verdict.metric_title}"
    if verdict.is_share:
        return f"{100 * standing.score.value:.0f} % {verdict.metric_title}"
    return f"{verdict.metric_title} {short_number(standing.score.value)}{_UNITS.get(verdict.metric, '')}"


def margin_of(verdict: Verdict) -> str:
    return f"{verdict.margin:g} points" if verdict.margin != 1 else "1 point"


def amount(verdict: Verdict, difference: float) -> str:
    """`7 points`, `0.4 points`; `0.053` of a metric that is not shown in per cent."""
    if not verdict.is_share:
        return f"{short_number(difference)}{_UNITS.get(verdict.metric, '')}"
    points = 100 * difference
    shown = short_number(points) if points >= 1 else f"{max(0.1, points):.1f}"
    return f"{shown} point{'' if shown == '1' else 's'}"


def number(cost: Number, unit: str = "") -> str:
    """`≥ 3.1`, `$4.1`."""
    return f"{'≥ ' if cost.at_least else ''}{unit}{short_number(cost.value)}"


def duration(minutes: float) -> str:
    """`about 35 minutes`, `about 3 hours`."""
    if minutes < 1:
        return "less than a minute"
    return f"about {counted(round(minutes), 'minute') if minutes < 120 else f'{short_number(minutes / 60)} hours'}"
