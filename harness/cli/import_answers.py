"""`rag-harness import`: creates a run from answers of another tool."""

import shlex
from pathlib import Path

from harness.cli.console import open_console
from harness.display.text_format import counted
from harness.runner.importing.imported_run import ImportRequest
from harness.runner.importing.importer import ImportResult, import_run


def import_file(request: ImportRequest, results: Path) -> None:
    """Import the answers, print the result and the next command."""
    result = import_run(request, results)
    console = open_console()
    for line in [_said(request, result), *_notes(result), f"next: {_next(result, results)}"]:
        console.print(line, soft_wrap=True)


def _said(request: ImportRequest, result: ImportResult) -> str:
    if result.was_complete:
        return f"{result.run.run_id} already has these answers: nothing to do"
    failed = f", {counted(result.n_failed, 'query', 'queries')} failed" if result.n_failed else ""
    return f"imported {counted(result.n_answers, 'answer')} of {request.label}{failed}: {result.run.run_id}"


def _notes(result: ImportResult) -> list[str]:
    notes = () if result.was_complete else result.notes
    return [f"  note: {note}" for note in (*result.mended, *notes)]


def _next(result: ImportResult, results: Path) -> str:
    elsewhere = [] if results == Path("results") else ["--results", str(results)]
    return shlex.join(["rag-harness", "evaluate", result.run.run_id, *elsewhere])
