"""Finds runs by name. A copy of a run directory, such as a backup, is not a second run."""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from harness.core.errors import ConfigError, StoreError
from harness.core.hashing import text_digest
from harness.store import lock, untrusted_file_reader
from harness.store.manifest import Manifest
from harness.store.run_dir import RunDir
from harness.store.run_files import RunFile

_MOST_LISTED = 5
_ID = re.compile(r".+--([0-9a-f]{12})")


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
        raise ConfigError(f"'{name}' matches {len(fitting)} runs", f"name one: {_told_apart(fitting, known)}")
    every = [*(path.name for path in known), *filter(None, names.values())]
    if close := difflib.get_close_matches(name, every, n=1, cutoff=0.5):
        raise ConfigError(f"no run '{name}' under {results}", f"did you mean '{close[0]}'?")
    raise ConfigError(f"no run '{name}' under {results}", newest_text(results))


def _told_apart(runs: Sequence[Path], known: Sequence[Path]) -> str:
    """What commands call each of these runs, and how it differs from the others of them."""
    from harness.store.run_labels import told_apart

    names = dict(zip(known, short_names([(path.name, _name_of(path)) for path in known]), strict=True))
    manifests = {path: own for path in runs if (own := _manifest_of(path))}
    words = dict(zip(manifests, told_apart(list(manifests.values())), strict=True))
    listed = [f"{names[path]} {words.get(path, '')}".strip() for path in runs[:_MOST_LISTED]]
    left = len(runs) - len(listed)
    return "; ".join([*listed, *([f"{left:,} more: {_list_command(runs[0].parent)}"] if left else [])])


def short_names(runs: Sequence[tuple[str, str]]) -> list[str]:
    """The shortest words that commands take for runs, given as id and name: a name, or the last part of the id."""
    ends = [found[1] if (found := _ID.fullmatch(run_id)) else run_id for run_id, _ in runs]
    n_named, n_ending = Counter(name for _, name in runs), Counter(ends)
    return [
        name if name and n_named[name] == 1 else end if n_ending[end] == 1 else run_id
        for (run_id, name), end in zip(runs, ends, strict=True)
    ]


def newest_text(results: Path, command: str = "") -> str:
    """What to type instead of an unknown run, or, after `command`, of none: the newest runs under `results`."""
    written = {path.parent: path.stat().st_mtime for path in results.glob("*/manifest.json")}
    if not written:
        return "runs belong to the folder in which they were made: go there, or add --results FOLDER"
    paths = sorted(written, key=lambda path: written[path], reverse=True)
    listed = ", ".join(path.name for path in paths[:_MOST_LISTED])
    left = len(paths) - _MOST_LISTED
    more = f" and {left:,} more ({_list_command(results)})" if left > 0 else ""
    named = " ".join(name_for(RunDir(path)) for path in _examples(paths, 2 if command.endswith(" compare") else 1))
    return f"the newest are {listed}{more}{f', such as {command} {named}' if command else ''}"


def _examples(paths: Sequence[Path], wanted: int) -> Sequence[Path]:
    """The newest runs over one data set, finished ones if there are enough."""
    finished = [path for path in paths if (path / "done.json").exists()]
    for some in (finished, paths):
        for first in some:
            alike = [path for path in some if path.name.partition("--")[0] == first.name.partition("--")[0]]
            if len(alike) >= wanted:
                return alike[:wanted]
    return paths[:wanted]


def _list_command(results: Path) -> str:
    is_here = results.resolve() == Path("results").resolve()
    return "rag-harness runs list" + ("" if is_here else f" --results {shlex.quote(str(results))}")


def name_for(run: RunDir) -> str:
    """What a command typed in this folder calls a run: its id, or its path if it is not in ./results."""
    is_here = (Path("results") / run.path.name).resolve() == run.path.resolve()
    return shlex.quote(run.path.name if is_here else str(run.path))


def with_typed_names(text: str, runs: Iterable[RunDir]) -> str:
    """A sentence of a report, in whose commands runs have their ids, with `name_for` of each."""
    words, command, rest = text.partition("rag-harness ")
    for run in runs:
        rest = rest.replace(run.run_id, name_for(run))
    return f"{words}{command}{rest}"


def is_being_written(run: RunDir) -> bool:
    """Whether another process holds the writer's lock of a run, such as one that answers."""
    return lock.is_held(run.path / RunFile.LOCK)


def runs_called(results: Path, name: str) -> list[str]:
    """The ids of the runs under `results` that have this name."""
    return [path.parent.name for path in results.glob("*/manifest.json") if _name_of(path.parent) == name]


def _name_of(path: Path) -> str:
    manifest = _manifest_of(path)
    return manifest.name if manifest else ""


def _manifest_of(path: Path) -> Manifest | None:
    with suppress(StoreError):  # It can still be named by its id, and is refused when it is read.
        return RunDir(path).manifest()
    return None


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
