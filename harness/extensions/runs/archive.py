"""The file in which runs are handed on: a ZIP with the files of each run that a report reads, and a list of them.

```
export.json                       format, schema version, runs, size and checksum of every file
<run id>/manifest.json ...        as in a run directory, without journals of calls, logs, damaged lines and locks
```
The documents are not in it, only their digest in the manifest: a report does not read them, and their licence may
not permit to hand them on. Passages that answers used, questions and reference answers are.
"""

import json
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import Field

from harness.core.bounded_files import open_plain
from harness.core.errors import DISTRIBUTION, DataError, explained_io
from harness.core.hashing import file_digest
from harness.core.records import Record
from harness.display import printable
from harness.store import SCHEMA_VERSION, RunFile, atomic_files, checksums, untrusted_file_reader
from harness.store.run_files import ANNOTATIONS, SCORES

FORMAT = 1
LIST = "export.json"
MOST_BYTES = 3 << 30
"""Of all files together, unpacked. With less than 4 GiB, a ZIP has no second, larger kind of directory."""
MOST_FILES = 20_000
_MOST_OF_A_RUN = 1000
"""Files; each evaluator has two and each annotator one."""
_MOST_RATIO = 200
"""Of unpacked to packed bytes of a large file; texts of runs reach 60."""
_LARGE = 10_000_000
_LARGEST_LIST, _LARGEST_DIRECTORY = 1 << 26, 500 * MOST_FILES
_END_BYTES = 22
"""The last part of a ZIP, without its comment."""
_LEFT_OUT = {
    RunFile.JOURNAL,  # Every prompt and reply, also of documents that no answer used; no report reads them.
    RunFile.LOG,  # Both logs have what libraries print, such as names and paths of this machine.
    RunFile.SERVER_LOG,
    RunFile.DAMAGED_RECORDS,  # No checksum vouches for them, and no reader counts them.
    RunFile.LOCK,  # It belongs to the processes of this machine.
}
_FILES = [one for one in RunFile if one not in _LEFT_OUT]
RUN_ID = r"[A-Za-z0-9][\w.-]{0,99}--[\w.-]{1,99}"
_MEMBER = re.compile(
    rf"(?P<run>{RUN_ID})/"
    rf"(({'|'.join(map(re.escape, _FILES))})"
    rf"|{SCORES}/[A-Za-z0-9][\w.-]{{0,100}}[.]jsonl?|{ANNOTATIONS}/[A-Za-z0-9][\w.-]{{0,100}}[.]jsonl)",
    re.ASCII,
)


class ExportedFile(Record):
    bytes: int = Field(ge=0)
    sha256: str


class ExportList(Record):
    """export.json."""

    format: int = FORMAT
    schema_version: int = SCHEMA_VERSION
    runs: tuple[str, ...]
    files: dict[str, ExportedFile]
    """By path within the archive."""


def files_to_export(folder: Path) -> list[Path]:
    """The files of a run directory that belong into an export. DataError for a link."""
    found = [path for path in sorted(folder.rglob("*")) if _MEMBER.fullmatch(f"a--run/{path.relative_to(folder)}")]
    for path in (*found, *(path.parent for path in found)):
        if path.is_symlink():
            raise DataError(f"{path} is a link", "put the file itself there")
    return found


