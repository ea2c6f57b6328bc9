"""Results that hold for any number of looks: of races, and where these systems were compared before on a part of
these queries. A sample that grows until a test is significant makes false winners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from harness.core.errors import HarnessError
from harness.core.records import RaceRecord
from harness.display import counted
from harness.report.labels import shortened
from harness.report.verdict.ranking import Ranking
from harness.report.view import Group, RunView
from harness.statistics.race_test import anytime_p
from harness.store import Manifest, RunDir, find_runs

_SAME = ("system", "models", "answers")
"""Of an identity: what makes it the same system."""
_ENDS = {
    "queries": "no query was left",
    "budget": "the budget was exhausted",
    "broken": "a system could not answer any more",
}


def race_lines(group: Group, race: RaceRecord) -> Iterator[str]:
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
        within = -race.margin < gap.low and gap.high < race.margin
        verdict = "as good" if within else "inconclusive"
        yield f"{one} is {gap.low:.1f} to {gap.high:.1f} points ahead of {other}: {verdict}."
    yield (
        f"These statements hold with {100 * (1 - race.alpha):.4g} % confidence, over all pairs and all looks. A "
        "race stops because of its results, so that no other test, interval or rank of these runs is valid."
    )


def _label(group: Group, run_id: str) -> str:
    return next(
        (shortened(view.label) for view in group.views if view.manifest.run_id == run_id), shortened(run_id)
    )


def anytime_p_of(ranking: Ranking) -> float | None:
    """The p value of the lead of the best run over the next one that holds for any number of looks; None without
    earlier looks.
    """
    compared = ranking.ranked
    if compared is None or len(ranking.entrants) < 2 or not earlier_looks(ranking):
        return None
    best, second, *_ = ranking.order
    ahead = compared.differences(best, second)
    if compared.measure.higher_is_better is False:
        ahead = -ahead
    return anytime_p(int((ahead > 0).sum()), int((ahead < 0).sum()))


def earlier_looks(ranking: Ranking) -> set[int]:
    """Sizes of the smaller samples within this one over which two of the systems or more have finished runs, or
    had them before the runs went on.
    """
    views = [ranking.group.views[place] for place in ranking.entrants]
    if len(views) < 2:
        return set()
    own = {view.run.path.resolve() for view in ranking.group.views}
    seen: dict[str, dict[str, int]] = {}
    for folder in {view.run.path.parent for view in views}:
        for run in find_runs(folder, []):
            if run.path.resolve() not in own:
                for system, digest, size in _earlier(run, views):
                    seen.setdefault(digest, {})[system] = size
    reached = [reach for view in views if (reach := view.run.reach())]
    grown = Counter(size for reach in reached for size in reach.looks)
    return {size for systems in seen.values() if len(systems) > 1 for size in systems.values()} | {
        size for size, n in grown.items() if n > 1
    }


def _earlier(run: RunDir, views: Sequence[RunView]) -> Iterator[tuple[str, str, int]]:
    """System, digest and size of a finished run of one of these systems on a part of the queries."""
    try:
        manifest = run.manifest()
        fitting = [view for view in views if _what_ran(manifest) == _what_ran(view.manifest)]
        if not fitting or run.done() is None:
            return
        rows = run.sample()
    except HarnessError:  # A run that cannot be read was not compared here.
        return
    for view in fitting:
        # Ids are not enough: two question files may use the same ones.
        asked = len(rows) < len(view.sample) and all(view.sample.get(row.query.query_id) == row for row in rows)
        if asked:
            yield view.run.run_id, str(manifest.identity["dataset"].get("digest")), len(rows)


def _what_ran(manifest: Manifest) -> list[Any]:
    """Equal for the same system with the same parameters and models over the same data set."""
    dataset = manifest.identity.get("dataset", {})
    return [dataset.get("name"), dataset.get("subset"), *map(manifest.identity.get, _SAME)]
