"""What a race decided, by a statement that holds however often one looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.display.text import counted
from harness.records import RaceGap, RaceRecord
from harness.report.view import Group
from harness.report.words.contest import Contest
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


def race_verdict(contest: Contest, race: RaceRecord) -> str:
    """What to do, without an end: one to choose, some that are as good, or nothing yet."""
    left = [_label(contest.group, run_id) for run_id in race.left]
    after = f"after {race.n_queries:,} of {counted(race.n_drawn, 'query', 'queries')} of a race"
    by = f"{contest.spoken}, {_sure(race)}"
    if race.ended != "decided":
        return f"Undecided between {listed(left)} {after}: {_ENDS[race.ended]} ({by}){_not_beaten(race, left)}"
    if len(left) > 1:
        return f"{' or '.join(listed(left).rsplit(' and ', 1))}, within {race.margin:g} points {after} ({by})"
    return f"Choose {left[0]}: better than {_whom(contest.group, race)} {after} ({by})"


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
    yield (
        f"All that is said of the race is true with {_sure(race)} at least, over all pairs and as often "
        "as one looks. Tests, intervals and ranks in the tables are for one look at a sample of fixed size: this "
        "one ended by what it showed, so that they do not hold here."
    )


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
