"""The one sentence that somebody who reads nothing else takes away."""

from __future__ import annotations

from collections.abc import Sequence

from harness.display.text_format import counted, printable
from harness.evaluators.score_preconditions import stated_answers
from harness.report.comparison.quantities import ON
from harness.report.view import Group, RunView
from harness.report.words.bounds import NO_BOUNDS, MeasureBounds, above
from harness.report.words.contest import Contest
from harness.report.words.entrants import is_only_described, is_scored, was_evaluated
from harness.report.words.racing import race_of, race_verdict
from harness.report.words.scope import holds_on
from harness.report.words.settling import margin_of, needed_for, shown_by
from harness.report.words.standings import natural_mix, shown_rows
from harness.report.words.wording import Gap, amount, level, listed, name, times, title_of
from harness.statistics import Aggregate
from harness.statistics.paired_comparison import MeasureComparison
from harness.statistics.power import can_show_anything

LONGEST = 320
_FEWEST_TIMES = 2.0
"""A ratio of costs below that is no headline."""
_OF_COST = {"tokens": "the tokens", "latency_s": "the time", "usd": "the dollars"}


def headline(contest: Contest, bounds: MeasureBounds = NO_BOUNDS) -> str:
    """What to do: choose one, choose among those that are as good, or so many queries are needed; then who costs
    many times more, where there is room.
    """
    if not contest.entrants:
        return _nobody(contest)
    race = race_of(contest)
    if race is not None and not contest.nobody_answered and not _is_barred(contest, bounds):
        verdict = race_verdict(contest, race, _not_above(contest, bounds))
        return f"{printable(_barred(contest, bounds) + verdict, LONGEST - 1)}."
    compared = contest.ranked
    if compared is None:
        return _alone(contest, bounds)
    barred = _barred(contest, bounds)
    verdict = printable(f"{barred}{_verdict(contest, compared, bounds)}", LONGEST - 1)
    costs = _dearest(contest)
    return f"{verdict}; {costs}." if costs and len(verdict) + len(costs) + 3 <= LONGEST else f"{verdict}."


def _nobody(contest: Contest) -> str:
    """Runs that may be described and not ranked."""
    views = [view for view in contest.group.views if not view.is_baseline] or [*contest.group.views]
    pending = [view for view in views if not view.is_complete]
    if len(pending) < len(views):
        return f"Nothing ranks yet: no finished run has enough values of {contest.spoken}."
    if len(pending) > 1:
        done, whole = (sum(getattr(view, n) for view in pending) for n in ("n_answered", "n_expected"))
        return f"Nothing ranks yet: no run is finished ({done:,} of {counted(whole, 'answer')} are there)."
    (view,) = pending
    so_far = f"{view.n_answered:,} of {counted(view.n_expected, 'answer')}"
    return f"{name(view.label)} is not finished ({so_far}): no figure of it is a result yet."


def headline_of_nothing(group: Group) -> str:
    """Why there is no answer, and what gives one."""
    views = group.views
    if all(view.n_answered and view.n_errors == view.n_answered for view in views):
        failed = sum(view.n_errors for view in views)
        return f"No system answered a query: all {counted(failed, 'answer')} that were tried failed."
    if not any(view.n_answered for view in views):
        return "Nothing was answered yet: there is nothing to say of these runs."
    competing = [view for view in views if not view.is_baseline] or views
    if all(is_only_described(group, view) for view in competing):
        why = _without_gold(competing)
        return f"Nothing ranks these runs: {why}. What they hand over and what they take is shown."
    if any(is_scored(view) for view in competing):
        return "Nothing ranks these runs: nobody here knows of their scores whether a high value is good."
    if any(was_evaluated(view) for view in competing):
        return "No score has a value, so no system ranks: see what there is to know before comparing."
    return "Nothing was scored yet, so no system ranks: run rag-harness evaluate."


