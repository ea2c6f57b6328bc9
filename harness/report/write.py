"""The files of a report."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import explained_io
from harness.report.figures.accuracy import accuracy_by_type
from harness.report.figures.resources import resources_over_time
from harness.report.summary import summary_markdown
from harness.report.tables import summary_csv
from harness.report.text import file_name
from harness.report.view import Group, load_groups
from harness.store import RunDir

_FIGURES = "figures"


def write_report(runs: Sequence[RunDir], out: Path) -> Path:
    """Write summary.csv, summary.md and figures/ into `out` and return the path of summary.md.

    Reads the runs only: unfinished, unevaluated and failed ones are reported as that. The same runs give the same
    bytes, on whatever day. Files of an earlier report in `out` are replaced.
    """
    groups = load_groups(runs)
    figures = {group.digest: _figures(group, out, alone=len(groups) == 1) for group in groups}
    summary = out / "summary.md"
    with explained_io("write the report in", out):
        out.mkdir(parents=True, exist_ok=True)
        (out / "summary.csv").write_text(summary_csv(groups), encoding="utf-8")
        summary.write_text(summary_markdown(groups, figures), encoding="utf-8")
    return summary


def _figures(group: Group, out: Path, *, alone: bool) -> list[Path]:
    """The figures of one group, as paths relative to `out`."""
    end = "" if alone else f"--{file_name(group.digest[:12])}"
    paths = accuracy_by_type(group.views, out / _FIGURES, f"accuracy_by_type{end}")
    for view in group.views:
        paths += resources_over_time(view, out / _FIGURES, f"resources--{file_name(view.run.run_id)}")
    return [path.relative_to(out) for path in paths]
