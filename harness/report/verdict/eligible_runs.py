"""Which runs are ranked, and by which metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core.errors import ConfigError, nearest
from harness.display.text_format import printable
from harness.protocols import Measure
from harness.report.view import Group, RunView
from harness.statistics.query_values import COSTS


def choose(group: Group, wanted: str | None) -> tuple[str, list[int]] | None:
    """The metric that ranks, and the positions of the runs that it ranks: complete ones that were scored in the
    same way; baselines only if there is nothing else. No positions if no complete run has a value; None if no run
    has one.

    The metric is `wanted`; else that of the group if two runs have it; else evidence within the contexts of all
    runs; else the first one that all runs have; else any. Raises ConfigError for a wanted metric that no run has
    or that has no direction.
    """
    views = group.views
    rivals = [place for place, view in enumerate(views) if not view.is_baseline] or [*range(len(views))]
    complete = [place for place in rivals if views[place].is_complete]
    pending = [place for place in rivals if not views[place].is_complete]
    if wanted is None:
        measure = _own_measure(group, complete) or _own_measure(group, pending)
    else:
        _refuse_unknown(group, rivals, wanted)
        measure = wanted
    return (measure, _alike(group, complete, measure)) if measure else None


def why_apart(view: RunView, measure: str) -> str:
    """Why a run with values of a metric is not ranked, as words to follow its name; empty if it is."""
    after = view.left_race_after
    if not view.is_complete or after is not None:
        return "is not finished" if after is None else f"left the race after {after:,} queries"
    if measure in view.unscored:
        return "was scored before every answer was there: run rag-harness evaluate"
    if measure in COSTS and view.why_unpriced:
        return view.why_unpriced
    found = view.values[measure]
    if not found.is_comparable(measure):
        return f"has a value for {len(found.values):,} of {len(found.expected):,} queries only"
    return ""


def has_values(view: RunView, measure: str) -> bool:
    """Whether any query has a value of that measure."""
    return measure in view.values and bool(view.values[measure].values)


def is_scored(view: RunView) -> bool:
    """Whether any measure of an evaluator has a value."""
    return any(has_values(view, measure) for measure in view.values if measure not in COSTS)


def is_only_described(group: Group, view: RunView) -> bool:
    """Whether it has values, but only of metrics without a direction."""
    return is_scored(view) and not any(
        has_values(view, name) and (name not in group.known or is_merit(group.known[name]))
        for name in view.values
        if name not in COSTS
    )


def was_evaluated(view: RunView) -> bool:
    """Whether any evaluator scored it, with any outcome."""
    return any(measure not in COSTS for measure in view.values)


def ranking_evidence(views: Sequence[RunView], known: Mapping[str, Measure]) -> list[Measure]:
    """The retrieval metrics that rank runs if answers cannot, and of which every run has a value."""
    able = [one for one in known.values() if one.ranks_where_answers_cannot]
    return [one for one in able if all(has_values(view, one.name) for view in views)]


def _refuse_unknown(group: Group, places: Sequence[int], wanted: str) -> None:
    if not any(has_values(group.views[place], wanted) for place in places):
        what = f"no run over {group.title} has a value of '{printable(wanted)}'"
        raise ConfigError(what, nearest(wanted, _with_values(group)))
    if wanted in group.known and group.known[wanted].failure_value is None:
        what = f"'{printable(wanted)}' cannot rank: it describes contexts, and more is not better"
        raise ConfigError(what, "choose a measure of answers or of evidence")
    if wanted not in group.known and wanted not in COSTS:
        what = f"'{printable(wanted)}' cannot rank: it has no known direction"
        raise ConfigError(what, "install its evaluator, or choose another measure")


def _own_measure(group: Group, places: Sequence[int]) -> str | None:
    first, known = group.ranking.name, group.known
    scored = [place for place in places if is_scored(group.views[place])]
    evidence = [measure.name for measure in ranking_evidence([group.views[place] for place in scored], known)]
    held = {
        name: found
        for name in dict.fromkeys((first, *evidence, *(one.name for one in known.values() if is_merit(one))))
        if name in known and (found := _with_one_way(group, scored, name))
    }
    fitting = [
        name for name, found in held.items() if len(found) == len(scored) or (name == first and len(found) > 1)
    ]
    return next(iter(fitting or held), None)


def is_merit(measure: Measure) -> bool:
    """Whether the metric can rank if none is named. Descriptive metrics (length of contexts) and labels cannot."""
    return measure.failure_value is not None and not measure.labels


def _alike(group: Group, places: Sequence[int], measure: str) -> list[int]:
    """The largest group of these runs that was scored in the same way."""
    views = group.views
    able = [
        place for place in places if has_values(views[place], measure) and not why_apart(views[place], measure)
    ]
    return _with_one_way(group, able, measure)


def _with_one_way(group: Group, places: Sequence[int], measure: str) -> list[int]:
    ways: dict[str, list[int]] = {}
    for place in places:
        if has_values(group.views[place], measure):
            ways.setdefault(group.views[place].way(measure), []).append(place)
    return max(ways.values(), key=len, default=[])


def _with_values(group: Group) -> list[str]:
    names = (*group.measures, *COSTS)
    return [printable(name) for name in names if any(has_values(view, name) for view in group.views)]
