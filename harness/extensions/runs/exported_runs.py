"""Runs for the formats of other tools: without keys and paths of this machine, and with their means."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.api.config_building import prices_of_runs
from harness.api.frames import ReadRun, read_runs
from harness.core.errors import DataError
from harness.core.records import Score
from harness.report import check_report, load_chapters
from harness.report.chapter import Chapter
from harness.report.view import RunView
from harness.statistics.run_frame import OVERALL, Aggregate
from harness.store import RunDir, name_for


@dataclass(frozen=True)
class ExportedRuns:
    copies: Sequence[RunDir]
    """Without keys and paths of this machine."""
    originals: Mapping[str, RunDir]
    """By run id: their folders have the journals of calls and the documents, which copies lack."""

    @cached_property
    def runs(self) -> list[ReadRun]:
        return read_runs(self.copies)

    @cached_property
    def chapters(self) -> list[Chapter]:
        check_report()
        return load_chapters(self.copies, prices_of_runs(self.originals.values()))

    @cached_property
    def views(self) -> dict[str, RunView]:
        """Run id -> what a report knows of the run. DataError: a run has no scores."""
        views = {view.manifest.run_id: view for one in self.chapters for view in one.group.views if view.scored}
        for copy in self.copies:
            if copy.run_id not in views:
                fix = f"score it first: rag-harness evaluate {name_for(self.originals[copy.run_id])}"
                raise DataError(f"{copy.run_id} has no scores", fix)
        return views

    def means(self, run_id: str) -> dict[str, Aggregate]:
        """Metric or cost -> its mean over all queries, as in summary.csv; those that have one."""
        rows = (row for row in self.views[run_id].rows if row.query_type == OVERALL and row.mean is not None)
        return {row.measure: row for row in rows}


def scores_by_query(read: ReadRun) -> dict[tuple[str, int], list[Score]]:
    found: dict[tuple[str, int], list[Score]] = {}
    for score in read.run.scores():
        found.setdefault((score.query_id, score.repeat), []).append(score)
    return found


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
