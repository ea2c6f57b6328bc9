"""Writing so that a crash leaves either the old file or the new one, and reading what a crash left."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import StoreError, explained_io

R = TypeVar("R", bound=BaseModel)


def write_atomic(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step; after a crash it holds the old text or the new, never a part."""
    # Two processes may write the same file, such as a corpus that both their runs need: each its own part.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with explained_io("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def write_json(path: Path, record: BaseModel) -> None:
    """Write one record as indented JSON, atomically."""
    write_atomic(path, record.model_dump_json(indent=2) + "\n")


def read_json(path: Path, kind: type[R]) -> R:
    """Read one record; a damaged file is one `StoreError` line."""
    with explained_io("read", path):
        text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise _damaged(path, error) from error


def checked(path: Path, tree: dict[str, object], kind: type[R]) -> R:
    """The record that the JSON object in `path` is; a damaged one is one `StoreError` line."""
    try:
        return kind.model_validate_json(json.dumps(tree))
    except ValidationError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: ValidationError) -> StoreError:
    return StoreError(f"{path} is damaged ({first_error(error)})", "delete the run directory")


def write_jsonl(path: Path, records: Iterable[BaseModel]) -> None:
    """Write one record a line, atomically."""
    write_atomic(path, "".join(record.model_dump_json() + "\n" for record in records))


def append_line(path: Path, line: str) -> None:
    """Append one line and have it on the disk before returning."""
    with explained_io("append to", path), path.open("ab") as file:
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def repair_tail(path: Path) -> bool:
    """Cut a last line that a crash left without its end; True if there was one."""
    if not path.exists():
        return False
    with explained_io("repair", path), path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        keep = size
        while keep > 0:
            start = max(0, keep - 65536)
            file.seek(start)
            end_of_line = file.read(keep - start).rfind(b"\n")
            if end_of_line >= 0:
                keep = start + end_of_line + 1
                break
            keep = start
        if keep == size:
            return False
        file.truncate(keep)
    return True


def iter_jsonl(path: Path, kind: type[R]) -> Iterator[R]:
    """Yield one record a line. A torn last line is passed over; damage elsewhere is named by its line."""
    if not path.exists():
        return
    with explained_io("read", path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield kind.model_validate_json(line)
            except ValidationError as error:
                raise StoreError(
                    f"{path} line {number} is damaged ({first_error(error)})",
                    f"delete that line (sed -i {number}d FILE); run again and only what it held is redone",
                ) from error


def first_error(error: ValidationError) -> str:
    """The first thing pydantic complains about, in a few words."""
    detail = error.errors()[0]
    where = ".".join(str(part) for part in detail["loc"])
    return f"{where}: {detail['msg']}" if where else str(detail["msg"])


def read_object(path: Path) -> dict[str, object]:
    """The JSON object in `path` without any schema: for looking at a version before trusting the rest."""
    with explained_io("read", path):
        text = path.read_text(encoding="utf-8", errors="replace")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise StoreError(f"{path} is not JSON ({error})", "delete the run directory") from error
    if not isinstance(value, dict):
        raise StoreError(f"{path} holds no JSON object", "delete the run directory")
    return value
