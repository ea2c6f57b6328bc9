"""Finds runs by name. A copy of a run directory, such as a backup, is not a second run."""

import difflib
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from harness.core.errors import ConfigError, StoreError
from harness.core.hashing import text_digest
from harness.store import lock, untrusted_file_reader
from harness.store.run_dir import RunDir
from harness.store.run_files import RunFile

_MOST_LISTED = 5


def find_runs(results: Path, names: Sequence[str]) -> list[RunDir]:
    """The runs named by a path, a run id or name under `results`, or a unique part of one, such as a system.

    Without names: all runs under `results`, and of copies only the first. ConfigError if a name matches no run or
    several, or if two named folders are copies of the same run, because a copy is not a second measurement.
    """
    known = sorted(path.parent for path in results.glob("*/manifest.json"))
    if not names:
        copies = {copy for copy, _ in _copies(known)}
        return [RunDir(path) for path in known if path not in copies]
    runs = [_find_run(results, known, name) for name in names]
    for copy, first in _copies([run.path for run in runs]):
        raise ConfigError(f"{copy} is a copy of {first}", "name one of them: a copy is not a second measurement")
    return runs


def _find_run(results: Path, known: Sequence[Path], name: str) -> RunDir:
    as_path = Path(name)
    if name and (as_path / RunFile.MANIFEST).exists():
        return RunDir(as_path.resolve())
    fitting = [path for path in known if path.name == name]
    names: dict[Path, str] = {}
    if name and not fitting:
        names = {path: _name_of(path) for path in known}
        # A whole name, system or hash says more than a part of one.
        fits: tuple[Callable[[Path], bool], ...] = (
            lambda path: name == names[path],
            lambda path: name in path.name.split("--"),
            lambda path: any(one.startswith(name) or one.endswith(name) for one in (path.name, names[path])),
            lambda path: name in path.name or name in names[path],
        )
        fitting = next(filter(None, ([path for path in known if fit(path)] for fit in fits)), [])
    if len(fitting) == 1:
        return RunDir(fitting[0])
    if fitting:
        listed = ", ".join(
            f"{path.name} ({label})" if (label := names.get(path)) else path.name for path in fitting
        )
        raise ConfigError(f"'{name}' matches {len(fitting)} runs", f"name one: {listed}")
    every = [*(path.name for path in known), *filter(None, names.values())]
    if close := difflib.get_close_matches(name, every, n=1, cutoff=0.5):
        raise ConfigError(f"no run '{name}' under {results}", f"did you mean '{close[0]}'?")
    raise ConfigError(f"no run '{name}' under {results}", newest_text(results))


def newest_text(results: Path, command: str = "") -> str:
    """What to type instead of an unknown run, or, after `command`, of none: the newest runs under `results`."""
    written = {path.parent.name: path.stat().st_mtime for path in results.glob("*/manifest.json")}
    if not written:
        return "runs belong to the folder in which they were made: go there, or add --results FOLDER"
    names = sorted(written, key=lambda name: written[name], reverse=True)
    more = f" and {len(names) - _MOST_LISTED:,} more (rag-harness runs list)" if len(names) > _MOST_LISTED else ""
    n_needed = 2 if command.endswith(" compare") else 1
    example = f", such as {command} {' '.join(names[:n_needed])}" if command else ""
    return f"the newest are {', '.join(names[:_MOST_LISTED])}{more}{example}"


def name_for(run: RunDir) -> str:
    """What a command typed in this folder calls a run: its id, or its path if it is not in ./results."""
    is_here = (Path("results") / run.path.name).resolve() == run.path.resolve()
    return shlex.quote(run.path.name if is_here else str(run.path))


def is_being_written(run: RunDir) -> bool:
    """Whether another process holds the writer's lock of a run, such as one that answers."""
    return lock.is_held(run.path / RunFile.LOCK)


def runs_called(results: Path, name: str) -> list[str]:
    """The ids of the runs under `results` that have this name."""
    return [path.parent.name for path in results.glob("*/manifest.json") if _name_of(path.parent) == name]


def _name_of(path: Path) -> str:
    try:
        return RunDir(path).manifest().name
    except StoreError:  # It can still be named by its id, and is refused when it is read.
        return ""


def _copies(runs: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Each copy, with the folder it is a copy of."""
    seen: dict[tuple[str, ...], Path] = {}
    for run in runs:
        # Manifest and done.json contain the start and the end of a run in microseconds.
        files = (run / RunFile.MANIFEST, run / RunFile.DONE)
        try:
            own = tuple(text_digest(untrusted_file_reader.text(file, "")) for file in files if file.exists())
        except StoreError:  # It is refused when it is read.
            continue
        first = seen.setdefault(own, run)
        if first.resolve() != run.resolve():
            yield run, first
