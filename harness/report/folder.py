"""The folder of a report: what a report wrote there is its own, and everything else is somebody's."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from harness.errors import ConfigError, explained_io
from harness.store.files import write_atomic

LIST = ".report.json"
"""What the report in this folder wrote: nothing else is ever replaced or removed."""
_PARTIAL = ".report.partial"
_FOLDERS = ("figures", "tables")


@contextmanager
def report_folder(out: Path) -> Iterator[Path]:
    """Yields an empty folder; what is written there takes its place in `out` when the block ends well.

    Of an earlier report in `out` nothing is left then, and until then nothing of it is touched. Raises
    ConfigError, and changes nothing, where `out` holds what no report wrote (beside a report it may lie, and
    stays), and where `out` or a part of it is a link: what it leads to is not ours.
    """
    earlier = _earlier(out)
    partial = out / _PARTIAL
    with explained_io("write the report in", out):
        out.mkdir(parents=True, exist_ok=True)
        _forget(partial)
        try:
            partial.mkdir()
            yield partial
            _publish(partial, out, earlier)
        finally:
            _forget(partial)


def _earlier(out: Path) -> set[str]:
    """The files of the report that is there."""
    for path in (out, *(out / name for name in (*_FOLDERS, _PARTIAL, LIST))):
        if path.is_symlink():
            raise ConfigError(f"{path} is a link, and a report follows none", "name a folder with --out")
    if not out.is_dir():
        return set()
    with explained_io("read", out):
        listed = (out / LIST).read_text(encoding="utf-8") if (out / LIST).exists() else None
        names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    if listed is None and names:
        raise ConfigError(f"{out} holds other files than a report", "name an empty folder with --out")
    return _names(out, listed or "[]")


def _names(out: Path, listed: str) -> set[str]:
    try:
        names = json.loads(listed)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_ours(name) for name in names):
        raise ConfigError(f"{out / LIST} is damaged: it does not say what the report wrote", "delete that report")
    return set(names)


def _is_ours(name: str) -> bool:
    """Whether a report could have written it: no list leads out of its folder."""
    parts = PurePosixPath(name).parts
    plain = bool(parts) and all(not part.startswith(".") and part != "/" for part in parts)
    return plain and (len(parts) == 1 or (len(parts) == 2 and parts[0] in _FOLDERS))


def _publish(partial: Path, out: Path, earlier: set[str]) -> None:
    written = {path.relative_to(partial).as_posix() for path in partial.rglob("*") if path.is_file()}
    for name in sorted(written):
        there = out / name
        if there.is_symlink() or (name not in earlier and there.exists()):
            raise ConfigError(f"{there} is there, and no report wrote it", "name an empty folder with --out")
    # Stopped on the way, the next report still knows all that is its own.
    _keep_list(out, earlier | written)
    for name in sorted(earlier - written):
        if not (out / name).is_symlink():
            (out / name).unlink(missing_ok=True)
    for name in sorted(written):
        (out / name).parent.mkdir(exist_ok=True)
        (partial / name).replace(out / name)
    for folder in _FOLDERS:
        with suppress(OSError):
            (out / folder).rmdir()
    _keep_list(out, written)


def _keep_list(out: Path, names: set[str]) -> None:
    write_atomic(out / LIST, json.dumps(sorted(names), indent=1) + "\n")


def _forget(partial: Path) -> None:
    if partial.exists():
        shutil.rmtree(partial)
