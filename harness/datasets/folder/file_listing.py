"""Lists the files of a folder, the same on every machine, without hidden files, those that an ignore file names,
and those that look like a secret.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.bounded_files import open_plain, read_plain
from harness.core.errors import ConfigError, DataError, nearest_file
from harness.core.sanitize import visible

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

HIDDEN, IGNORED = "hidden", "named by an ignore file"
SECRET, OF_A_TOOL = "looks like a secret", "a folder of packages"
NO_DOCUMENTS = {HIDDEN, OF_A_TOOL}
"""Reasons that are counted, but not listed by file."""
_IGNORE_FILES = (".gitignore", ".ignore")
"""The second overrides the first, as in other tools."""
_SECRETS = (
    *(".env", ".env.*", "*.env", "secret.*", "secrets.*", "credentials*", ".git-credentials", ".htpasswd"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.kdbx"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", "*.jks", "*.keystore", "kubeconfig*", "*.kubeconfig"),
)
PRIVATE_KEY = re.compile(
    r"^-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s+(?:[\w-]+: [^\n]*\n\s*){0,4}[A-Za-z0-9+/=]{40}",
    re.MULTILINE,
)
_MOST_STARS = 6
"""Most stars in a pattern; each one multiplies the matching time of a long name."""


@dataclass(frozen=True)
class IgnoreRules:
    """The rules within one folder. Names are paths relative to the documents folder, with forward slashes."""

    include: GitIgnoreSpec
    """Files to read anyway."""
    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """Rules of the ignore files, with the folder of each; deeper ones override."""

    @classmethod
    def including(cls, patterns: Sequence[str]) -> IgnoreRules:
        """Rules with patterns of files to read anyway. ConfigError: invalid pattern."""
        if wrong := [one for one in patterns if not _is_pattern(one)]:
            raise ConfigError(
                f"{wrong[0]!r} is not a file name pattern", "write it as in .gitignore: --include '*.pem'"
            )
        return cls(_spec(tuple(patterns)))

    def within(self, folder: Path, inside: str, names: Collection[str]) -> IgnoreRules:
        found = [(inside, _read(folder / name)) for name in _IGNORE_FILES if name in names]
        return replace(self, specs=(*self.specs, *found)) if found else self

    def why_not(self, name: str, *, is_folder: bool) -> str:
        """Why a file or folder is skipped; empty if it is not."""
        last = name.rsplit("/", 1)[-1]
        if not is_folder and _spec(_SECRETS).match_file(last.casefold()):
            return SECRET
        if last.startswith("."):
            return HIDDEN
        if is_folder and last in {"node_modules", "__pycache__", "site-packages"}:
            return OF_A_TOOL
        for inside, spec in reversed(self.specs):
            said = spec.check_file(name[len(inside) :] + "/" * is_folder).include
            if said is not None:
                return IGNORED if said else ""
        return ""


def _read(path: Path) -> GitIgnoreSpec:
    """Read an ignore file. DataError if that fails, because ignored files would be read otherwise."""
    try:
        # The target of a link may lie outside the folder.
        content = b"" if path.is_symlink() else read_plain(path, 1_000_000)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", "correct or delete it") from error
    lines = unicodedata.normalize("NFC", content.decode("utf-8-sig", "replace")).splitlines()
    for number, line in enumerate(lines, start=1):
        if len(re.findall(r"\*+", line)) > _MOST_STARS and not line.startswith("#"):
            raise DataError(f"{path} line {number} has more than {_MOST_STARS} stars", "write a simpler pattern")
    return _spec(tuple(line for line in lines if _is_pattern(line)))


def _is_pattern(line: str) -> bool:
    try:
        _spec((line,))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=64)
def _spec(lines: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


_MOST_DEEP = 100
"""Deepest nesting of folders."""
_OURS = ({"indexes", "corpora"}, {"manifest.json", "sample.jsonl"}, {"report.html", "summary.csv"})
"""Files that identify results, a run or a report of the harness; these are not documents."""


@dataclass(frozen=True)
class Skipped:
    path: str
    """Path relative to the folder, with forward slashes."""
    why: str
    """The reason, without names, because equal reasons are counted."""


@dataclass
class Listing:
    files: dict[str, Path] = field(default_factory=dict)
    """Path by name. A name is the relative path with forward slashes, in NFC, with hidden characters escaped."""
    skipped: list[Skipped] = field(default_factory=list)
    included: set[str] = field(default_factory=set)
    """Files that match a pattern of `include`."""


def list_files(folder: Path, include: Sequence[str] = ()) -> Listing:
    """All files under the folder, sorted by name, except those excluded by `IgnoreRules` unless a pattern of
    `include` matches. Links are not followed. DataError: the folder does not exist or cannot be listed.
    ConfigError: an invalid pattern.
    """
    check_folder(folder)
    rules = IgnoreRules.including(include)
    try:
        found = sorted(_walk(folder, "", 0, rules), key=lambda one: (one[0], os.fsencode(one[1])))
    except OSError as error:
        raise DataError(f"{folder} cannot be listed: {error.strerror}", "check its permissions") from error
    listing = Listing()
    for name, path, why in found:
        if why:
            listing.skipped.append(Skipped(name, why))
        elif name.rpartition("/")[2].startswith("~$"):
            listing.skipped.append(Skipped(name, "lock file of an office program"))
        elif name in listing.files:
            listing.skipped.append(Skipped(name, "same name as another file after Unicode normalisation"))
        else:
            listing.files[name] = path
            if rules.include.match_file(name):
                listing.included.add(name)
    return listing


def check_folder(folder: Path) -> None:
    try:
        what = "" if folder.is_dir() else "is not a folder" if folder.exists() else "does not exist"
    except (OSError, ValueError):
        what = "cannot be accessed"
    if what:
        fix = "name a folder of documents"
        raise DataError(f"{folder} {what}", nearest_file(folder, fix) if what == "does not exist" else fix)


def check_file(file: Path) -> None:
    try:
        open_plain(file).close()
    except OSError as error:
        fix = nearest_file(file, "name a file of questions")
        raise DataError(f"{file} cannot be read: {error.strerror}", fix) from error


def _walk(
    folder: Path, inside: str, deep: int, rules: IgnoreRules, left_out: str = ""
) -> Iterator[tuple[str, Path, str]]:
    """The name and path of each file or skipped folder, and why it is skipped (empty: it is not).

    `left_out`: why the folder itself is skipped; then only included files in it are yielded.
    """
    with os.scandir(folder) as listed:
        entries = list(listed)
    names = {entry.name for entry in entries}
    if any(marks <= names for marks in _OURS):
        yield inside.rstrip("/") or ".", folder, "results of this harness"
        return
    if "pyvenv.cfg" in names and inside and not len(rules.include):
        yield inside.rstrip("/"), folder, OF_A_TOOL
        return
    rules = rules.within(folder, inside, names)
    for entry in entries:
        name, path = inside + shown_name(entry.name), Path(entry.path)
        is_folder = entry.is_dir(follow_symlinks=False)
        why = left_out or rules.why_not(name, is_folder=is_folder)
        is_asked_for = len(rules.include) > 0 if is_folder else rules.include.match_file(name)
        if (not why or is_asked_for) and (impossible := _why_impossible(entry)):
            why, is_asked_for = impossible, False
        if why and not left_out and not (is_asked_for and not is_folder):
            yield name, path, why
        if why and not is_asked_for:
            continue
        if not is_folder:
            yield name, path, ""
        elif deep == _MOST_DEEP:
            yield name, path, f"folders more than {_MOST_DEEP} deep"
        else:
            try:
                yield from _walk(path, f"{name}/", deep + 1, rules, why)
            except OSError as error:
                yield name, path, f"cannot be listed ({error.strerror})"


def _why_impossible(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "a link, which is not followed"
    return "" if entry.is_dir() or entry.is_file() else "a pipe or device, not a file"


def shown_name(name: str) -> str:
    """A file name as text: in NFC, with undecodable and hidden characters escaped."""
    return shown_text(os.fsencode(name).decode("utf-8", "backslashreplace"))


def shown_text(text: str) -> str:
    """The same for a text, such as a document name given by a user."""
    return visible(unicodedata.normalize("NFC", text)).replace("\n", "\\n").replace("\t", "\\t")
