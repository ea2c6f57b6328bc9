"""Were these systems compared before on a part of these queries? A sample that grows until a test is significant
makes false winners, so the test must then hold for any number of looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.core.errors import HarnessError
from harness.report.verdict.ranking import Ranking
from harness.report.view import RunView
from harness.statistics.anytime_valid import anytime_p
from harness.store import Manifest, RunDir, find_runs

_SAME = ("system", "models", "answers")
"""Of an identity: what makes it the same system."""


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
    grown = Counter(size for view in views for size in _own_looks(view.run))
    return {size for systems in seen.values() if len(systems) > 1 for size in systems.values()} | {
        size for size, n in grown.items() if n > 1
    }


def _own_looks(run: RunDir) -> tuple[int, ...]:
    reach = run.reach()
    return reach.looks if reach else ()


def _earlier(run: RunDir, views: list[RunView]) -> Iterator[tuple[str, str, int]]:
    """System, digest and size of a finished run of one of these systems on a part of the queries."""
    try:
        manifest = run.manifest()
        fitting = [view for view in views if _is_same(manifest, view.manifest)]
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


def _is_same(one: Manifest, other: Manifest) -> bool:
    """The same system with the same parameters and models, over the same data set."""
    if _dataset(one) != _dataset(other):
        return False
    return all(one.identity.get(key) == other.identity.get(key) for key in _SAME)


def _dataset(manifest: Manifest) -> tuple[Any, Any]:
    dataset = manifest.identity.get("dataset", {})
    return dataset.get("name"), dataset.get("subset")
