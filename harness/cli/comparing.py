"""`rag-harness compare`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cli.consoles import open_console
from harness.report.comparison import (
    Choice,
    compare_runs,
    comparison_json,
    render_comparison,
    write_comparison,
)
from harness.store import find_runs


@dataclass(frozen=True)
class CompareOptions:
    """The flags of the command."""

    measures: str | None
    query_type: str | None
    baseline: str | None
    out: Path | None
    results: Path
    as_json: bool


def compare(names: Sequence[str], options: CompareOptions) -> None:
    """Compare the named runs, print what came out, and write it to `out` where that is given."""
    measures = tuple(filter(None, (name.strip() for name in (options.measures or "").split(","))))
    baseline = find_runs(options.results, [options.baseline])[0] if options.baseline is not None else None
    choice = Choice(measures, options.query_type, baseline)
    comparison = compare_runs(find_runs(options.results, names), choice)
    written = write_comparison(comparison, options.out) if options.out else None
    console = open_console()
    if options.as_json:
        text = json.dumps(comparison_json(comparison), indent=2)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    render_comparison(comparison, console)
    if written:
        console.print(f"comparison: {written}", markup=False, highlight=False, soft_wrap=True)
