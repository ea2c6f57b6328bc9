"""Groups and chapters of a report, made of generated runs, and what is printed of them."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paired_runs import ScoredRun, Value, write_run
from rich.console import Console

from harness.display import Drawing
from harness.display.plotting import plotting
from harness.report.chapter import Chapter, load_chapters
from harness.report.sections import Reported
from harness.report.view import Group, load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir

Scores = Sequence[Value] | Mapping[str, Sequence[Value]]


def right(count: int, n: int = 200) -> Sequence[Value]:
    """Right on the first `count` of n queries."""
    return [1.0] * count + [0.0] * (n - count)


def group_of(*runs: RunDir) -> Group:
    """The only group of these runs."""
    (group,) = load_groups(runs, load_prices())
    return group


def chapter_of(*runs: RunDir, measure: str | None = None) -> Chapter:
    """The only chapter of these runs, ranked by `measure`."""
    (chapter,) = load_chapters(runs, load_prices(), measure)
    return chapter


def written(results: Path, *plans: ScoredRun) -> Group:
    """The group of the runs written for it."""
    return group_of(*(write_run(results, plan) for plan in plans))


def scored(results: Path, scores: Mapping[str, Scores], **keys: Any) -> list[RunDir]:
    """A run for each system with these scores by metric, or with this accuracy; `keys`: as in `ScoredRun`."""
    plans = {name: own if isinstance(own, Mapping) else {"accuracy": own} for name, own in scores.items()}
    return [write_run(results, ScoredRun(system=name, scores=own, **keys)) for name, own in plans.items()]


def printed(print_to: Callable[[Console], None], width: int = 100, *, terminal: bool = False) -> str:
    """What is printed to a console that is so wide, in a file or as on a terminal."""
    file = io.StringIO()
    print_to(Console(file=file, width=width, force_terminal=terminal, color_system=None))
    return file.getvalue()


def csv_rows(text: str) -> list[dict[str, str]]:
    """The rows by column name."""
    return list(csv.DictReader(io.StringIO(text)))


def drawn_in(chapter: Chapter, section: str) -> dict[str, Drawing]:
    """The figures of a section by stem."""
    (spec,) = [spec for spec in chapter.specs if spec.name == section]
    with plotting() as new_figure:
        return {one.stem: one for one in spec.draw(Reported(chapter.group, chapter.findings), new_figure)}
