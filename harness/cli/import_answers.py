"""`rag-harness import`: creates a run from answers of another tool."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.cli.console import open_console
from harness.core.errors import ConfigError
from harness.display.text_format import counted
from harness.runner.importing.imported_run import ImportRequest
from harness.runner.importing.importer import ImportResult, import_run


def import_file(request: ImportRequest, results: Path) -> None:
    """Import the answers, print the result and the next command."""
    result = import_run(request, results)
    console = open_console()
    for line in [_said(request, result), *_notes(result), f"next: {_next(result, results)}"]:
        console.print(line, soft_wrap=True)


def parse_pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Parse KEY=VALUE arguments. Raises ConfigError for a malformed pair or a key with two values."""
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise ConfigError(f"{option} {word!r} is not of the form KEY=VALUE", f"write {option} KEY=VALUE")
        if pairs.setdefault(key, value) != value:
            raise ConfigError(f"{option} gives {key!r} two values", "give it once")
    return pairs


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
