"""What supports the headline: differences with their intervals, what they cost, and what weakens them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.paired import MeasureComparison
from harness.display.text import counted, number
from harness.report.view import Group, RunView
from harness.report.words.contest import Contest, against, has_values, is_scored
from harness.report.words.wording import Gap, amount, level, listed, name, odds, times, title_of

_MOST_PAIRS = 4
_MOST_RUNS = 4
_COSTS = {"tokens": "tokens a query", "usd": "USD a query", "latency_s": "seconds a query"}


def sentences(contest: Contest) -> tuple[str, ...]:
    """In the order in which somebody asks: how sure, at what cost, what about refusals, what weakens it."""
    compared = contest.ranked
    found = [f"Ranked by {contest.spoken}{contest.reason}."] if compared is not None else []
    if compared is not None and compared.n_common:
        found += [*_differences(contest, compared), *_detectable(compared)]
    found += [*_costs(contest), *_index(contest)]
    known = contest.group.known.items()
    asking = (name for name, measure in known if measure.compared and name != contest.measure)
    found += [sentence for measure in asking for sentence in _besides(contest, measure)]
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
        f"{name(view.label)} failed on {view.n_errors:,} of {_tried(view)}; each counts with the worst value."
        for view in failed[:_MOST_RUNS]
    ]
    left = len(unfinished[_MOST_RUNS:]) + len(failed[_MOST_RUNS:])
    return (*found, f"{left:,} more are unfinished or failed in part.") if left else tuple(found)


def _tried(view: RunView) -> str:
    """What a run has a record of: of repeats, each answer counts."""
    if view.frame.repeats > 1:
        return counted(view.n_answered, "answer")
    return counted(view.n_answered, "query", "queries")


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
    found = [(pair.detectable, pair.n) for pair in compared.pairs if pair.detectable is not None]
    if found:
        most, n = max(found)
        difference = f"a true difference of {amount(compared, most)} in {title_of(compared)}"
        yield (
            f"{counted(n, 'query', 'queries')} would show {difference} between any two of them "
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
        least, most = ([contest.view(place).label for mean, place in known if mean == end] for end in (low, high))
        takes = "takes" if len(least) == 1 else "take"
        ends = f"{whose}, {listed(least)} {takes} the fewest {_COSTS[cost]} ({number(low)})"
        ends += f" and {listed(most)} the most"
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
        if low == high:
            whose = f"the index of {name(views[dear].label)}" if len(found) < len(views) else "an index"
            yield f"Building {whose} took {number(high)} {unit}."
        else:
            names = [name(views[place].label) for place in (cheap, dear)]
            ends = f"from {number(low)} {unit} ({names[0]}) to {number(high)} {unit} ({names[1]})"
            yield f"Building an index took {ends}."


def _besides(contest: Contest, measure: str) -> Iterator[str]:
    """The clearest difference in a measure that every report compares, where any is more than chance."""
    compared = contest.by(measure)
    if compared is None:
        return
    gaps = [gap for pair in compared.pairs if pair.significant and (gap := Gap.between(compared, pair.a, pair.b))]
    if not gaps:
        return
    gap = max(gaps, key=lambda one: abs(one.difference))
    good, bad = (gap.pair.a, gap.pair.b) if gap.difference > 0 else (gap.pair.b, gap.pair.a)
    means = {gap.pair.a: gap.pair.mean_a, gap.pair.b: gap.pair.mean_b}
    names = [name(contest.view(place).label) for place in (good, bad)]
    side = "lower" if compared.measure.higher_is_better is False else "higher"
    of = "of" if compared.measure.is_share else "over"
    yield (
        f"{names[0]} has a {side} {title_of(compared)} than {names[1]} "
        f"({level(compared, means[good])} against {level(compared, means[bad])} {of} "
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
            is_better, falls = gap.difference > 0, compared.measure.higher_is_better is False
            side = "above" if is_better != falls else "below"
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
    scored = [view for view in others if is_scored(view)]
    lacking = [view for view in scored if not has_values(view, contest.measure)]
    word = contest.spoken
    if lacking:
        yield f"{_names(lacking)} {_are(lacking)} not ranked: no value of {word}."
    otherwise = [view for view in scored if has_values(view, contest.measure)]
    if otherwise:
        yield (
            f"{_names(otherwise)} {_are(otherwise)} not ranked: {word} was scored in another way "
            "(version, parameters, models or weights), so its values are not comparable."
        )


def _names(views: list[RunView]) -> str:
    return listed([view.label for view in views])


def _are(views: list[RunView]) -> str:
    return "are" if len(views) > 1 else "is"


def _p(gap: Gap) -> str:
    return f"{odds(gap.pair.p_holm)} after Holm's correction"