def _without_gold(views: Sequence[RunView]) -> str:
    """Why no score says who is right, by what is known of the queries."""
    has_answers = has_evidence = False
    for sample in {id(view.sample): view.sample for view in views}.values():
        for row in sample.values():
            has_answers = has_answers or bool(stated_answers(row.reference))
            has_evidence = has_evidence or bool(row.reference.evidence)
    if has_answers and not any(view.manifest.has_generator for view in views):
        return "the queries come without evidence, and the runs without answers"
    if not has_answers and not has_evidence:
        return "the queries come with neither answers nor evidence, so nobody can say which system is right"
    return "no score says which is better"


def _barred(contest: Contest, bounds: MeasureBounds) -> str:
    """That the measure which was to rank cannot: before anything that another one says."""
    room = bounds.headroom
    if room is None or not bounds.cannot_rank:
        return ""
    span = room.words() if _is_barred(contest, bounds) else amount(room.measure, room.difference)
    what = f"{title_of(room.measure)} cannot rank here (headroom {span})"
    if not can_show_anything(room.pair.n, 1):
        what = f"{counted(room.pair.n, 'query is', 'queries are')} too few for {title_of(room.measure)} to rank"
    joint = f"; by {title_of(contest.ranked)}: " if contest.instead_of and contest.ranked else "; "
    return f"{what[:1].upper()}{what[1:]}{joint}"


def _verdict(contest: Contest, compared: MeasureComparison, bounds: MeasureBounds) -> str:
    if not compared.n_common:
        return f"No query has a value of {title_of(compared)} in every run, so they are not ranked"
    if contest.nobody_answered:
        n = counted(compared.n_common, "query", "queries")
        return f"No system answered a query: all {n} failed in every run"
    if _is_barred(contest, bounds):
        return "so nothing is said of who is best"
    leaders = contest.leaders
    floor = _not_above(contest, bounds)
    if len(leaders) == 1:
        return _best(contest, compared, floor)
    labels = listed([contest.view(place).label for place in leaders])
    figures = f"{_within(contest, compared)}({_figures(contest, compared, leaders)})"
    if contest.leaders_are_as_good:
        where = f", {ON['documents']}" if _share_documents(compared) else ""
        return f"{' or '.join(labels.rsplit(' and ', 1))}, within {margin_of(contest)} {figures}{where}{floor}"
    between = labels if len(leaders) < 3 else f"{len(leaders):,} systems"
    return f"Undecided between {between} {figures}{floor}{_needed(contest)}{_behind(contest, compared)}"


def _behind(contest: Contest, compared: MeasureComparison) -> str:
    """Who is out of it all the same."""
    best, leaders = contest.order[0], contest.leaders
    others = [place for place in contest.order if place not in leaders]
    if not others:
        return ""
    on = ON[holds_on(compared, best, others)]
    labels = listed([contest.view(place).label for place in others])
    return f"; {name(contest.view(best).label)} is ahead of {labels}{f', {on}' if on else ''}"


def _is_barred(contest: Contest, bounds: MeasureBounds) -> bool:
    """Whether the measure that cannot rank is the one by which they stand here."""
    return bounds.cannot_rank and not contest.instead_of


def _best(contest: Contest, compared: MeasureComparison, floor: str) -> str:
    """The one to choose; what is no better than no document at all is none."""
    best, second, *_ = contest.order
    label = name(contest.view(best).label)
    first = f"{label} is best" if floor else f"Choose {label}: best"
    first = f"{first} {_within(contest, compared)}".rstrip()
    gap = Gap.between(compared, best, second)
    ahead = f", ahead of {name(contest.view(second).label)} by {gap.words()}" if gap else ""
    on = ON[holds_on(compared, best)]
    where = f", {on}" if on else ""
    return f"{first} ({level(compared, compared.means[best])}{_population(compared)}){floor}{ahead}{where}"


def _share_documents(compared: MeasureComparison) -> bool:
    """Whether queries share documents, so that what is shown of these need not hold on others."""
    return any(pair.n_clusters is not None and pair.n_clusters < pair.n for pair in compared.pairs)


def _within(contest: Contest, compared: MeasureComparison) -> str:
    """The measure, where it was not named before."""
    return "" if contest.instead_of else f"in {title_of(compared)} "


