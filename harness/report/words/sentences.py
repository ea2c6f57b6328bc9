"""What supports the headline: differences with their intervals, what they cost, and what weakens them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.display.text_format import counted
from harness.report.words.bounds import NO_BOUNDS, MeasureBounds, above
from harness.report.words.contest import Contest, against
from harness.report.words.costs import cost_sentences
from harness.report.words.looks import look_sentences
from harness.report.words.racing import race_of, race_sentences
from harness.report.words.refused import refusal_sentences
from harness.report.words.scope import scope_sentences
from harness.report.words.settling import needed_for, shown_by
from harness.report.words.weaknesses import unranked, weaknesses
from harness.report.words.wording import Gap, amount, level, listed, name, odds, title_of
from harness.statistics.paired_comparison import MeasureComparison
from harness.statistics.power import can_show_anything

_MOST_PAIRS = 4


def sentences(contest: Contest, bounds: MeasureBounds = NO_BOUNDS) -> tuple[str, ...]:
    """In the order in which somebody asks: how sure, of what, at what cost, what about refusals, what is weak."""
    compared = contest.ranked
    found = [f"Ranked by {contest.spoken}{contest.reason}."] if compared is not None else []
    race = race_of(contest)
    found += [] if contest.nobody_answered else _bounds(contest, bounds, is_tested=race is None)
    if race is not None:
        found += race_sentences(contest, race)
    elif compared is not None and compared.n_common and not contest.nobody_answered:
        found += [
            *_differences(contest, compared),
            *scope_sentences(contest, compared),
            *_power(contest, compared),
        ]
    found += [*([] if race else look_sentences(contest)), *refusal_sentences(contest)]
    found += cost_sentences(contest, is_tested=race is None)
    if race is None:
        found += [*_besides(contest), *_baselines(contest)]
    found += unranked(contest)
    return (*found, *weaknesses(contest.group))


def _bounds(contest: Contest, bounds: MeasureBounds, *, is_tested: bool) -> Iterator[str]:
    """What an answer is worth that never looks at the question, and how much room that leaves."""
    floor, room = bounds.floor, bounds.headroom
    if floor is None or not contest.entrants:
        return
    if room is not None and bounds.ceiling is not None:
        measure = title_of(room.measure)
        said = f"Headroom in {measure}, {bounds.ceiling.called} less {floor.called}: {room.words()}"
        yield (
            f"{said}."
            if not bounds.cannot_rank
            else (
                f"{said}, not told apart from none: on these queries {measure} cannot say which system is better."
            )
        )
    best = contest.view(contest.order[0])
    gap = above(contest.group, contest.instead_of or contest.measure, best, floor)
    if gap is None:
        return
    level_of = level(gap.measure, gap.pair.mean_b if gap.pair.b == 1 else gap.pair.mean_a)
    floor_is = f"{floor.called} ({level_of}), which needs no document"
    side = "above" if gap.difference > 0 else "below" if gap.difference < 0 else "level with"
    if not is_tested:
        yield f"{name(best.label)} is {side} {floor_is} (shown, not tested)."
    elif gap.is_told_apart:
        yield f"{name(best.label)} is {side} {floor_is}, by {gap.size()}."
    else:
        yield f"{name(best.label)} is {gap.undecided(floor_is)}."


def _differences(contest: Contest, compared: MeasureComparison) -> Iterator[str]:
    """The best against those that are not told apart from it, then against the next ones."""
    best, *others = contest.order
    first = name(contest.view(best).label)
    gaps = {place: gap for place in others if (gap := Gap.between(compared, best, place))}
    tied = {place: gap for place, gap in gaps.items() if not gap.is_told_apart}
    if tied:
        far, widest = max(tied.items(), key=lambda one: (abs(one[1].difference), one[1].farthest))
        whom = listed([contest.view(place).label for place in (tied if _decides(compared) else [far])])
        of = "a difference of" if len(tied) == 1 else "the widest difference is"
        yield f"{first} is {widest.undecided(whom, of)}; {_p(widest)}."
    behind = [place for place in gaps if place not in tied]
    for place in behind[:_MOST_PAIRS]:
        gap = gaps[place]
        yield f"{first} is ahead of {name(contest.view(place).label)} by {gap.words()}; {_p(gap)}."
    if len(behind) > _MOST_PAIRS:
        more = counted(len(behind) - _MOST_PAIRS, "other run")
        yield f"{first} is also ahead of {more}: see the table of pairs."


def _decides(compared: MeasureComparison) -> bool:
    """Whether any outcome of so many queries is more than chance."""
    return can_show_anything(compared.n_common, len(compared.pairs))


def _power(contest: Contest, compared: MeasureComparison) -> Iterator[str]:
    """What so many queries can show at all, and what they find four times out of five."""
    n, pairs = compared.n_common, len(compared.pairs)
    queries, family = counted(n, "query", "queries"), counted(pairs, "pair")
    if not _decides(compared):
        yield f"{queries} and {family}: no outcome of so few queries is more than chance."
        return
    if not can_show_anything(n - 1, pairs):
        yield f"{queries} and {family}: nothing is more than chance but one that is better on {n:,} of {n:,}."
    found = [pair.detectable for pair in compared.pairs]
    known = [one for one in found if one is not None]
    if known and len(known) == len(found):
        difference = f"a true difference of {amount(compared, max(known))} in {title_of(compared)}"
        unseen = "a smaller one may be there unseen"
        yield f"{queries} and {family} find {difference} four times out of five; {unseen}."
    elif compared.measure.span is not None and all(pair.spread is not None for pair in compared.pairs):
        yield f"{queries} and {family} find no difference that can be four times out of five."
    needed = None if contest.leaders_are_as_good else needed_for(contest)
    if needed:
        would = f"About {needed.queries:,} queries would tell {shown_by(compared, needed)} apart"
        open_to = f", if they differ as widely as {queries} leave open"
        yield f"{would} between any two of the undecided{open_to}{_there_are(compared, needed.queries)}."


def _there_are(compared: MeasureComparison, needed: int) -> str:
    """How many the whole data set has of these types of query, where that is fewer."""
    mix, asked = compared.drawn.type_mix, set(compared.drawn.types.values())
    there = sum(count for query_type, count in mix.items() if query_type in asked)
    if not 0 < there < needed:
        return ""
    which = "" if asked >= set(mix) else " of these types"
    return f"; the whole data set has {there:,}{which}"


def _besides(contest: Contest) -> Iterator[str]:
    """Of each measure that every report compares and that does not rank."""
    for measure, known in contest.group.known.items():
        if known.compared and measure != contest.measure:
            yield from _clearest(contest, measure)


def _clearest(contest: Contest, measure: str) -> Iterator[str]:
    """The clearest difference in a measure, where any is more than chance."""
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
        f"Looked at besides: {names[0]} has a {side} {title_of(compared)} than {names[1]} "
        f"({level(compared, means[good])} against {level(compared, means[bad])} {of} "
        f"{counted(gap.pair.n, 'query', 'queries')}): {gap.size()}."
    )


def _baselines(contest: Contest) -> Iterator[str]:
    """Marks to read the others by: how far the best is from them."""
    if not contest.entrants:
        return
    best = contest.order[0]
    for position, view in enumerate(contest.group.views):
        if not view.is_baseline or position in contest.entrants:
            continue
        compared = against(contest, position, best)
        gap = Gap.between(compared, 0, 1) if compared else None
        if compared is None or gap is None:
            continue
        reaches = (
            f"{name(view.label)}, a baseline that does not compete, reaches {level(compared, compared.means[0])}"
        )
        label = name(contest.view(best).label)
        if gap.is_told_apart:
            is_better, falls = gap.difference > 0, compared.measure.higher_is_better is False
            side = "above" if is_better != falls else "below"
            yield f"{reaches}, {side} {label} by {gap.size()}."
        else:
            yield f"{reaches}, {gap.undecided(label)}."


def _p(gap: Gap) -> str:
    return f"{odds(gap.pair.p_holm)} after Holm's correction"
