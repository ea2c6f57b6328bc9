"""What the runs cost, in words: only of runs that answer, and beside what the cheap one gets right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.display import format_value
from harness.display.text_format import counted, number
from harness.report.aggregates import cost_quantity
from harness.report.own_models import self_reported_mark
from harness.report.view import RunView
from harness.report.words.contest import Contest
from harness.report.words.standings import shown_rows
from harness.report.words.wording import Gap, level, listed, name, odds, times, title_of
from harness.statistics import Aggregate
from harness.statistics.cost import is_lower_bound
from harness.statistics.paired_comparison import MeasureComparison

COST_WORDS = {"tokens": "tokens a query", "usd": "USD a query", "latency_s": "seconds a query"}


def cost_sentences(contest: Contest, *, is_tested: bool = True) -> Iterator[str]:
    """What a query takes, then what the index took. Not `is_tested`: beside a race, which ended by what it showed,
    so that no test or interval for one look holds.
    """
    if not contest.entrants:
        return
    if not is_tested:
        yield from _untested(contest)
    elif len(contest.entrants) == 1:
        yield from _alone(contest)
    else:
        yield from _between(contest)
    yield from _silent(contest)
    yield from _index(contest.priced)


def earned(contest: Contest, positions: list[int]) -> str:
    """`accuracy 62.0 %`, or from the lowest to the highest of several: cheap alone is no recommendation."""
    compared = contest.ranked
    if compared is None or compared.measure.is_cost:
        return ""
    known = [compared.means[contest.entrants.index(position)] for position in positions]
    means = sorted(mean for mean in known if mean is not None)
    if not means:
        return ""
    levels = list(dict.fromkeys(level(compared, mean) for mean in (means[0], means[-1])))
    return f"{title_of(compared)} {' to '.join(levels)}"


def _between(contest: Contest) -> Iterator[str]:
    """Between the cheapest and the dearest of the best, or of all where one is best alone: those that a test does
    not tell apart from the cheapest share its place.
    """
    priced = contest.priced
    leaders = {contest.entrants[place] for place in contest.leaders}
    among = [place for place, position in enumerate(priced.entrants) if position in leaders]
    share = 1 < len(among) < len(priced.entrants)
    places = among if len(among) > 1 else list(range(len(priced.entrants)))
    whose = "Of the runs that share the lead" if share else "Of these runs"
    for cost, unit in COST_WORDS.items():
        compared = priced.by(cost)
        means = compared.means if compared else ()
        known = [(mean, place) for place in places if compared and (mean := means[place]) is not None]
        if compared is None or len(known) < 2:
            continue
        (low, cheap), (high, dear) = min(known), max(known)
        gap = Gap.between(compared, cheap, dear)
        if gap is None or not gap.difference:
            continue
        p = f"{odds(gap.pair.p_holm)} after Holm's correction"
        if not gap.is_told_apart:
            ends = [
                f"{_names(priced, [place])} ({_figures(contest, priced, known, [place])})"
                for place in (cheap, dear)
            ]
            yield f"{whose}, none is shown to take fewer {unit}: from {ends[0]} to {ends[1]}, {p}."
            continue
        least = [place for _, place in sorted(known) if not _is_told_apart(compared, place, cheap)]
        most = [
            place for _, place in sorted(known) if place not in least and not _is_told_apart(compared, place, dear)
        ]
        takes = "takes" if len(least) == 1 else "take"
        ends = [f"({_figures(contest, priced, known, places)})" for places in (least, most)]
        more = f"{times(high / low)} as many, " if low and high > low else ""
        yield (
            f"{whose}, {_names(priced, least)} {takes} the fewest {unit} {ends[0]} and {_names(priced, most)} the "
            f"most {ends[1]}: {more}a difference of {gap.size()}."
        )


def _is_told_apart(compared: MeasureComparison, a: int, b: int) -> bool:
    """Whether one of them is shown to take less than the other."""
    gap = Gap.between(compared, a, b)
    return gap is not None and gap.is_told_apart


def _silent(contest: Contest) -> Iterator[str]:
    """Whose cost is that of a refusal."""
    for place in range(len(contest.entrants)):
        view = contest.view(place)
        if view.refuses_most and not view.fails_too_often:
            refused, answerable = view.refused
            of = counted(answerable, "answerable query", "answerable queries")
            yield f"{name(view.label)} refused {refused:,} of {of}: nothing is said of what its answers cost."


def _names(priced: Contest, places: list[int]) -> str:
    return listed([priced.view(place).label for place in places])


def _figures(contest: Contest, priced: Contest, known: Sequence[tuple[float, int]], places: Sequence[int]) -> str:
    """`2.01, with accuracy 62.0 %`; of several that are not told apart, from the lowest to the highest."""
    means = sorted(mean for mean, place in known if place in places)
    cost = " to ".join(dict.fromkeys(number(mean) for mean in (means[0], means[-1])))
    quality = earned(contest, [priced.entrants[place] for place in places])
    return f"{cost}, with {quality}" if quality else cost


def _alone(contest: Contest) -> Iterator[str]:
    view = contest.view(0)
    if not view.has_its_price:
        return
    stands = shown_rows(contest)[contest.entrants[0]]
    for cost, unit in COST_WORDS.items():
        row = view.row_beside(cost, stands)
        if row is not None and row.mean:
            yield f"It takes {format_value(cost_quantity(row))} {unit}{_span(row)}{_whose(view, cost)}."


def _span(row: Aggregate) -> str:
    """The interval of a mean, with a space; of a lower bound there is none to be said."""
    if row.ci_low is None or is_lower_bound(row):
        return ""
    return f" (95 % interval {number(row.ci_low)} to {number(row.ci_high)})"


def _whose(view: RunView, cost: str) -> str:
    mark = self_reported_mark(view, cost)
    return f", {mark}" if mark else ""


def _untested(contest: Contest) -> Iterator[str]:
    rows, priced = shown_rows(contest), contest.priced.entrants
    for cost, unit in COST_WORDS.items():
        found = [(view, view.row_beside(cost, rows[place])) for place, view in enumerate(contest.group.views)]
        shown = [
            f"{name(view.label)} {format_value(cost_quantity(row, mark=self_reported_mark(view, cost)))}"
            for place, (view, row) in enumerate(found)
            if place in priced and row is not None and row.mean
        ]
        if shown:
            yield f"What they take, in {unit}: {', '.join(shown)} (shown, not tested)."


def _index(priced: Contest) -> Iterator[str]:
    """What the indexes took before the first query."""
    views = [priced.view(place) for place in range(len(priced.entrants))]
    for measure, unit in (("index_usd", "USD"), ("index_tokens", "tokens")):
        rows = [(view.row(measure), place) for place, view in enumerate(views)]
        known = [(row, place) for row, place in rows if row is not None and row.mean is not None]
        found = [(row.mean or 0.0, place) for row, place in known if not is_lower_bound(row)]
        if found and max(found)[0]:
            yield _whole(views, found, unit)
        bounds = [
            f"that of {name(views[place].label)} ({format_value(cost_quantity(row))} {unit})"
            for row, place in known
            if is_lower_bound(row)
        ]
        if bounds:
            yield f"Indexes that were not counted in full: {', '.join(bounds)}."


def _whole(views: Sequence[RunView], found: Sequence[tuple[float, int]], unit: str) -> str:
    """Between the cheapest and the dearest index of those that were counted in full."""
    (low, cheap), (high, dear) = min(found), max(found)
    if low == high:
        whose = f"the index of {name(views[dear].label)}" if len(found) < len(views) else "an index"
        return f"Building {whose} took {number(high)} {unit}."
    names = [name(views[place].label) for place in (cheap, dear)]
    ends = f"from {number(low)} {unit} ({names[0]}) to {number(high)} {unit} ({names[1]})"
    return f"Building an index took {ends}."
