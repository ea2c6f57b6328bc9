"""Caches parsed files by a hash of their bytes, so that a report of a thousand pages is parsed once."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.core.bounded_files import open_plain
from harness.datasets.folder.parser_pool import TOO_MUCH, Parsed, parse_all
from harness.datasets.folder.parser_process import MOST_BYTES
from harness.datasets.folder.text_cleanup import NoDocument, ReadText
from harness.models.weights import cache_dir

_VERSION = 7
"""Increase this when the same bytes give another text."""
_BLOCK = 1 << 20
_LIBRARIES = ("lxml", "openpyxl", "pypdf", "python-docx")


def parse_or_recall(files: Mapping[str, tuple[Path, str]]) -> Iterator[tuple[str, Parsed]]:
    """Yield the parse result of each file when it is ready. `files`: path and kind by name. Known files come from
    the cache; if it cannot be written, files are parsed again.
    """
    if not files:
        return
    by_whom = json.dumps([_VERSION, *(version(name) for name in _LIBRARIES)])
    keys: dict[str, str] = {}
    left: dict[str, tuple[Path, str]] = {}
    for name, (path, kind) in files.items():
        keys[name] = _key(path, f"{by_whom}{kind}")
        known = _recalled(keys[name])
        if known is None:
            left[name] = path, kind
        else:
            yield name, known
    for name, parsed in parse_all(left) if left else ():
        path, kind = left[name]
        # A file that changed while it was read is not cached.
        if keys[name] and keys[name] == _key(path, f"{by_whom}{kind}"):
            _keep(keys[name], parsed)
        yield name, parsed


def _key(path: Path, how: str) -> str:
    """Hash of the file's bytes and the parser version; empty if the file cannot be read."""
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:  # Too large to be parsed.
                return ""
            content = hashlib.sha256()
            while block := file.read(_BLOCK):
                content.update(block)
    except OSError:
        return ""
    return hashlib.sha256(f"{how}{content.hexdigest()}".encode()).hexdigest()


def _place(key: str) -> Path:
    return cache_dir() / "documents" / key[:2] / f"{key[2:]}.json"


def _recalled(key: str) -> Parsed | None:
    """The cached result, if it is intact."""
    try:
        seal, _, text = _place(key).read_text(encoding="utf-8").partition("\n")
        if not key or seal != _seal(text):
            return None
        kept: dict[str, Any] = json.loads(text)
    except (OSError, ValueError):
        return None
    return NoDocument(kept["why"]) if "why" in kept else [ReadText(**one) for one in kept["documents"]]


def _keep(key: str, parsed: Parsed) -> None:
    if isinstance(parsed, NoDocument) and str(parsed) in TOO_MUCH:
        return  # Reading it may succeed later or on another machine.
    documents = [] if isinstance(parsed, NoDocument) else [asdict(one) for one in parsed]
    text = json.dumps({"why": str(parsed)} if isinstance(parsed, NoDocument) else {"documents": documents})
    place = _place(key)
    with suppress(OSError):  # Full disk or no permission: the file is parsed again.
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            written = Path(work) / place.name
            written.write_text(f"{_seal(text)}\n{text}", encoding="utf-8")
            written.replace(place)


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
