"""A verdict in plain words: a headline of at most 20 words and at most three sentences, without p values and
intervals, which are in the table and the statistics section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

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

_CHEAPER = {"usd": "costs {} less", "tokens": "uses {} fewer tokens", "latency_s": "is {} faster"}
_CHEAPEST = {"usd": "costs the least", "tokens": "uses the fewest tokens", "latency_s": "is the fastest"}
_LESS = {"usd": "costs less", "tokens": "uses fewer tokens", "latency_s": "is faster"}
_COSTS: Mapping[str, Callable[[Standing], Number | None]] = {
    "usd": lambda one: one.usd_per_1000,
    "tokens": lambda one: one.tokens,
    "latency_s": lambda one: one.seconds,
}
_EQUAL = 1e-9
_UNITS = {"latency_s": " s", "wall_s": " s", "throttled_s": " s", "usd": " dollars"}
_OFTEN = 0.1
"""A run that fails on this share of queries is mentioned first."""
_CLEARLY_LESS = 0.9
"""A cost below this share of another one is said to be lower."""
_NO_WAIT = 0.1
"""Seconds of a question that nobody chooses a system by."""
_FEW_NAMES = 2
_GUESSES = "even with the right passages, answers are not shown to beat guessing"
_SETTLED = {Outcome.CLEAR_WINNER, Outcome.CHEAPER, Outcome.EQUALLY_GOOD}
_UNSETTLED = {Outcome.LEADING, Outcome.INCONCLUSIVE, Outcome.TOO_FEW}


def headline(verdict: Verdict) -> str:  # noqa: C901, PLR0911 - a table of outcomes
    """What to do, for outcomes with a ranking."""
    if verdict.recommended is None:
        return (
            "Only baselines were run. Run a system to compare with them."
            if verdict.outcome == Outcome.ONLY_BASELINES
            else f"No system can be chosen: every one has {scored(verdict, verdict.standings[0])}."
        )
    if verdict.outcome in _UNSETTLED:
        return _at_the_ceiling(verdict) if verdict.is_ceiling else _unsettled(verdict)
    best, score = name(verdict.recommended), scored(verdict, _recommended(verdict))
    match verdict.outcome:
        case _ if verdict.outcome in _SETTLED and (other := _scored_apart(verdict)):
            aside = f"{name(other.system)} ({scored(verdict, other)})"
            return f"Use {best} for now ({score}): {aside} was {SCORED_OTHERWISE}."
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
    best, score = name(verdict.recommended or ""), scored(verdict, _recommended(verdict))
    if hidden := _hidden_by_failures(verdict):
        return f"Use {best} for now ({score}): {_failed_in(hidden[0])}."
    rivals = verdict.systems(*RIVALS)
    is_left = any(one.status == "not ranked" and one.why != UNFINISHED for one in verdict.standings)
    others = name(rivals[0]) if len(rivals) == 1 else f"every other {'ranked ' if is_left else ''}system"
    return f"Use {best} ({score}): it is significantly better than {others}."


def _repair(verdict: Verdict) -> str:
    """That the leading run fails too often to be used; empty if no other one stands in for it."""
    if not (stand_in := stand_in_of(verdict)):
        return ""
    own, share = stand_in[0], 100 * (stand_in[0].failed or 0.0)
    leads = f"it leads ({scored(verdict, own)}), but failed in {share:.0f} % of its answers"
    return f"Repair {name(own.system)} before you use it: {leads}."


def _not_above_baseline(verdict: Verdict) -> str:
    lower = name(verdict.lower_baseline)
    if few_beside_baseline(verdict):
        best, n = name(verdict.recommended or ""), counted(verdict.n_questions, "question")
        score = scored(verdict, _recommended(verdict))
        return _repair(verdict) or f"Use {best} for now ({score}): {n} cannot show that it is better than {lower}."
    floor = _standing_of(verdict, verdict.lower_baseline)
    shown = f" ({scored(verdict, floor)})" if floor and floor.score else ""
    advised = "No" if _leads(verdict, _recommended(verdict), floor) else "Use none yet: no"
    return f"{advised} system is shown to beat {lower}{shown}, which needs no documents."


def _leads(verdict: Verdict, one: Standing | None, other: Standing | None) -> bool:
    """Whether the first has a better score than the other, which may be chance."""
    gap = one.score.value - other.score.value if one and other and one.score and other.score else 0.0
    return gap != 0 and (gap > 0) == verdict.higher_is_better


def _unsettled(verdict: Verdict) -> str:
    if said := _repair(verdict):
        return said
    best, own = name(verdict.recommended or ""), _recommended(verdict)
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
    best, score = name(verdict.recommended or ""), scored(verdict, _recommended(verdict))
    tie = verdict.tie_break
    said = f"Use {best}: all {len(_leading(verdict))} leading systems have {score} over {n_compared(verdict)}"
    if tie and tie.by not in _CHEAPEST:
        return f"{said}, and it leads in {tie.by}."
    if verdict.cost:
        return f"{said}, and it {_CHEAPEST[verdict.cost]}."
    return f"{said}." if tie else f"{said}, so the simplest will do."


def _leading(verdict: Verdict) -> list[Standing]:
    return [one for one in verdict.standings if one.status in {"recommended", "as good", *OPEN}]


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
        floor = _standing_of(verdict, verdict.lower_baseline)
        yield (
            f"{name(verdict.lower_baseline)} needs no documents and has {scored(verdict, floor)}: more questions "
            "may show whether documents help."
        )
        yield from filter(None, [_difference(verdict)])
        return
    if verdict.outcome == Outcome.NOT_ABOVE_BASELINE:
        yield from _beside_baseline(verdict)
        return
    yield from filter(None, (_difference(verdict), _score_alike(verdict), _risk(verdict) or _costs(verdict)))
    yield from filter(None, [_more(verdict)])


def _beside_baseline(verdict: Verdict) -> Iterator[str]:
    best, floor = _recommended(verdict), _standing_of(verdict, verdict.lower_baseline)
    behind = ""
    if best and best.score and floor and floor.score and _leads(verdict, floor, best):
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
    found = [one for one in verdict.standings if one.why != UNFINISHED and (one.failed or 0.0) >= _OFTEN]
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
    if verdict.outcome == Outcome.CLEAR_WINNER and most in _hidden_by_failures(verdict):
        which = " and ".join(name(one.system) for one in found) if len(found) <= _FEW_NAMES else "these systems"
        return f"Failed answers count as wrong: fix {which}, then {again}."
    return f"{_failed_in(most)}, which count as wrong: fix it, then {again}."


def _failed_in(one: Standing) -> str:
    return f"{name(one.system)} failed in {100 * (one.failed or 0.0):.0f} % of its answers"


def _hidden_by_failures(verdict: Verdict) -> list[Standing]:
    """Runs that often failed and that might lead if every failed answer had been right."""
    own = _recommended(verdict)
    if own is None or own.score is None or not verdict.is_share:
        return []
    found = [
        one
        for one in verdict.standings
        if one.status in RIVALS and one.score and (one.failed or 0.0) >= _OFTEN
        if one.score.value + (one.failed or 0.0) >= own.score.value
    ]
    return sorted(found, key=lambda one: -(one.failed or 0.0))


def few_beside_baseline(verdict: Verdict) -> bool:
    """Whether the recommended run is better than the lower baseline, and the questions are too few to show it."""
    own, floor = _recommended(verdict), _standing_of(verdict, verdict.lower_baseline)
    is_few = verdict.outcome == Outcome.NOT_ABOVE_BASELINE and verdict.n_questions < ENOUGH
    return is_few and _leads(verdict, own, floor)


def stand_in_of(verdict: Verdict) -> tuple[Standing, Standing] | None:
    """The recommended run, if it often fails, and one that does not and is not shown to be worse."""
    own = _recommended(verdict)
    is_open = verdict.outcome in _UNSETTLED or few_beside_baseline(verdict)
    if not is_open or own is None or (own.failed or 0.0) < _OFTEN:
        return None
    tied = [one for one in verdict.standings if one.status in OPEN and (one.failed or 0.0) < _OFTEN]
    return (own, tied[0]) if tied else None


def _difference(verdict: Verdict) -> str:
    """The lead over the next run, or the gap to the best; and a cheaper one. None with missing values."""
    if verdict.outcome == Outcome.INCONCLUSIVE:
        return ""
    own = _recommended(verdict)
    rivals = [one for one in verdict.standings if one.status in RIVALS and one.score]
    if own is None or own.score is None or not rivals:
        return ""
    other = rivals[0]
    gap = own.score.value - (other.score.value if other.score else 0.0)
    cheap, better = verdict.cheaper, abs(gap) > _EQUAL
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
    elif better and verdict.outcome in _UNSETTLED and _costs_least(verdict, own):
        said += f" and {_CHEAPEST[verdict.cost]}"
    return f"{said}."


def _costs_least(verdict: Verdict, own: Standing) -> bool:
    """Whether it is by more than measuring errors the cheapest of the leading runs."""
    leading = [own, *(one for one in _leading(verdict) if one is not own)]
    known = [_COSTS[verdict.cost](one) for one in leading if verdict.cost and not one.why_unpriced]
    costs = [cost for cost in known if cost is not None]
    if len(costs) < len(leading) or costs[0].at_least:
        return False
    return all(costs[0].value < _CLEARLY_LESS * cost.value for cost in costs[1:])


def _score_alike(verdict: Verdict) -> str:
    again = "score all runs with one `rag-harness evaluate`"
    return f"To compare them, {again}." if _scored_apart(verdict) else ""


def _scored_apart(verdict: Verdict) -> Standing | None:
    """The first run with a better score by another judge, version or parameters."""
    own = _recommended(verdict)
    apart = (one for one in verdict.standings if one.why == SCORED_OTHERWISE)
    return next((one for one in apart if _leads(verdict, one, own)), None)


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
    unpriced = next((one for one in _leading(verdict) if one.why_unpriced), None)
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
    worth = sorted(_leading(verdict), key=lambda one: one.status != "recommended")[:2]
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
    if not verdict.n_left or verdict.outcome not in {*_UNSETTLED, Outcome.MODEL_CANNOT_ANSWER}:
        return ""
    more = "" if verdict.stopped_by == "minutes" else f" with a larger --set budget.{verdict.stopped_by}=N"
    return (
        f"The budget ended before {counted(verdict.n_left, 'more question was', 'more questions were')} asked: "
        f"repeat the command{more} to ask more of them."
    )


def _equal_rival(verdict: Verdict) -> str:
    """Another run with the same score as the recommended one; empty if there is none."""
    own, rivals = _recommended(verdict), [one for one in verdict.standings if one.status in {"as good", *OPEN}]
    if own is None or own.score is None or not rivals or rivals[0].score is None:
        return ""
    return rivals[0].system if abs(own.score.value - rivals[0].score.value) <= _EQUAL else ""


def _recommended(verdict: Verdict) -> Standing | None:
    return _standing_of(verdict, verdict.recommended)


def _standing_of(verdict: Verdict, system: str | None) -> Standing | None:
    return next((one for one in verdict.standings if one.system == system), None)


def advice(verdict: Verdict) -> str:
    """`use kg for now`; empty if there is nothing to advise."""
    is_few = few_beside_baseline(verdict)
    unadvised = {Outcome.NOT_ABOVE_BASELINE, Outcome.ONE_SYSTEM}
    if verdict.recommended is None or (verdict.outcome in unadvised and not is_few):
        return ""
    stand_in = stand_in_of(verdict)
    best = name(stand_in[1].system if stand_in else verdict.recommended)
    is_settled = bool(verdict.systems(*RIVALS)) and not verdict.systems(*OPEN) and verdict.is_by_evidence
    for_now = (
        is_few
        or verdict.outcome in _UNSETTLED
        or (verdict.outcome == Outcome.CLEAR_WINNER and bool(_hidden_by_failures(verdict)))
        or (verdict.outcome in _SETTLED and _scored_apart(verdict) is not None)
        or (verdict.outcome == Outcome.MODEL_CANNOT_ANSWER and not is_settled)
    )
    return f"use {best}{' for now' if for_now else ''}"


def n_compared(verdict: Verdict) -> str:
    own = _recommended(verdict)
    return counted(own.n if own else verdict.n_questions, "question")


def size_of(verdict: Verdict) -> str:
    """`26 queries, 3 of them unanswerable and not ranked`, `12 queries; evidence found applies to 7 of them`."""
    said, left = counted(verdict.n_queries, "query", "queries"), verdict.n_unanswerable
    own = _recommended(verdict)
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
