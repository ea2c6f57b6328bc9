"""Finds runs by name. A copy of a run directory, such as a backup, is not a second run."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.core.errors import ConfigError, nearest
from harness.core.hashing import file_digest
from harness.store.run_dir import RunDir


def find_runs(results: Path, names: Sequence[str]) -> list[RunDir]:
    """The runs named by a path, a run id under `results`, or a unique part of one, such as a system.

    Without names: all runs under `results`, and of copies only the first. ConfigError if a name matches no run or
    several, or if two named folders are copies of the same run, because a copy is not a second measurement.
    """
    known = sorted(path.parent for path in results.glob("*/manifest.json"))
    if not names:
        copies = {copy for copy, _ in _copies(known)}
        return [RunDir(path) for path in known if path not in copies]
    found = [_find_run(results, known, name) for name in names]
    for copy, first in _copies([run.path for run in found]):
        raise ConfigError(f"{copy} is a copy of {first}", "name one of them: a copy is not a second measurement")
    return found


def _find_run(results: Path, known: Sequence[Path], name: str) -> RunDir:
    as_path = Path(name)
    if name and (as_path / "manifest.json").exists():
        return RunDir(as_path.resolve())
    fitting = [path for path in known if path.name == name]
    if name and not fitting:
        ends = [path for path in known if path.name.startswith(name) or path.name.endswith(name)]
        fitting = ends or [path for path in known if name in path.name]
    if len(fitting) == 1:
        return RunDir(fitting[0])
    if fitting:
        raise ConfigError(
            f"'{name}' matches {len(fitting)} runs", "name one: " + ", ".join(p.name for p in fitting)
        )
    raise ConfigError(f"no run '{name}' under {results}", nearest(name, [path.name for path in known]))


def _copies(runs: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Each copy, with the folder it is a copy of."""
    seen: dict[tuple[str, ...], Path] = {}
    for run in runs:
        first = seen.setdefault(_moments(run), run)
        if first.resolve() != run.resolve():
            yield run, first


def _moments(run: Path) -> tuple[str, ...]:
    """Identifies a run: manifest and done.json contain its start and end times in microseconds."""
    files = (run / "manifest.json", run / "done.json")
    return tuple(file_digest(file) for file in files if file.is_file())
