"""Which files of a folder are left out though they could be read: hidden ones, what an ignore file names, and what
looks like a secret.
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
_IGNORE_FILES = (".gitignore", ".ignore")
"""The second one prevails, as in other tools that read both."""
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
"""In a pattern: each more multiplies the time that a long name takes."""


def holds_private_key(text: str) -> bool:
    """Whether a private key stands in it, not only the line with which one begins."""
    return _PRIVATE_KEY.search(text) is not None


@dataclass(frozen=True)
class IgnoreRules:
    """What holds within one folder: names are paths from the top of the documents, with forward slashes."""

    include: GitIgnoreSpec
    """What is read all the same."""
    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """What ignore files say, and within which folder; deeper ones prevail."""

    @classmethod
    def including(cls, patterns: Sequence[str]) -> IgnoreRules:
        """ConfigError: no such pattern."""
        if wrong := [one for one in patterns if not _is_pattern(one)]:
            raise ConfigError(
                f"{wrong[0]!r} is no pattern of names", "write it as in .gitignore: --include '*.pem'"
            )
        return cls(_spec(patterns))

    def within(self, folder: Path, inside: str, names: Collection[str]) -> IgnoreRules:
        """In that folder, which holds these names, too."""
        found = [(inside, _read(folder / name)) for name in _IGNORE_FILES if name in names]
        return replace(self, specs=(*self.specs, *found)) if found else self

    def why_not(self, name: str, *, is_folder: bool) -> str:
        """Why it is not to be read; empty: nothing speaks against it."""
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
        """Whether the file was asked for."""
        return self.include.match_file(name)

    @property
    def includes_any(self) -> bool:
        """Whether any file was."""
        return len(self.include) > 0


@cache
def _secrets() -> GitIgnoreSpec:
    return _spec(_SECRETS)


def _read(path: Path) -> GitIgnoreSpec:
    """DataError: it cannot be followed, and what it names would be read."""
    try:
        # What a link leads to lies elsewhere.
        content = b"" if path.is_symlink() else read_plain(path, _MOST_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})", "correct or delete it") from error
    lines = unicodedata.normalize("NFC", content.decode("utf-8-sig", "replace")).splitlines()
    for number, line in enumerate(lines, start=1):
        if len(re.findall(r"\*+", line)) > _MOST_STARS and not line.startswith("#"):
            raise DataError(f"{path} line {number} has more than {_MOST_STARS} stars", "write a simpler pattern")
    return _spec(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    """What is none has no effect, as in git."""
    try:
        _spec([line])
    except ValueError:
        return False
    return True


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)
