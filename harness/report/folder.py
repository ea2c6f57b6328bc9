"""Folders of results for people; all files of a report are replaced together.

Several commands may write to one folder at the same time. Each writes into a folder of its own and moves its files
to their places under a lock, so that the folder always holds one complete report.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from harness.core.errors import ConfigError, HarnessError, StoreError, explained_io
from harness.store import untrusted_file_reader
from harness.store.atomic_files import write_atomic
from harness.store.lock import exclusive

LIST = ".report.json"
"""Names of the files that the report wrote; no other file is ever replaced or removed."""
_LOCK = ".report.lock"
_UNFINISHED = ".report.*.partial"
_FOLDERS = ("figures", "tables")
_DELETE = "delete that report"


@contextmanager
def report_folder(out: Path, key: str = "") -> Iterator[Path]:
    """Yield an empty folder, whose files are moved to `out` if the block succeeds.

    The files of an earlier report in `out` are then removed; until then they are not touched. Raises ConfigError,
    and changes nothing, if `out` holds files that no report wrote, and if `out` or a part of it is a link. Other
    files beside an earlier report stay.
    """
    _earlier(out)
    with _own_folder(out) as own:
        yield own
        with _locked(out):
            _publish(own, out, _earlier(out), key)


def check_out(out: Path, page: str) -> None:
    """ConfigError if `report_folder` would refuse `out`, or if it holds another report than one with this page."""
    listed = _earlier(out)
    if listed and page not in listed:
        raise ConfigError(f"{out} holds another report", "name another folder with --out")


def is_current(out: Path, key: str) -> bool:
    """Whether `out` holds all files of a report written with this key, which identifies its input."""
    try:
        return bool(key) and _listed(out).key == key and all((out / name).is_file() for name in _earlier(out))
    except HarnessError:
        return False


@contextmanager
def files_together(out: Path) -> Iterator[Path]:
    """Yields an empty folder; when the block ends well, its files replace those of the same names in `out`."""
    with _own_folder(out) as own:
        yield own
        with _locked(out):
            _move(own, out, _files_in(own))


@contextmanager
def _own_folder(out: Path) -> Iterator[Path]:
    """A new folder in `out`, locked by this process; those of killed processes are removed."""
    with explained_io("write in", out), ExitStack() as stack:
        out.mkdir(parents=True, exist_ok=True)
        with _locked(out):
            for folder in out.glob(_UNFINISHED):
                if folder.is_dir() and not folder.is_symlink():
                    with suppress(StoreError), exclusive(folder / _LOCK, wait_s=0.0):
                        shutil.rmtree(folder, ignore_errors=True)
            own = Path(tempfile.mkdtemp(dir=out, prefix=".report.", suffix=".partial"))
            stack.callback(shutil.rmtree, own, ignore_errors=True)
            stack.enter_context(exclusive(own / _LOCK))
        yield own


def _locked(out: Path) -> AbstractContextManager[int]:
    return exclusive(out / _LOCK, wait_s=60.0)


def _files_in(own: Path) -> set[str]:
    names = {path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file()}
    return names - {_LOCK}


def _move(own: Path, out: Path, names: set[str]) -> None:
    """Pages last, so that the files they refer to are already there."""
    for name in sorted(names, key=lambda name: ("/" not in name, name)):
        (out / name).parent.mkdir(exist_ok=True)
        (own / name).replace(out / name)


def _earlier(out: Path) -> set[str]:
    for path in (out, *(out / name for name in (*_FOLDERS, _LOCK, LIST))):
        if path.is_symlink():
            raise ConfigError(f"{path} is a link, and a report follows none", "name a folder with --out")
    if not out.is_dir():
        return set()
    with explained_io("read", out):
        names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    listed = _listed(out).files
    if not listed and names:
        raise ConfigError(f"{out} holds other files than a report", "name an empty folder with --out")
    return listed


class _Listed(BaseModel):
    """The files that a report wrote: no list leads out of its folder."""

    key: str = ""
    files: set[Annotated[str, StringConstraints(pattern=r"^((figures|tables)/)?[^/.][^/]*$")]] = Field(
        default_factory=set
    )


def _listed(out: Path) -> _Listed:
    """Empty if there is none; ConfigError if it is damaged."""
    path = out / LIST
    text = untrusted_file_reader.text(path, _DELETE) if path.exists() else "{}"
    try:
        return _Listed.model_validate_json(text)
    except ValidationError as error:
        raise ConfigError(f"{path} is damaged: the list of files cannot be read", _DELETE) from error


def _publish(own: Path, out: Path, earlier: set[str], key: str) -> None:
    written = _files_in(own)
    for name in sorted(written):
        there = out / name
        if there.is_symlink() or (name not in earlier and there.exists()):
            raise ConfigError(f"{there} exists, and no report wrote it", "name an empty folder with --out")
    # Stopped on the way, the next report still knows all that is its own.
    _keep_list(out, earlier | written)
    _move(own, out, written)
    for name in sorted(earlier - written):
        if not (out / name).is_symlink():
            (out / name).unlink(missing_ok=True)
    for folder in _FOLDERS:
        with suppress(OSError):
            (out / folder).rmdir()
    _keep_list(out, written, key)


def _keep_list(out: Path, names: set[str], key: str = "") -> None:
    write_atomic(out / LIST, json.dumps({"key": key, "files": sorted(names)}, indent=1) + "\n")