def _not_above(contest: Contest, bounds: MeasureBounds) -> str:
    """That the best of them has no better mean than what needs no document."""
    floor = bounds.floor
    if floor is None or contest.instead_of:
        return ""
    gap = above(contest.group, contest.measure, contest.view(contest.order[0]), floor)
    if gap is None or gap.difference > 0:
        return ""
    mean = gap.pair.mean_b if gap.pair.b == 1 else gap.pair.mean_a
    whose = "none" if len(contest.entrants) > 1 else "not"
    return f", {whose} above {floor.called} ({level(gap.measure, mean)})"


def _needed(contest: Contest) -> str:
    needed = needed_for(contest)
    if needed is None or contest.ranked is None:
        return ""
    return f": about {needed.queries:,} queries needed to tell {shown_by(contest.ranked, needed)} apart"


def _figures(contest: Contest, compared: MeasureComparison, places: Sequence[int]) -> str:
    """`62.0 % and 60.0 % of 200 queries`; of more than two, from the first's to the last's."""
    means = [level(compared, compared.means[place]) for place in places]
    first, last = (name(contest.view(place).label) for place in (places[0], places[-1]))
    if len(set(means)) == 1:
        shown = f"each {means[0]}"
    elif len(means) == 2:
        shown = f"{means[0]} and {means[1]}"
    else:
        shown = f"from {first}'s {means[0]} to {last}'s {means[-1]}"
    return f"{shown}{_population(compared)}"


def _population(compared: MeasureComparison) -> str:
    of = "of" if compared.measure.is_share else "over"
    return f" {of} {counted(compared.n_common, 'query', 'queries')}"


def _dearest(contest: Contest) -> str:
    """The dearest against the cheapest, in the first kind of cost in which they are told apart."""
    priced = contest.priced
    for cost, spoken in _OF_COST.items():
        compared = priced.by(cost)
        means = compared.means if compared else ()
        known = [(mean, place) for place, mean in enumerate(means) if mean]
        if compared is None or len(known) < 2:
            continue
        (low, cheap), (high, dear) = min(known), max(known)
        gap = Gap.between(compared, cheap, dear)
        if high / low >= _FEWEST_TIMES and gap and gap.is_told_apart:
            names = [name(priced.view(place).label) for place in (dear, cheap)]
            return f"{names[0]} takes {times(high / low)} {spoken} of {names[1]}{_earned(contest, priced, cheap)}"
    return ""


def _earned(contest: Contest, priced: Contest, place: int) -> str:
    """What the cheap one gets right: cheap alone is no recommendation."""
    compared = contest.ranked
    if compared is None:
        return ""
    return f" ({level(compared, compared.means[contest.entrants.index(priced.entrants[place])])})"


def _alone(contest: Contest, bounds: MeasureBounds) -> str:
    view, row = contest.view(0), shown_rows(contest)[contest.entrants[0]]
    if view.n_answered and view.n_errors == view.n_answered:
        return f"{name(view.label)} answered no query: all {counted(view.n_errors, 'answer')} failed."
    if row is None or row.mean is None:
        return f"{name(view.label)} has no value of {contest.spoken}."
    floor = _not_above(contest, bounds)
    return f"{name(view.label)}: {contest.spoken} {_with_interval(contest, row, row.mean)}{floor}."


def _with_interval(contest: Contest, row: Aggregate, mean: float) -> str:
    share = contest.is_share
    factor, unit, digits = (100, " %", 1) if share else (1, "", 3)
    n, mix = row.n_scored + row.n_imputed, " in the natural mix" if natural_mix(contest) else ""
    shown = f"{factor * mean:.{digits}f}{unit} {'of' if share else 'over'} {counted(n, 'answer')}{mix}"
    if row.ci_low is None or row.ci_high is None:
        return shown
    on = f", {ON['documents']}" if contest.view(0).frame.n_clusters else ""
    return f"{shown} (95 % interval {factor * row.ci_low:.{digits}f} to {factor * row.ci_high:.{digits}f}{on})"
