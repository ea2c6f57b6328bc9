"""Lists the files of a folder; the list is the same for the same files on every machine."""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.bounded_files import open_plain
from harness.core.errors import DataError, nearest_file
from harness.core.sanitize import visible
from harness.datasets.folder.ignore_rules import OF_A_TOOL, IgnoreRules

_MOST_DEEP = 100
"""Deepest nesting of folders."""
_OURS = ({"indexes", "corpora"}, {"manifest.json", "sample.jsonl"}, {"report.html", "summary.csv"})
"""Files that identify results, a run or a report of the harness; these are not documents."""


@dataclass(frozen=True)
class Skipped:
    """A file, folder or row that is not read as a document, and why."""

    path: str
    """Path relative to the folder, with forward slashes."""
    why: str
    """The reason, without names, because equal reasons are counted."""


@dataclass
class Listing:
    """The readable files by name, and the skipped ones."""

    files: dict[str, Path] = field(default_factory=dict)
    """Path by name. A name is the relative path with forward slashes, in NFC, with hidden characters escaped."""
    skipped: list[Skipped] = field(default_factory=list)
    included: set[str] = field(default_factory=set)
    """Files that match a pattern of `include`."""


def list_files(folder: Path, include: Sequence[str] = ()) -> Listing:
    """All files under the folder, sorted by name, except those excluded by `IgnoreRules`. Files that match a
    pattern of `include` are listed anyway. Links are not followed.

    DataError: the folder does not exist, is a file, or cannot be listed. ConfigError: invalid pattern.
    """
    check_folder(folder)
    rules = IgnoreRules.including(include)
    try:
        found = sorted(_walk(folder, "", 0, rules), key=lambda one: (one.name, os.fsencode(one.path)))
    except OSError as error:
        raise DataError(f"{folder} cannot be listed: {error.strerror}", "check its permissions") from error
    listing = Listing()
    for one in found:
        if one.why:
            listing.skipped.append(Skipped(one.name, one.why))
        elif one.name.rpartition("/")[2].startswith("~$"):
            listing.skipped.append(Skipped(one.name, "lock file of an office program"))
        elif one.name in listing.files:
            listing.skipped.append(Skipped(one.name, "same name as another file after Unicode normalisation"))
        else:
            listing.files[one.name] = one.path
            if rules.includes(one.name):
                listing.included.add(one.name)
    return listing


def check_folder(folder: Path) -> None:
    """Raise DataError unless it is an existing folder."""
    try:
        what = "" if folder.is_dir() else "is not a folder" if folder.exists() else "does not exist"
    except (OSError, ValueError):
        what = "cannot be accessed"
    if what:
        fix = "name a folder of documents"
        raise DataError(f"{folder} {what}", nearest_file(folder, fix) if what == "does not exist" else fix)


def check_file(file: Path) -> None:
    """Raise DataError unless the question file can be read."""
    try:
        open_plain(file).close()
    except OSError as error:
        fix = nearest_file(file, "name a file of questions")
        raise DataError(f"{file} cannot be read: {error.strerror}", fix) from error


@dataclass(frozen=True)
class _Entry:
    name: str
    path: Path
    why: str = ""


def _walk(folder: Path, inside: str, deep: int, rules: IgnoreRules, left_out: str = "") -> Iterator[_Entry]:
    """`left_out`: why the folder itself is skipped; then only included files in it are yielded."""
    with os.scandir(folder) as listed:
        entries = list(listed)
    names = {entry.name for entry in entries}
    if any(marks <= names for marks in _OURS):
        yield _Entry(inside.rstrip("/") or ".", folder, "results of this harness")
        return
    if "pyvenv.cfg" in names and inside and not rules.includes_any:
        yield _Entry(inside.rstrip("/"), folder, OF_A_TOOL)
        return
    rules = rules.within(folder, inside, names)
    for entry in entries:
        name, path = inside + shown_name(entry.name), Path(entry.path)
        is_folder = entry.is_dir(follow_symlinks=False)
        why = left_out or rules.why_not(name, is_folder=is_folder)
        is_asked_for = rules.includes_any if is_folder else rules.includes(name)
        if (not why or is_asked_for) and (impossible := _why_impossible(entry)):
            why, is_asked_for = impossible, False
        if why and not left_out and not (is_asked_for and not is_folder):
            yield _Entry(name, path, why)
        if why and not is_asked_for:
            continue
        if not is_folder:
            yield _Entry(name, path)
        elif deep == _MOST_DEEP:
            yield _Entry(name, path, f"folders more than {_MOST_DEEP} deep")
        else:
            try:
                yield from _walk(path, f"{name}/", deep + 1, rules, why)
            except OSError as error:
                yield _Entry(name, path, f"cannot be listed ({error.strerror})")


def _why_impossible(entry: "os.DirEntry[str]") -> str:
    """Why an entry can be neither read nor listed; empty if it can."""
    if entry.is_symlink():
        return "a link, which is not followed"
    return "" if entry.is_dir() or entry.is_file() else "a pipe or device, not a file"


def shown_name(name: str) -> str:
    """A file name as text: in NFC, with undecodable and hidden characters escaped."""
    return shown_text(os.fsencode(name).decode("utf-8", "backslashreplace"))


def shown_text(text: str) -> str:
    """The same for a text, such as a document name given by a user."""
    return visible(unicodedata.normalize("NFC", text)).replace("\n", "\\n").replace("\t", "\\t")
