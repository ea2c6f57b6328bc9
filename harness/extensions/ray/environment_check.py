"""Checks that another machine runs the same code as this one and sees the same results."""

import platform
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from harness.core.errors import DISTRIBUTION
from harness.runner.machine_info import package_versions

_PACKAGES = ("harness", "systems")
_MOST_NAMED = 5


@dataclass(frozen=True)
class Installed:
    """What is installed on a machine."""

    project: str
    """Version of this project."""
    code: str
    """Digest of its modules: two checkouts of one version may differ."""
    python: str
    """Major and minor version."""
    packages: dict[str, str]


def installed() -> Installed:
    """What is installed on this machine."""
    python = ".".join(platform.python_version_tuple()[:2])
    return Installed(version(DISTRIBUTION), _code_digest(), python, dict(package_versions()))


def differs(theirs: Installed, ours: Installed) -> str:
    """Why workers there would behave differently from workers here; empty if they would not."""
    if theirs.project != ours.project:
        return f"has version {theirs.project} of {DISTRIBUTION}, this machine {ours.project}"
    if theirs.code != ours.code:
        return f"has other code of {DISTRIBUTION} {ours.project} than this machine"
    if theirs.python != ours.python:
        return f"runs Python {theirs.python}, this machine {ours.python}"
    return ""


def other_packages(theirs: Installed, ours: Installed) -> str:
    """Packages with different versions, the first by name; results may differ with them."""
    names = sorted(name for name, there in theirs.packages.items() if ours.packages.get(name, there) != there)
    shown = ", ".join(
        f"{name} {theirs.packages[name]} ({ours.packages[name]} here)" for name in names[:_MOST_NAMED]
    )
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def read_if_visible(path: str) -> str | None:
    """The text of a small file; None if there is none here."""
    try:
        return Path(path).read_text(encoding="utf-8")[:1000]
    except OSError:
        return None


@cache
def _code_digest() -> str:
    found = sha256()
    for name in _PACKAGES:
        spec = find_spec(name)
        for folder in sorted(spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()
