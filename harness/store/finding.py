"""Which runs a user means."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import ConfigError, nearest
from harness.store.run_dir import RunDir


def find_runs(results: Path, names: Sequence[str]) -> list[RunDir]:
    """The runs that `names` mean: a path, a run id under `results`, or the unique beginning or end of one.

    No names: every run under `results`. A name that fits none or several is one `ConfigError` line.
    """
    known = sorted(path.parent for path in results.glob("*/manifest.json"))
    if not names:
        return [RunDir(path) for path in known]
    return [_find_run(results, known, name) for name in names]


def _find_run(results: Path, known: Sequence[Path], name: str) -> RunDir:
    as_path = Path(name)
    if name and (as_path / "manifest.json").exists():
        return RunDir(as_path.resolve())
    fitting = [path for path in known if path.name == name]
    if name and not fitting:
        fitting = [path for path in known if path.name.startswith(name) or path.name.endswith(name)]
    if len(fitting) == 1:
        return RunDir(fitting[0])
    if fitting:
        raise ConfigError(f"'{name}' fits {len(fitting)} runs", "name one: " + ", ".join(p.name for p in fitting))
    raise ConfigError(f"no run '{name}' under {results}", nearest(name, [path.name for path in known]))
