"""What `runs rm` and `runs gc` delete: runs, and what no run of a results folder refers to."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from rich.filesize import decimal

from harness.cli.console import open_console
from harness.core.errors import ConfigError, HarnessError, StoreError
from harness.display import counted
from harness.report.terminal import plain
from harness.runner.live_run_check import index_ids
from harness.store import IndexDir, RunDir
from harness.store.asked_calls import count_calls
from harness.store.index_dir import Corpora
from harness.store.run_removal import changing, kept_calls, remove_journal, remove_kept_calls

_INDEX, _DOCUMENTS = re.compile(r"[0-9a-f]{12}"), re.compile(r"[0-9a-f]{64}")
UNREADABLE = (HarnessError, OSError, LookupError, TypeError, ValueError, AttributeError)
"""What reading a run can raise, which may be damaged or a stranger's."""
_OF_AN_INDEX = {"index.json", "store", "store.json", ".lock", ".users"}


@dataclass
class Leftover:
    kind: Literal["index", "documents", "paid calls"]
    path: Path
    delete: Callable[[], None]
    """StoreError if a process uses it."""
    kept: str = ""
    """Why it is not deleted; empty if it is, or would be."""
    bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.bytes = bytes_of(self.path)


def bytes_of(path: Path) -> int:
    """The size of a file, or of all files in a folder; links are not followed."""
    files = [path] if path.is_file() else [*path.rglob("*")]
    return sum(one.lstat().st_size for one in files if one.is_symlink() or one.is_file())


def collect(results: Path, *, yes: bool, calls: bool, as_json: bool) -> None:
    """Print the leftovers of a results folder. `yes`: delete them; `calls`: paid calls too. While a run is
    damaged, no index and no documents are leftovers.
    """
    if not results.is_dir():
        raise ConfigError(f"there is no folder {results}", "name one with --results")
    with changing(results) if yes else nullcontext():
        runs = _runs(results)
        indexes, documents, unknown = _references(runs)
        found = [*_calls(results, any_run=bool(runs))]
        if not unknown:
            found = [*_indexes(results, indexes), *_documents(results, documents), *found]
        for one in found:
            one.kept = "--calls deletes them" if one.kind == "paid calls" and not calls else ""
            if yes and not one.kept:
                one.kept = _delete(one, is_new_run=not _runs(results) <= runs)
    console, size = open_console(), decimal(sum(one.bytes for one in found if not one.kept))
    if as_json:
        names = ("kind", "bytes", "kept")
        rows = [{"path": str(one.path), **{name: getattr(one, name) for name in names}} for one in found]
        console.print(json.dumps({"deleted": yes, "found": rows, "unknown": unknown}, indent=2), soft_wrap=True)
        return
    lines = [f"{one.kind} {one.path}: {decimal(one.bytes)}{one.kept and f', kept: {one.kept}'}" for one in found]
    lines += [f"! indexes and documents are kept, because those of a run are not known: {why}" for why in unknown]
    words = [*(["--calls"] if calls else []), "--yes", "--results", shlex.quote(str(results))]
    said = f"deleted: {size}" if yes else f"to delete {size}: rag-harness runs gc {' '.join(words)}"
    for line in (*lines, said if any(not one.kept for one in found) else "nothing to delete"):
        console.print(plain(line), soft_wrap=True)


def _delete(one: Leftover, *, is_new_run: bool) -> str:
    """Why it was kept; empty: it is deleted."""
    if is_new_run:
        return "a run began meanwhile"
    try:
        one.delete()
    except StoreError as error:
        return error.what
    return ""


def _runs(results: Path) -> set[Path]:
    return {path.parent for path in results.glob("*/manifest.json")}


def _references(runs: set[Path]) -> tuple[set[str], set[str], list[str]]:
    """The ids of the indexes and the digests of the documents of these runs, and which of them are not known."""
    indexes, documents, unknown = set[str](), set[str](), list[str]()
    for run in sorted(runs):
        try:
            manifest = RunDir(run).manifest()
            indexes.update(index_ids(manifest))
            documents.add(str(manifest.dataset.get("corpus_digest") or ""))
        except UNREADABLE as error:
            unknown.append(f"{run.name}: {getattr(error, 'what', 'its system cannot be read')}")
    return indexes, documents, unknown


def _indexes(results: Path, used: set[str]) -> Iterator[Leftover]:
    for path in sorted((results / "indexes").glob("*")):
        is_index = _INDEX.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
        if is_index and path.name not in used and {one.name for one in path.iterdir()} <= _OF_AN_INDEX:
            yield Leftover("index", path, IndexDir(results, path.name).remove)


def _documents(results: Path, used: set[str]) -> Iterator[Leftover]:
    for path in sorted((results / "corpora").glob("*.jsonl")):
        if _DOCUMENTS.fullmatch(path.stem) and path.stem not in used:
            yield Leftover("documents", path, partial(Corpora(results).remove, path.stem))


def _calls(results: Path, *, any_run: bool) -> Iterator[Leftover]:
    """The journals of removed runs, and the shared ones if there is no run left that they belong to."""
    for folder in kept_calls(results):
        yield Leftover("paid calls", folder, partial(remove_kept_calls, folder))
    for name in () if any_run else ("indexes", "judge", "asked"):
        if (path := results / name / "calls.sqlite").is_file():
            yield Leftover("paid calls", path, partial(remove_journal, path))


def planned_removals(runs: Sequence[RunDir], *, calls: bool) -> list[tuple[RunDir, bool, list[str]]]:
    """Each run, whether its paid calls stay, and lines on what is deleted and what stays."""
    removed = {run.path.resolve() for run in runs}
    used: dict[Path, list[str]] = {}
    for folder in {run.path.parent for run in runs}:
        for path in folder.glob("*/manifest.json"):
            if path.parent.resolve() not in removed:
                for index in _indexes_of(RunDir(path.parent)):
                    used.setdefault(index.path, []).append(path.parent.name)
    return [_planned(run, used, calls=calls) for run in runs]


def _planned(run: RunDir, used: dict[Path, list[str]], *, calls: bool) -> tuple[RunDir, bool, list[str]]:
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
    for index in _indexes_of(run):
        if index.path.is_dir():
            others = used.get(index.path, [])
            why = f"used by {counted(len(others), 'other run')}" if others else "gc deletes it"
            lines.append(f"  its index {index.index_id} ({decimal(bytes_of(index.path))}) stays, {why}")
    return run, keeps_calls, lines


def _indexes_of(run: RunDir) -> Iterator[IndexDir]:
    """Those that are known: a run may be damaged."""
    with suppress(*UNREADABLE):
        for index_id in index_ids(run.manifest()):
            if index_id.isalnum():
                yield IndexDir(run.path.parent, index_id)
