"""What supports the headline: differences with their intervals, what they cost, and what weakens them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.paired import MeasureComparison
from harness.report.comparison.text import chance
from harness.report.contest import REFUSALS, Contest, against, is_scored
from harness.report.text import counted, number
from harness.report.view import Group, RunView
from harness.report.wording import Gap, amount, level, listed, measure_name, name, times

_MOST_PAIRS = 4
_MOST_RUNS = 4
_COSTS = {"tokens": "tokens a query", "usd": "USD a query", "latency_s": "seconds a query"}


def sentences(contest: Contest) -> tuple[str, ...]:
    """In the order in which somebody asks: how sure, at what cost, what about refusals, what weakens it."""
    compared = contest.ranked
    found: list[str] = []
    if compared is not None and compared.n_common:
        found += [*_differences(contest, compared), *_detectable(compared)]
    found += [*_costs(contest), *_index(contest)]
    found += [sentence for measure in REFUSALS for sentence in _refusals(contest, measure)]
    found += [*_brackets(contest), *_unranked(contest)]
    return (*found, *weaknesses(contest.group))


def weaknesses(group: Group) -> tuple[str, ...]:
    """Runs that did not finish or that failed; the first few of each."""
    unfinished = [view for view in group.views if view.n_answered < view.n_expected]
    failed = [view for view in group.views if view.n_errors]
    compared = " It is compared over what it answered." if len(group.views) > 1 else ""
    found = [
        f"{name(view.label)} is unfinished: {view.n_expected - view.n_answered:,} of "
        f"{counted(view.n_expected, 'answer')} missing.{compared}"
        for view in unfinished[:_MOST_RUNS]
    ]
    found += [
        f"{name(view.label)} failed on {view.n_errors:,} of {counted(view.n_answered, 'query', 'queries')}; "
        "each counts with the worst value."
        for view in failed[:_MOST_RUNS]
    ]
    left = len(unfinished[_MOST_RUNS:]) + len(failed[_MOST_RUNS:])
    return (*found, f"{left:,} more are unfinished or failed in part.") if left else tuple(found)


def _differences(contest: Contest, compared: MeasureComparison) -> Iterator[str]:
    """The best against those that are not told apart from it, then against the next ones."""
    best, *others = contest.order
    first = name(contest.view(best).label)
    gaps = {place: gap for place in others if (gap := Gap.between(compared, best, place))}
    tied = {place: gap for place, gap in gaps.items() if not gap.is_told_apart}
    if tied:
        widest = max(tied.values(), key=lambda gap: (abs(gap.difference), gap.farthest))
        whom = listed([contest.view(place).label for place in tied])
        of = "a" if len(tied) == 1 else "at most a"
        yield f"{first} is not told apart from {whom}: {of} difference of {widest.words()}; {_p(widest)}."
    behind = [place for place in gaps if place not in tied]
    for place in behind[:_MOST_PAIRS]:
        gap = gaps[place]
        yield f"{first} is ahead of {name(contest.view(place).label)} by {gap.words()}; {_p(gap)}."
    if len(behind) > _MOST_PAIRS:
        more = counted(len(behind) - _MOST_PAIRS, "other run")
        yield f"{first} is also ahead of {more}: see the table of pairs."


def _detectable(compared: MeasureComparison) -> Iterator[str]:
    found = [pair.detectable for pair in compared.pairs if pair.detectable is not None]
    if found:
        yield (
            f"{counted(compared.n_common, 'query', 'queries')} would show a true difference of "
            f"{amount(compared, max(found))} in {measure_name(compared.measure.name)} between any two of them "
            "four times out of five, before Holm's correction; a smaller one may be there unseen."
        )


def _costs(contest: Contest) -> Iterator[str]:
    """Between the cheapest and the dearest of the best, or of all where one is best alone."""
    leaders = contest.leaders
    places = leaders if len(leaders) > 1 else list(range(len(contest.entrants)))
    whose = "Of the runs that share the lead" if 1 < len(leaders) < len(contest.entrants) else "Of these runs"
    for cost in ("tokens", "usd", "latency_s"):
        compared = contest.by(cost)
        if compared is None:
            yield from _single_cost(contest, cost)
            continue
        known = [(mean, place) for place in places if (mean := compared.means[place]) is not None]
        if len(known) < 2:
            continue
        (low, cheap), (high, dear) = min(known), max(known)
        gap = Gap.between(compared, cheap, dear)
        if gap is None or not gap.difference:
            continue
        names = [name(contest.view(place).label) for place in (cheap, dear)]
        ends = f"{whose}, {names[0]} takes the fewest {_COSTS[cost]} ({number(low)}) and {names[1]} the most"
        more = f"{times(high / low)} as many, " if low and high > low else ""
        doubt = "" if gap.is_told_apart else f"; the test does not tell them apart ({_p(gap)})"
        yield f"{ends} ({number(high)}): {more}a difference of {gap.size()}{doubt}."


def _single_cost(contest: Contest, cost: str) -> Iterator[str]:
    if len(contest.entrants) == 1:
        row = contest.view(0).row(cost)
        if row is not None and row.mean:
            span = "" if row.ci_low is None else f" (95 % interval {number(row.ci_low)} to {number(row.ci_high)})"
            yield f"It takes {number(row.mean)} {_COSTS[cost]}{span}."


def _index(contest: Contest) -> Iterator[str]:
    """What the indexes took before the first query."""
    views = [contest.view(place) for place in range(len(contest.entrants))]
    for measure, unit in (("index_usd", "USD"), ("index_tokens", "tokens")):
        found = [(value, place) for place, view in enumerate(views) if (value := view.value(measure)) is not None]
        if not found or not max(found)[0]:
            continue
        (low, cheap), (high, dear) = min(found), max(found)
        if len(found) == 1 or low == high:
            yield f"Building an index took {number(high)} {unit}."
        else:
            names = [name(views[place].label) for place in (cheap, dear)]
            ends = f"from {number(low)} {unit} ({names[0]}) to {number(high)} {unit} ({names[1]})"
            yield f"Building an index took {ends}."


def _refusals(contest: Contest, measure: str) -> Iterator[str]:
    """The clearest difference in it, where any is more than chance."""
    compared = contest.by(measure)
    if compared is None:
        return
    gaps = [gap for pair in compared.pairs if pair.significant and (gap := Gap.between(compared, pair.a, pair.b))]
    if not gaps:
        return
    gap = max(gaps, key=lambda one: abs(one.difference))
    low, high = (gap.pair.a, gap.pair.b) if gap.difference > 0 else (gap.pair.b, gap.pair.a)
    means = {gap.pair.a: gap.pair.mean_a, gap.pair.b: gap.pair.mean_b}
    names = [name(contest.view(place).label) for place in (low, high)]
    yield (
        f"{names[0]} has a lower {measure_name(measure)} than {names[1]} "
        f"({level(compared, means[low])} against {level(compared, means[high])} of "
        f"{counted(gap.pair.n, 'query', 'queries')}): {gap.size()}."
    )


def _brackets(contest: Contest) -> Iterator[str]:
    """Marks to read the others by: how far the best is from them."""
    best = contest.order[0]
    for position, view in enumerate(contest.group.views):
        if not view.is_bracket or position in contest.entrants:
            continue
        compared = against(contest, position, best)
        gap = Gap.between(compared, 0, 1) if compared else None
        if compared is None or gap is None:
            continue
        reaches = (
            f"{name(view.label)}, a bracket that does not compete, reaches {level(compared, compared.means[0])}"
        )
        label = name(contest.view(best).label)
        if gap.is_told_apart:
            side = "above" if gap.difference > 0 else "below"
            yield f"{reaches}, {side} {label} by {gap.size()}."
        else:
            yield f"{reaches}, not told apart from {label}: a difference of {gap.words()}."


def _unranked(contest: Contest) -> Iterator[str]:
    """Runs that the measure cannot rank, and evaluators that scored runs in different ways."""
    others = [
        view
        for position, view in enumerate(contest.group.views)
        if position not in contest.entrants and not view.is_bracket
    ]
    unscored = [view for view in others if not is_scored(view)]
    if unscored:
        verb = "have" if len(unscored) > 1 else "has"
        yield f"{_names(unscored)} {verb} no scores and {_are(unscored)} not ranked: run rag-harness evaluate."
    lacking = [view for view in others if is_scored(view) and contest.measure not in view.values]
    word = measure_name(contest.measure)
    if lacking:
        yield f"{_names(lacking)} {_are(lacking)} not ranked: no value of {word}."
    otherwise = [view for view in others if is_scored(view) and contest.measure in view.values]
    if otherwise:
        yield (
            f"{_names(otherwise)} {_are(otherwise)} not ranked: {word} was scored in another way "
            "(version, parameters or models), or has no value."
        )


def _names(views: list[RunView]) -> str:
    return listed([view.label for view in views])


def _are(views: list[RunView]) -> str:
    return "are" if len(views) > 1 else "is"


def _p(gap: Gap) -> str:
    shown = chance(gap.pair.p_holm)
    return f"p {shown if shown.startswith('<') else f'= {shown}'} after Holm's correction"
