"""Checksums in every JSON file of the store, under the key `seal`: of the file itself, and of the files it closes.

```
{..., "seal": {"sha256": "<of everything else>", "files": {"sample.jsonl": {"lines": 8, "sha256": "..."}}}}
```
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field, ValidationError

from harness.core.errors import StoreError
from harness.core.hashing import digest
from harness.core.records import Record
from harness.store import untrusted_file_reader

T = TypeVar("T")
Stamp = tuple[tuple[str, int, int, int], ...]


class StatCache(Generic[T]):
    def __init__(self) -> None:
        self._found: tuple[Stamp, T] | None = None

    def get(self, paths: Iterable[Path], look: Callable[[], T]) -> T:
        """The value of `look`, which is called again if one of the files has changed."""
        stamp = stamp_of(paths)
        if self._found is None or self._found[0] != stamp:
            self._found = stamp, look()
        return self._found[1]


def stamp_of(paths: Iterable[Path]) -> Stamp:
    stamps = []
    for path in paths:
        state = path.stat() if path.exists() else None
        stamps.append((path.name, *((state.st_mtime_ns, state.st_size, state.st_ino) if state else (0, 0, 0))))
    return tuple(stamps)


SEAL = "seal"


class FileChecksum(Record):
    """Lines and checksum of a closed file."""

    lines: int
    sha256: str


class Checksums(Record):
    """The value of the key `seal`."""

    sha256: str
    files: dict[str, FileChecksum] = Field({})


def sealed(record: BaseModel, closes: Iterable[Path] = ()) -> str:
    """The record as indented JSON with checksums, also of the files `closes` in the same folder."""
    tree: dict[str, Any] = json.loads(record.model_dump_json())
    fix = "move it away and run the same command again"
    files = {path.name: _seal_of(path, fix).model_dump() for path in closes if path.exists()}
    whole = {**tree, SEAL: {**({"files": files} if files else {}), "sha256": digest([tree, files])}}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def opened(path: Path, tree: Mapping[str, Any], fix: str) -> tuple[dict[str, Any], Mapping[str, FileChecksum]]:
    """The content of a JSON file without checksums, and those of the files it closes. StoreError with `fix`: its
    own is missing or wrong.
    """
    if SEAL not in tree:
        raise StoreError(f"{path} has no checksum: it was damaged or edited", fix)
    rest = {key: value for key, value in tree.items() if key != SEAL}
    try:
        seal = Checksums.model_validate(tree[SEAL])
        files = {name: one.model_dump() for name, one in seal.files.items()}
        is_whole = digest([rest, files]) == seal.sha256
    except (ValidationError, ValueError, RecursionError):
        is_whole = False
    if not is_whole:
        raise StoreError(f"{path} does not match its checksum: it was damaged or edited", fix)
    return rest, seal.files


def check_closed(path: Path, closes: Mapping[str, FileChecksum], by: str, fix: str) -> None:
    """Raise StoreError with `fix` if a file does not match its checksum in the file `by`, which closed it."""
    seal = closes.get(path.name)
    if seal is None:
        raise StoreError(f"{by} has no checksum of {path}", fix)
    if not path.exists():
        raise StoreError(f"{path} is missing; according to {by} it had {seal.lines:,} lines", fix)
    actual = _seal_of(path, fix)
    if actual != seal:
        lines = f" ({actual.lines:,} of {seal.lines:,} lines)" if actual.lines != seal.lines else ""
        raise StoreError(f"{path} does not match its checksum in {by}{lines}", fix)


def row_check(values: Iterable[object]) -> int:
    """CRC-32 of the columns of a database row, stored in the row."""
    check = 0
    for value in values:
        check = zlib.crc32((value if isinstance(value, bytes) else repr(value).encode()) + b"\0", check)
    return check


def _seal_of(path: Path, fix: str) -> FileChecksum:
    n_lines, open_bytes, hashed = 0, 0, hashlib.sha256()
    with untrusted_file_reader.opened(path, fix) as file:
        while block := file.read(1 << 20):
            hashed.update(block)
            n_lines += block.count(b"\n")
            after = len(block) - 1 - block.rfind(b"\n")
            open_bytes = after if after < len(block) else open_bytes + len(block)
            if open_bytes > untrusted_file_reader.LONGEST_LINE:
                raise untrusted_file_reader.too_long(path, n_lines + 1, fix)
    return FileChecksum(lines=n_lines, sha256=hashed.hexdigest())
