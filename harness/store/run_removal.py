"""Removes runs from a results folder and adds received ones. A crash leaves each run as it was, or gone, or added.

A run is moved into `.runs/` in one step, which removes it from the results, and deleted there. Its journal of paid
calls goes back to where it was, if it is to be kept: the same run then replays its calls instead of paying again.
"""

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.core.errors import StoreError, explained_io
from harness.store import lock
from harness.store.run_dir import RunDir
from harness.store.run_files import ANNOTATIONS, RunFile

_WITH_CALLS, _WITHOUT_CALLS = "whole", "but-calls"
_CALLS = (f"{RunFile.JOURNAL}-wal", f"{RunFile.JOURNAL}-shm", RunFile.JOURNAL)
"""The database last: until it is back, nobody opens it without the rest."""


def own_folder(results: Path) -> Path:
    """The folder for what is not a run; StoreError if it is a link, because files in it are deleted."""
    service_folder = results / ".runs"
    for folder in (service_folder, service_folder / _WITH_CALLS, service_folder / _WITHOUT_CALLS):
        if folder.is_symlink():
            raise StoreError(f"{folder} is a link, and files in its target would be deleted", "delete the link")
    return service_folder


@contextmanager
def changing(results: Path) -> Iterator[None]:
    """Hold the lock under which runs are named, removed and received, and finish what a crash interrupted."""
    folder = own_folder(results)
    with lock.exclusive(folder / ".lock", of=results):
        with explained_io("remove", folder):
            for left in (*folder.glob(f"{_WITH_CALLS}/*"), *folder.glob(f"{_WITHOUT_CALLS}/*")):
                _delete(left, results)
            for left in folder.glob("staging-*"):
                shutil.rmtree(left)
        yield


def remove_run(run: RunDir, *, calls: bool) -> None:
    """Remove a run; `calls`: with its journal of paid calls. Hold `changing` and the lock of the run."""
    results = run.path.parent
    place = own_folder(results) / (_WITH_CALLS if calls else _WITHOUT_CALLS) / run.path.name
    if place.exists():
        raise StoreError(
            f"{place} still holds calls that an earlier run of this id paid",
            f"delete them first: rag-harness runs gc --calls --yes --results {shlex.quote(str(results))}",
        )
    with ExitStack() as stack, explained_io("remove", run.path):
        for held in run.path.glob(f"{ANNOTATIONS}/.*.lock"):
            stack.enter_context(lock.exclusive(held, wait_s=0.0))
        place.parent.mkdir(parents=True, exist_ok=True)
        run.path.rename(place)
        _delete(place, results)


def _delete(removed: Path, results: Path) -> None:
    """Delete a folder that is no longer a run. Calls stay in it if their place is taken by those of a new run."""
    if removed.parent.name == _WITHOUT_CALLS:
        kept = results / removed.name
        for name in _CALLS:
            if (removed / name).exists():
                if (kept / name).exists():
                    return
                kept.mkdir(exist_ok=True)
                (removed / name).rename(kept / name)
    shutil.rmtree(removed)


def kept_calls(results: Path) -> list[Path]:
    """The folders with nothing but the paid calls of a removed run."""
    beside = (path.parent for path in results.glob(f"*--*/{RunFile.JOURNAL}"))
    alone = [path for path in beside if {one.name for one in path.iterdir()} <= {*_CALLS, RunFile.LOCK}]
    return sorted([*alone, *own_folder(results).glob(f"{_WITHOUT_CALLS}/*")])


def remove_kept_calls(folder: Path) -> None:
    """Delete one of these folders. StoreError if a process works in it."""
    with lock.exclusive(folder / RunFile.LOCK, wait_s=0.0), explained_io("remove", folder):
        shutil.rmtree(folder)


def remove_journal(path: Path) -> None:
    """Delete a journal that several runs shared."""
    with explained_io("remove", path):
        for name in reversed(_CALLS):
            (path.parent / name).unlink(missing_ok=True)


@contextmanager
def staging(results: Path) -> Iterator[Path]:
    """A folder for runs on their way into or out of `results`, deleted afterwards. Hold `changing`."""
    with tempfile.TemporaryDirectory(prefix="staging-", dir=own_folder(results)) as folder:
        yield Path(folder)


def refuse_existing(results: Path, run_id: str) -> None:
    """StoreError if there is a run, or anything else, of that id."""
    if (place := results / run_id).exists() or place.is_symlink():
        raise StoreError(f"{place} exists, and is not overwritten", "name another folder with --results")


def add_run(folder: Path, results: Path) -> RunDir:
    """Move a complete run directory into `results` in one step. Hold `changing`."""
    refuse_existing(results, folder.name)
    with explained_io("write", results):
        folder.rename(results / folder.name)
    return RunDir(results / folder.name)
