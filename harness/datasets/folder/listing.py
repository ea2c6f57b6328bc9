"""What lies in a folder: the same list for the same files on every machine."""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import DataError
from harness.outside import visible

_MOST_DEEP = 100
"""Folders within folders."""


@dataclass(frozen=True)
class Skipped:
    """A file, folder or row that is no document, and why."""

    path: str
    """From the folder, with forward slashes."""
    why: str
    """A reason that many may share, without names: it is counted."""


@dataclass
class Listing:
    """The files that may be read, by their names, and what else lies there."""

    files: dict[str, Path] = field(default_factory=dict)
    """By name: the path from the folder with forward slashes, composed (NFC), its hidden characters as escapes."""
    skipped: list[Skipped] = field(default_factory=list)


def list_files(folder: Path) -> Listing:
    """Every file under the folder but hidden ones, in the order of their names; links are not followed.

    DataError: the folder is not there, is none, or may not be listed.
    """
    check_folder(folder)
    try:
        found = sorted(_walk(folder, "", 0), key=lambda one: one.name)
    except OSError as error:
        raise DataError(f"{folder} cannot be listed: {error.strerror}", "check its permissions") from error
    listing = Listing()
    for one in found:
        if one.why:
            listing.skipped.append(Skipped(one.name, one.why))
        elif one.name in listing.files:
            listing.skipped.append(Skipped(one.name, "the name of another file in other code points"))
        else:
            listing.files[one.name] = one.path
    return listing


def check_folder(folder: Path) -> None:
    """DataError unless it is there and a folder."""
    try:
        what = "" if folder.is_dir() else "is not a folder" if folder.exists() else "does not exist"
    except (OSError, ValueError):
        what = "cannot be looked at"
    if what:
        raise DataError(f"{folder} {what}", "name a folder of documents")


@dataclass(frozen=True)
class _Entry:
    name: str
    path: Path
    why: str = ""


def _walk(folder: Path, inside: str, deep: int) -> Iterator[_Entry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = inside + shown_name(entry.name)
            path = Path(entry.path)
            if entry.name.startswith("."):
                yield _Entry(name, path, "hidden")
            elif entry.is_symlink():
                yield _Entry(name, path, "a link, which is not followed")
            elif not entry.is_dir():
                yield _Entry(name, path, "" if entry.is_file() else "a pipe or device, not a file")
            elif deep == _MOST_DEEP:
                yield _Entry(name, path, f"folders more than {_MOST_DEEP} deep")
            else:
                yield from _inside(path, name, deep)


def _inside(path: Path, name: str, deep: int) -> Iterator[_Entry]:
    try:
        yield from list(_walk(path, f"{name}/", deep + 1))
    except OSError as error:
        yield _Entry(name, path, f"cannot be listed ({error.strerror})")


def shown_name(name: str) -> str:
    """A name of a file as text: composed (NFC), and what is no text or not shown as its escape."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return visible(unicodedata.normalize("NFC", text)).replace("\n", "\\n").replace("\t", "\\t")
