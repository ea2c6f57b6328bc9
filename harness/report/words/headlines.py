"""The one sentence that somebody who reads nothing else takes away."""

from __future__ import annotations

from collections.abc import Iterable

from harness.analysis.paired import ComparedPair, MeasureComparison
from harness.display.text import counted, printable
from harness.report.view import Group
from harness.report.words.contest import Contest, is_scored, was_evaluated
from harness.report.words.wording import Gap, amount, level, listed, name, times, title_of

LONGEST = 200
_FEWEST_TIMES = 2.0
"""A ratio of costs below that is no headline."""
_OF_COST = {"tokens": "the tokens", "latency_s": "the time", "usd": "the dollars"}


def headline(contest: Contest) -> str:
    """Who is best or who is not told apart, by how much; then who costs many times more, where there is room."""
    compared = contest.ranked
    if compared is None:
        return _alone(contest)
    said = printable(_verdict(contest, compared), LONGEST - 1)
    costs = _dearest(contest)
    return f"{said}; {costs}." if costs and len(said) + len(costs) + 3 <= LONGEST else f"{said}."


def headline_of_nothing(group: Group) -> str:
    """Why there is no answer, and what gives one."""
    views = group.views
    if all(view.n_answered and view.n_errors == view.n_answered for view in views):
        failed = sum(view.n_errors for view in views)
        return f"No system answered a query: all {counted(failed, 'answer')} that were tried failed."
    if not any(view.n_answered for view in views):
        return "Nothing was answered yet: there is nothing to say of these runs."
    competing = [view for view in views if not view.is_bracket] or views
    if any(is_scored(view) for view in competing):
        return "Nothing ranks these runs: nobody here knows of their scores whether a high value is good."
    if any(was_evaluated(view) for view in competing):
        return "No score has a value, so no system ranks: see what there is to know before comparing."
    return "Nothing was scored yet, so no system ranks: run rag-harness evaluate."


def _verdict(contest: Contest, compared: MeasureComparison) -> str:
    leaders, n = contest.leaders, len(contest.entrants)
    word = title_of(compared)
    if not compared.n_common:
        return f"No query has a value of {word} in every run, so they are not ranked"
    if all(view.n_answered and view.n_errors == view.n_answered for view in map(contest.view, range(n))):
        return (
            f"No system answered a query: all {counted(compared.n_common, 'query', 'queries')} failed in every run"
        )
    if len(leaders) == 1:
        return _best(contest, compared)
    labels = [contest.view(place).label for place in leaders]
    figures = _figures(compared, leaders)
    within = {*leaders}
    if any(pair.a in within and pair.b in within for pair in _apart(compared)):
        return (
            f"{name(labels[0])} has the best mean in {word}, not told apart from {listed(labels[1:])} ({figures})"
        )
    if len(leaders) < n:
        return f"{listed(labels)} share the lead in {word} and are not told apart ({figures})"
    who = f"{listed(labels)} are not told apart" if n == 2 else f"None of {n:,} systems is told apart"
    return f"{who} in {word} ({figures}){_resolution(compared)}"


def _apart(compared: MeasureComparison) -> list[ComparedPair]:
    return [pair for pair in compared.pairs if compared.verdict(pair) != "tie"]


def _best(contest: Contest, compared: MeasureComparison) -> str:
    best, second, *_ = contest.order
    first = f"{name(contest.view(best).label)} is best in {title_of(compared)}"
    gap = Gap.between(compared, best, second)
    ahead = f", ahead of {name(contest.view(second).label)} by {gap.words()}" if gap else ""
    # Of a run that is not finished, two others have more queries in common than all three.
    over = f" over {counted(gap.pair.n, 'query', 'queries')}" if gap and gap.pair.n != compared.n_common else ""
    return f"{first} ({level(compared, compared.means[best])}{_population(compared)}){ahead}{over}"


def _figures(compared: MeasureComparison, places: Iterable[int]) -> str:
    """`62.0 % and 60.0 % of 200 queries`; of more than two, from the first to the last."""
    means = [level(compared, compared.means[place]) for place in places]
    if len(set(means)) == 1:
        shown = f"each {means[0]}"
    else:
        shown = f"{means[0]} and {means[1]}" if len(means) == 2 else f"from {means[0]} to {means[-1]}"
    return f"{shown}{_population(compared)}"


def _population(compared: MeasureComparison) -> str:
    of = "of" if compared.measure.is_share else "over"
    return f" {of} {counted(compared.n_common, 'query', 'queries')}"


def _resolution(compared: MeasureComparison) -> str:
    found = [pair.detectable for pair in compared.pairs if pair.detectable is not None]
    return f": it would take a difference of about {amount(compared, max(found))}" if found else ""


def _dearest(contest: Contest) -> str:
    """The dearest against the cheapest, in the first kind of cost in which they are told apart."""
    for cost, spoken in _OF_COST.items():
        compared = contest.by(cost)
        means = compared.means if compared else ()
        known = [(mean, place) for place, mean in enumerate(means) if mean]
        if compared is None or len(known) < 2:
            continue
        (low, cheap), (high, dear) = min(known), max(known)
        gap = Gap.between(compared, cheap, dear)
        if high / low >= _FEWEST_TIMES and gap and gap.is_told_apart:
            names = [name(contest.view(place).label) for place in (dear, cheap)]
            return f"{names[0]} takes {times(high / low)} {spoken} of {names[1]} a query"
    return ""


def _alone(contest: Contest) -> str:
    view = contest.view(0)
    row = view.row(contest.measure)
    if view.n_answered and view.n_errors == view.n_answered:
        return f"{name(view.label)} answered no query: all {counted(view.n_errors, 'answer')} failed."
    if row is None or row.mean is None:
        return f"{name(view.label)} has no value of {contest.spoken}."
    return f"{name(view.label)}: {contest.spoken} {_with_interval(contest, row.mean)}."


def _with_interval(contest: Contest, mean: float) -> str:
    view = contest.view(0)
    row = view.row(contest.measure)
    share = contest.is_share
    factor, unit, digits = (100, " %", 1) if share else (1, "", 3)
    n = row.n_scored + row.n_imputed if row else 0
    shown = f"{factor * mean:.{digits}f}{unit} {'of' if share else 'over'} {counted(n, 'answer')}"
    if row is None or row.ci_low is None or row.ci_high is None:
        return shown
    return f"{shown} (95 % interval {factor * row.ci_low:.{digits}f} to {factor * row.ci_high:.{digits}f})"
