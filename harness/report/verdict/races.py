"""The result of a race, in statements that hold for any number of looks."""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.records import RaceGap, RaceRecord
from harness.display.text_format import counted
from harness.report.labels import shortened
from harness.report.verdict.ranking import Ranking
from harness.report.view import Group

_ENDS = {
    "queries": "no query was left",
    "budget": "the budget was exhausted",
    "broken": "a system could not answer any more",
}


def race_of(ranking: Ranking) -> RaceRecord | None:
    """The race of the runs that are ranked, by the metric that ranks them; None: they were not all in one."""
    races = [ranking.group.views[place].race for place in ranking.entrants]
    first = races[0] if races else None
    fits = first is not None and first.measure == ranking.measure and all(race == first for race in races)
    return first if fits else None


def race_lines(group: Group, race: RaceRecord) -> Iterator[str]:
    """Which systems were eliminated, how the others differ, and how sure that is."""
    after = f"{race.n_queries:,} of {counted(race.n_drawn, 'query', 'queries')}"
    if race.ended == "decided":
        yield f"The race was decided after {after}."
    else:
        yield f"The race ended undecided after {after}: {_ENDS[race.ended]}."
    for drop in race.dropped:
        one, other = (_label(group, run_id) for run_id in (drop.run_id, drop.against))
        yield (
            f"{one} was eliminated after {counted(drop.after, 'query', 'queries')}: {drop.low:.1f} to "
            f"{drop.high:.1f} points worse than {other}."
        )
    for gap in race.gaps:
        one, other = (_label(group, run_id) for run_id in (gap.a, gap.b))
        verdict = "as good" if is_within(gap, race.margin) else "inconclusive"
        yield f"{one} is {gap.low:.1f} to {gap.high:.1f} points ahead of {other}: {verdict}."
    yield (
        f"These statements hold with {100 * (1 - race.alpha):.4g} % confidence, over all pairs and all looks. A "
        "race stops because of its results, so that no other test, interval or rank of these runs is valid."
    )


def is_within(gap: RaceGap, margin: float) -> bool:
    """Whether two runs are shown to be as good as each other."""
    return -margin < gap.low and gap.high < margin


def _label(group: Group, run_id: str) -> str:
    return next(
        (shortened(view.label) for view in group.views if view.manifest.run_id == run_id), shortened(run_id)
    )