def pack(file: BinaryIO, folder: Path) -> None:
    """Write all files of a folder with run directories to disk. Equal files give equal bytes on any day."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    sizes = {path: path.stat().st_size for path in paths}
    if sum(sizes.values()) > MOST_BYTES or len(paths) > MOST_FILES:
        raise DataError(f"more than {MOST_BYTES >> 30} GiB or {MOST_FILES:,} files", "export fewer runs at once")
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    files = {name: ExportedFile(bytes=sizes[path], sha256=file_digest(path)) for name, path in names.items()}
    runs = tuple(sorted(path.name for path in folder.iterdir()))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(LIST), checksums.sealed(ExportList(runs=runs, files=files)))
        for name, path in names.items():
            with path.open("rb") as source, archive.open(_entry(name), "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
    file.flush()
    os.fsync(file.fileno())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


@contextmanager
def opened_archive(path: Path) -> Iterator[tuple[zipfile.ZipFile, ExportList]]:
    """An export whose list fits its entries. DataError: it is none, leads out of its folder, or is too large."""
    with explained_io("read", path), open_plain(path) as file:
        try:
            _refuse_long_directory(path, file)
            with zipfile.ZipFile(file) as archive:
                entries = _checked_entries(path, archive, file.seek(0, os.SEEK_END))
                listed = _read_list(path, archive)
                wrong = {name: one.bytes for name, one in listed.files.items()} != entries
                runs = {found["run"] for name in entries if (found := _MEMBER.fullmatch(name))}
                if wrong or sorted(runs) != list(listed.runs) or not runs:
                    raise changed_by_hand(path, f"its files are not those of {LIST}")
                yield archive, listed
        except (zipfile.BadZipFile, EOFError, zlib.error, struct.error, ValueError, NotImplementedError) as error:
            raise DataError(f"{path} is not an export, or damaged ({error})", _ASK_AGAIN) from error


_WRITE_ONE = "`rag-harness runs export RUN -o FILE` writes one"
_ASK_AGAIN = f"ask for it again; {_WRITE_ONE}"


def changed_by_hand(path: Path, why: str) -> DataError:
    return DataError(f"{path} was damaged or changed by hand: {why}", _ASK_AGAIN)


def _refuse_long_directory(path: Path, file: BinaryIO) -> None:
    """The directory at the end of a ZIP is read into memory as a whole, so its size is checked first."""
    file.seek(-min(1 << 17, file.seek(0, os.SEEK_END)), os.SEEK_END)
    tail = file.read()
    place = tail.rfind(b"PK\5\6")
    end = tail[place:] if place >= 0 else b""
    is_large = int.from_bytes(end[12:16], "little") > _LARGEST_DIRECTORY or tail[place - 20 :][:4] == b"PK\6\7"
    if end and (len(end) < _END_BYTES or is_large):
        raise DataError(f"{path} has too long a directory for an export", _ASK_AGAIN)


def _checked_entries(path: Path, archive: zipfile.ZipFile, archive_bytes: int) -> dict[str, int]:
    """Name -> size of every entry but the list, checked before thousands of files are written to disk."""
    entries = archive.infolist()
    total = sum(one.file_size for one in entries)
    if total > MOST_BYTES or len(entries) > MOST_FILES + 1:
        what = f"{path} unpacks to {total:,} bytes in {len(entries):,} files"
        raise DataError(what, "ask for fewer runs at once")
    if sum(one.compress_size for one in entries) > archive_bytes:
        raise changed_by_hand(path, "its packed files are larger than the archive")
    for one in entries:
        mode = one.external_attr >> 16
        is_file = stat.S_IFMT(mode) in {0, stat.S_IFREG}
        if not is_file or one.flag_bits & 1 or one.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise changed_by_hand(path, f"{one.filename[:100]!r} is not a plain file")
        if one.filename != LIST and not _MEMBER.fullmatch(one.filename):
            raise changed_by_hand(path, f"{one.filename[:100]!r} is no file of a run")
        most = untrusted_file_reader.LARGEST_OBJECT if one.filename.endswith(".json") else MOST_BYTES
        if one.file_size > min(most, max(_LARGE, _MOST_RATIO * one.compress_size)):
            raise changed_by_hand(path, f"{one.filename!r} unpacks to {one.file_size:,} bytes")
    names = {one.filename for one in entries}
    if len(names) < len(entries):
        raise changed_by_hand(path, "a file is in it twice")
    for run_id, n_files in Counter(name.partition("/")[0] for name in names - {LIST}).items():
        if n_files > _MOST_OF_A_RUN or f"{run_id}/{RunFile.MANIFEST}" not in names:
            raise changed_by_hand(path, f"{run_id} has {n_files:,} files, or no manifest.json")
    return {one.filename: one.file_size for one in entries if one.filename != LIST}


def _read_list(path: Path, archive: zipfile.ZipFile) -> ExportList:
    if LIST not in archive.namelist():
        raise DataError(f"{path} is not an export: it has no {LIST}", _WRITE_ONE)
    with archive.open(LIST) as file:
        content = file.read(_LARGEST_LIST + 1)
    try:
        tree: Any = json.loads(content)
        told = {key: tree.get(key) for key in ("format", "schema_version")}
    except (ValueError, RecursionError, AttributeError) as error:
        raise changed_by_hand(path, f"{LIST} is not JSON") from error
    if told != {"format": FORMAT, "schema_version": SCHEMA_VERSION}:
        format_, schema = (printable(str(value), 20) for value in told.values())
        what = f"{path} has format {format_} and schema {schema}"
        wanted = f"this version of {DISTRIBUTION} reads {FORMAT} and {SCHEMA_VERSION}"
        raise DataError(f"{what}, {wanted}", "receive it with the version that wrote it")
    rest, _ = checksums.opened(path / LIST, tree, _ASK_AGAIN)
    return atomic_files.checked(path / LIST, rest, ExportList, _ASK_AGAIN)


def unpack(path: Path, archive: zipfile.ZipFile, listed: ExportList, folder: Path) -> Iterator[str]:
    """Write the files into an empty folder, and yield each run id once its files are there. DataError if a file
    does not match its checksum.
    """
    for run_id, names in groupby(sorted(listed.files), key=lambda name: name.partition("/")[0]):
        for name in names:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # An entry yields no more bytes than its size in the directory, which `opened_archive` has checked.
            with archive.open(name) as source, target.open("xb") as file:
                shutil.copyfileobj(source, file)
                file.flush()
                os.fsync(file.fileno())
            if file_digest(target) != listed.files[name].sha256:
                raise changed_by_hand(path, f"{name} does not match its checksum")
        yield run_id
