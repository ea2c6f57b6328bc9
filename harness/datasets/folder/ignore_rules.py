"""Decides which files of a folder are skipped: hidden files, those matched by an ignore file, and those that look
like a secret.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

HIDDEN, IGNORED, SECRET, OF_A_TOOL = (
    "hidden",
    "named by an ignore file",
    "looks like a secret",
    "a folder of packages",
)
NO_DOCUMENTS = {HIDDEN, OF_A_TOOL}
"""Reasons that are counted, but not listed by file."""
_IGNORE_FILES = (".gitignore", ".ignore")
"""The second overrides the first, as in other tools."""
_SECRETS = (
    *(".env", ".env.*", "*.env", "secret.*", "secrets.*", "credentials*", ".git-credentials", ".htpasswd"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.kdbx"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", "*.jks", "*.keystore", "kubeconfig*", "*.kubeconfig"),
)
_PRIVATE_KEY = re.compile(
    r"^-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s+(?:[\w-]+: [^\n]*\n\s*){0,4}[A-Za-z0-9+/=]{40}",
    re.MULTILINE,
)
_MOST_BYTES = 1_000_000
_MOST_STARS = 6
"""Most stars in a pattern; each one multiplies the matching time of a long name."""


def holds_private_key(text: str) -> bool:
    """Whether a text contains a private key, not just its first line."""
    return _PRIVATE_KEY.search(text) is not None


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
        return cls(_spec(patterns))

    def within(self, folder: Path, inside: str, names: Collection[str]) -> IgnoreRules:
        """These rules plus the ignore files of a folder that contains these names."""
        found = [(inside, _read(folder / name)) for name in _IGNORE_FILES if name in names]
        return replace(self, specs=(*self.specs, *found)) if found else self

    def why_not(self, name: str, *, is_folder: bool) -> str:
        """Why a file or folder is skipped; empty if it is not."""
        last = name.rsplit("/", 1)[-1]
        if not is_folder and _secrets().match_file(last.casefold()):
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

    def includes(self, name: str) -> bool:
        """Whether the file matches a pattern of `include`."""
        return self.include.match_file(name)

    @property
    def includes_any(self) -> bool:
        """Whether there is any `include` pattern."""
        return len(self.include) > 0


@cache
def _secrets() -> GitIgnoreSpec:
    return _spec(_SECRETS)


def _read(path: Path) -> GitIgnoreSpec:
    """Read an ignore file. DataError if that fails, because ignored files would be read otherwise."""
    try:
        # The target of a link may lie outside the folder.
        content = b"" if path.is_symlink() else read_plain(path, _MOST_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", "correct or delete it") from error
    lines = unicodedata.normalize("NFC", content.decode("utf-8-sig", "replace")).splitlines()
    for number, line in enumerate(lines, start=1):
        if len(re.findall(r"\*+", line)) > _MOST_STARS and not line.startswith("#"):
            raise DataError(f"{path} line {number} has more than {_MOST_STARS} stars", "write a simpler pattern")
    return _spec(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    """Whether a line is a valid pattern. Invalid lines are ignored, as in git."""
    try:
        _spec([line])
    except ValueError:
        return False
    return True


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)
