"""What lies in a folder: the same list for the same files on every machine."""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.bounded_files import open_plain
from harness.core.errors import DataError
from harness.core.sanitize import visible
from harness.datasets.folder.ignore_rules import IgnoreRules

_MOST_DEEP = 100
"""Folders within folders."""
_OURS = ({"indexes", "corpora"}, {"manifest.json", "sample.jsonl"}, {"report.html", "summary.csv"})
"""What tells a folder of results, a run and a report: answers to questions are no documents about them."""


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
    included: set[str] = field(default_factory=set)
    """Those files that were asked for by a pattern."""


def list_files(folder: Path, include: Sequence[str] = ()) -> Listing:
    """Every file under the folder that no rule leaves out, or that a pattern of `include` names, in the order of
    their names; links are not followed. See `IgnoreRules`.

    DataError: the folder is not there, is none, or may not be listed. ConfigError: no pattern.
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
        elif one.name in listing.files:
            listing.skipped.append(Skipped(one.name, "the name of another file in other code points"))
        else:
            listing.files[one.name] = one.path
            if rules.includes(one.name):
                listing.included.add(one.name)
    return listing


def check_folder(folder: Path) -> None:
    """DataError unless it is there and a folder."""
    try:
        what = "" if folder.is_dir() else "is not a folder" if folder.exists() else "does not exist"
    except (OSError, ValueError):
        what = "cannot be looked at"
    if what:
        raise DataError(f"{folder} {what}", "name a folder of documents")


def check_file(file: Path) -> None:
    """DataError unless it is a file of questions that may be read."""
    try:
        open_plain(file).close()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}", "name a file of questions") from error


@dataclass(frozen=True)
class _Entry:
    name: str
    path: Path
    why: str = ""


def _walk(folder: Path, inside: str, deep: int, rules: IgnoreRules, left_out: str = "") -> Iterator[_Entry]:
    """`left_out`: why the folder is; of what lies there only files that were asked for are told."""
    with os.scandir(folder) as listed:
        entries = list(listed)
    names = {entry.name for entry in entries}
    if any(marks <= names for marks in _OURS):
        yield _Entry(inside.rstrip("/") or ".", folder, "results of this harness")
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
    """Why it can be neither read nor looked into; empty: it can."""
    if entry.is_symlink():
        return "a link, which is not followed"
    return "" if entry.is_dir() or entry.is_file() else "a pipe or device, not a file"


def shown_name(name: str) -> str:
    """A name of a file as text: composed (NFC), and what is no text or not shown as its escape."""
    return shown_text(os.fsencode(name).decode("utf-8", "backslashreplace"))


def shown_text(text: str) -> str:
    """Likewise what is text already, such as what somebody calls a document."""
    return visible(unicodedata.normalize("NFC", text)).replace("\n", "\\n").replace("\t", "\\t")
