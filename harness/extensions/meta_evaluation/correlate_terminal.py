"""`rag-harness correlate`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.cli.console import open_console
from harness.display import printable
from harness.extensions.meta_evaluation.columns import measured_columns, with_labels
from harness.extensions.meta_evaluation.correlations import By, CorrelationFindings, correlate_columns
from harness.extensions.meta_evaluation.label_sheet import parse_scale, read_labels
from harness.runner.progress import Reporter
from harness.store import find_runs


@dataclass(frozen=True)
class CorrelateOptions:
    """The flags of the command."""

    measures: tuple[str, ...] = ()
    labels: Path | None = None
    scale: str | None = None
    by: By | None = None
    out: Path | None = None
    results: Path = Path("results")
    as_json: bool = False
    quiet: bool = False


def correlate_named(names: Sequence[str], options: CorrelateOptions) -> None:
    """Correlate the scores of the named runs, print the result, and write it to `out` if given."""
    scale = parse_scale(options.scale) if options.scale else None
    columns = measured_columns(find_runs(options.results, names), options.measures)
    if options.labels:
        columns = with_labels(columns, read_labels(options.labels, scale))
    with Reporter(quiet=options.quiet).bar("correlate") as bar:
        findings = correlate_columns(columns, options.by, bar.update)
    written = _write(findings, options.out) if options.out else None
    console = open_console()
    if options.as_json:
        from harness.extensions.meta_evaluation.correlation_tables import correlation_data

        console.print(json.dumps(correlation_data(findings), indent=1, allow_nan=False), soft_wrap=True)
        return
    _print(findings, console)
    if written:
        console.print(f"correlations: {written}", soft_wrap=True)


def _print(findings: CorrelationFindings, console: Console) -> None:
    from harness.extensions.meta_evaluation.correlation_tables import correlation_sections
    from harness.report.render.terminal import WIDTH, plain, print_table

    for section in correlation_sections(findings):
        for table in section.content.tables:
            print_table(table, console, min(console.width, WIDTH))
        for item in section.content.items:
            console.print(plain(f"- {printable(item, 400)}"), soft_wrap=True)


def _write(findings: CorrelationFindings, out: Path) -> Path:
    from harness.display.plotting import plotting
    from harness.extensions.meta_evaluation.correlation_figures import draw_correlations
    from harness.extensions.meta_evaluation.correlation_tables import correlation_data, correlation_sections
    from harness.extensions.meta_evaluation.findings_files import write_folder

    first, *others = correlation_sections(findings)
    with plotting() as new_figure:
        sections = [(first, draw_correlations(findings, new_figure)), *((one, ()) for one in others)]
        return write_folder(out, "correlations", "Correlations", sections, correlation_data(findings))
