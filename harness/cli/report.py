"""`rag-harness report`."""

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness import __version__
from harness.api.config_building import prices_of_runs
from harness.cli.console import open_console
from harness.core.hashing import short_digest
from harness.report import check_report, load_chapters, render_terminal, write_report
from harness.report.chapter import Chapter
from harness.report.folder import is_current
from harness.report.notes import data_notes
from harness.report.published import read_published
from harness.report.write import PAGE
from harness.runner.machine_info import git_commit
from harness.statistics.prices import Prices
from harness.store import RunDir, find_runs


@dataclass(frozen=True)
class ReportOptions:
    """The options of the command, without the runs."""

    out: Path | None
    results: Path
    prices: Path | None = None
    """A price table of the user."""
    measure: str | None = None
    """The metric to rank by. None: from the configs of the runs, or from their data set."""
    margin: float | None = None
    """By how many points a run may be worse and still count as good. None: from the configs."""
    full: bool = False
    as_json: bool = False
    keep_current: bool = False
    """Keep a report that this version of the harness wrote from the same runs and scores."""
    formats: tuple[str, ...] = ()
    """Formats of figures besides SVG."""
    beside: str | None = None
    """A paper, or a CSV file, whose values to show beside those of the runs."""

    def folder(self, runs: Sequence[RunDir]) -> Path:
        """`out`, or a folder for these runs and options: a report by another metric replaces no earlier one."""
        ids = sorted(run.run_id for run in runs)
        chosen = [str(self.prices or ""), self.measure, self.margin, list(self.formats), self.beside]
        is_default = chosen == ["", None, None, [], None]
        return self.out or self.results / "reports" / short_digest(ids if is_default else [ids, chosen])


def _key(runs: Sequence[RunDir], chapters: Sequence[Chapter], options: ReportOptions) -> str:
    """Identifies the content of a report; empty if a run is open or the harness has uncommitted changes."""
    commit = git_commit()
    fingerprints = [run.fingerprint() for run in runs]
    if commit.endswith("-dirty") or not all(fingerprints):
        return ""
    # The verdicts also depend on prices and on earlier runs beside these.
    verdicts = [chapter.findings.verdict.to_json() for chapter in chapters]
    return short_digest([__version__, commit, fingerprints, verdicts, list(options.formats), options.beside])


def report_runs(names: Sequence[str], options: ReportOptions) -> None:
    check_report()
    runs = find_runs(options.results, names)
    print_report(runs, options, prices_of_runs(runs, options.prices), open_console())


def print_report(
    runs: Sequence[RunDir],
    options: ReportOptions,
    prices: Prices,
    console: Console,
    *,
    reported: Collection[str] = (),
    is_last: bool = True,
) -> Path:
    """Write the report to `options.folder` and print the verdict. Returns the path of the page.

    A group of runs whose verdict the command already printed (`reported`) is one line. `is_last`: whether the next
    command is printed.
    """
    folder = options.folder(runs)
    published = read_published(options.beside) if options.beside else None
    chapters = load_chapters(runs, prices, options.measure, options.margin, published)
    key = _key(runs, chapters, options)
    if options.keep_current and is_current(folder, key):
        page = folder / PAGE
    else:
        page = write_report(chapters, folder, options.formats, key)
    if options.as_json:
        verdicts = [chapter.findings.verdict.to_json() for chapter in chapters]
        sys.stdout.write(json.dumps(verdicts, indent=2) + "\n")
    else:
        runs_of = [{view.run.run_id for view in chapter.group.views} for chapter in chapters]
        new = [
            chapter for chapter, ids in zip(chapters, runs_of, strict=True) if not ids <= set(reported)
        ] or chapters
        for chapter in chapters:
            if chapter not in new:
                console.print(f"{chapter.findings.verdict.dataset}: its verdict is above", soft_wrap=True)
        manifests = [run.manifest() for run in runs if options.keep_current]
        known = [note for manifest in manifests for note in data_notes(manifest)]
        render_terminal(new, console, full=options.full, page=page, then=is_last, known=known)
    return page
