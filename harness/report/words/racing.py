"""What a race decided, by a statement that holds however often one looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.core.records import RaceGap, RaceRecord
from harness.display.text_format import counted
from harness.report.comparison.quantities import ON
from harness.report.view import Group
from harness.report.words.contest import Contest
from harness.report.words.standings import shown_rows
from harness.report.words.wording import listed, name

_ENDS = {
    "queries": "no query was left",
    "budget": "the budget ended before the race",
    "broken": "a system could answer no more",
}


def race_of(contest: Contest) -> RaceRecord | None:
    """The race of the runs that compete, by the measure that ranks them; None: they were not all in one."""
    races = [contest.group.views[place].race for place in contest.entrants]
    first = races[0] if races else None
    fits = first is not None and first.measure == contest.measure and all(race == first for race in races)
    return first if fits else None


def race_verdict(contest: Contest, race: RaceRecord, floor: str = "") -> str:
    """What to do, without an end: one to choose, some that are as good, or nothing yet. `floor`: that what is left
    is no better than what needs no document, and so nothing to choose.
    """
    left = [_label(contest.group, run_id) for run_id in race.left]
    after = f"after {race.n_queries:,} of {counted(race.n_drawn, 'query', 'queries')} of a race"
    by = f"{contest.spoken}{_levels(contest)}, {_sure(race)}{_where(contest)}"
    if race.ended != "decided":
        return (
            f"Undecided between {listed(left)} {after}: {_ENDS[race.ended]} ({by}){_not_beaten(race, left)}{floor}"
        )
    if len(left) > 1:
        return (
            f"{' or '.join(listed(left).rsplit(' and ', 1))}, within {race.margin:g} points {after} ({by}){floor}"
        )
    first = f"{left[0]} is" if floor else f"Choose {left[0]}:"
    return f"{first} better than {_whom(contest.group, race)} {after} ({by}){floor}"


def race_sentences(contest: Contest, race: RaceRecord) -> Iterator[str]:
    """Who left when, between what the others lie, and what may be said of that."""
    for drop in race.dropped:
        one, other = (_label(contest.group, run_id) for run_id in (drop.run_id, drop.against))
        yield (
            f"{one} left the race after {counted(drop.after, 'query', 'queries')}: worse than {other} by "
            f"{drop.low:.1f} to {drop.high:.1f} points."
        )
    for gap in race.gaps:
        one, other = (_label(contest.group, run_id) for run_id in (gap.a, gap.b))
        yield f"{one} is {_span(gap)} points ahead of {other}: {_says(gap, race.margin)}."
    others = ", on these documents: on others it need not be" if _where(contest) else ""
    yield (
        f"All that is said of the race is true with {_sure(race)} at least, over all pairs and as often "
        f"as one looks{others}. All other tests, intervals and ranks, in tables and figures too, are for one look "
        "at a sample of fixed size: a race ends by what it shows, so that they do not hold here."
    )


def _levels(contest: Contest) -> str:
    """` 95.0 %`, ` 61.5 % to 54.5 %`: what those get right that are left, for the better of two may be no good."""
    rows = [shown_rows(contest)[place] for place in contest.entrants]
    means = sorted((row.mean for row in rows if row is not None and row.mean is not None), reverse=True)
    shown = [f"{100 * mean:.1f} %" if contest.is_share else f"{mean:.3f}" for mean in means]
    ends = dict.fromkeys([*shown[:1], *shown[-1:]])
    return f" {' to '.join(ends)}" if ends else ""


def _where(contest: Contest) -> str:
    """`, on these documents`, where queries share them: a race takes each query for itself."""
    return f", {ON['documents']}" if contest.view(0).frame.n_clusters else ""


def _whom(group: Group, race: RaceRecord) -> str:
    labels = [_label(group, drop.run_id) for drop in race.dropped]
    return listed(labels) if len(labels) < 3 else f"all {len(labels):,} others"


def _not_beaten(race: RaceRecord, left: Sequence[str]) -> str:
    """What may be said of the leader although nothing is decided."""
    own = [gap for gap in race.gaps if gap.a == race.left[0]]
    if own and all(gap.low > -race.margin for gap in own):
        return f"; nobody is better than {left[0]} by {race.margin:g} points"
    return ""


def _says(gap: RaceGap, margin: float) -> str:
    if -margin < gap.low and gap.high < margin:
        return f"as good, within {margin:g} points"
    return "not told apart"


def _span(gap: RaceGap) -> str:
    return f"{gap.low:.1f} to {gap.high:.1f}"


def _sure(race: RaceRecord) -> str:
    return f"{100 * (1 - race.alpha):.4g} % confidence"


def _label(group: Group, run_id: str) -> str:
    return next((name(view.label) for view in group.views if view.manifest.run_id == run_id), name(run_id))
