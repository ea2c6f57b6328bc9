"""Hashes of values and files; two runs with equal hashes are the same run."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harness.core.bounded_files import open_plain

RUN_ID_HEX = 12


def canonical_json(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces. ValueError for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`, 64 hex digits."""
    return text_digest(canonical_json(value))


def text_digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of the file's bytes, 64 hex digits. OSError for a folder, pipe or device."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def folder_digest(folder: Path) -> str:
    """SHA-256 of the names and bytes of all files below `folder`, cached per process."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest({path.relative_to(folder).as_posix(): file_digest(path) for path in files})


def short_digest(value: Any) -> str:
    """The first 12 hex digits, used in run and index ids."""
    return digest(value)[:RUN_ID_HEX]


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key -> leaf value; an empty mapping contributes nothing."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            leaves.update(flatten(value, f"{prefix}{key}."))
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves
