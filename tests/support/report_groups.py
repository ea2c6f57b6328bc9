"""Groups of a report, made of generated runs."""

from collections.abc import Sequence
from pathlib import Path

from paired_runs import ScoredRun, Value, write_run

from harness.report.chapter import Chapter, load_chapters
from harness.report.view import Group, load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir


def right(count: int, n: int = 200) -> Sequence[Value]:
    """Right on the first `count` of n queries."""
    return [1.0] * count + [0.0] * (n - count)


def group_of(*runs: RunDir) -> Group:
    """The only group of these runs."""
    (group,) = load_groups(runs, load_prices())
    return group


def chapter_of(*runs: RunDir) -> Chapter:
    """The only chapter of these runs."""
    (chapter,) = load_chapters(runs, load_prices())
    return chapter


def written(results: Path, *plans: ScoredRun) -> Group:
    """The group of the runs written for it."""
    return group_of(*(write_run(results, plan) for plan in plans))
