"""`runs rm`: what removing runs deletes, and what stays."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.filesize import decimal

from harness.core.errors import ConfigError
from harness.display import counted
from harness.extensions.runs.garbage import UNREADABLE, bytes_of
from harness.runner.live_run_check import index_ids
from harness.store import IndexDir, RunDir
from harness.store.asked_calls import count_calls


@dataclass(frozen=True)
class Removal:
    """A run to be removed."""

    run: RunDir
    keeps_calls: bool
    """Whether its journal stays: it has calls, as far as known, and nobody asked to delete them."""
    lines: tuple[str, ...]
    """What is deleted, and what stays."""


def planned_removals(runs: Sequence[RunDir], *, calls: bool) -> list[Removal]:
    """What removing these runs deletes; `calls`: with the calls that they paid."""
    removed = {run.path.resolve() for run in runs}
    used: dict[Path, list[str]] = {}
    for folder in {run.path.parent for run in runs}:
        for path in folder.glob("*/manifest.json"):
            if path.parent.resolve() not in removed:
                for index in _indexes(RunDir(path.parent)):
                    used.setdefault(index.path, []).append(path.parent.name)
    return [_planned(run, used, calls=calls) for run in runs]


def _planned(run: RunDir, used: dict[Path, list[str]], *, calls: bool) -> Removal:
    if run.path.is_symlink():
        raise ConfigError(f"{run.path} is a link", "name the folder itself")
    n_calls, size = count_calls(run.journal_path), bytes_of(run.path)
    keeps_calls = not calls and n_calls != 0
    journal = sum(bytes_of(path) for path in run.path.glob("calls.sqlite*"))
    paid = f"{'its paid calls' if n_calls is None else counted(n_calls, 'paid call')} ({decimal(journal)})"
    if keeps_calls:
        lines = [f"{run.path.name}: deletes {decimal(size - journal)}; {paid} stay, --calls deletes them"]
    else:
        lines = [f"{run.path.name}: deletes {decimal(size)}{f', with {paid}' if n_calls != 0 else ''}"]
    for index in _indexes(run):
        if index.path.is_dir():
            others = used.get(index.path, [])
            why = f"used by {counted(len(others), 'other run')}" if others else "gc deletes it"
            lines.append(f"  its index {index.index_id} ({decimal(bytes_of(index.path))}) stays, {why}")
    return Removal(run, keeps_calls, tuple(lines))


def _indexes(run: RunDir) -> Iterator[IndexDir]:
    """Those that are known: a run may be damaged."""
    with suppress(*UNREADABLE):
        for index_id in index_ids(run.manifest()):
            if index_id.isalnum():
                yield IndexDir(run.path.parent, index_id)
