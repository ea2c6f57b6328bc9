"""Checks whether rows are those published under a data set's name, by their content: compressed or not, from the
data directory or the hub, in any order of fields. Results on other rows are not comparable with published figures.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import NamedTuple

from harness.core.hashing import digest
from harness.datasets.local_files import data_dir, find
from harness.datasets.row_fields import FileEntry


class PublishedRows(NamedTuple):
    """A file of a data set as published, or the sample of it that was drawn for this harness."""

    n_rows: int
    content: str
    """`content_digest` of the rows."""
    on_hub: bool
    """Whether the hub table has exactly these rows; otherwise its expected rows are unknown."""
    source: str
    """Origin with commit and name."""
    url: str
    """Download URL of the file; empty: none."""


_ROWS = csv.DictReader(files(__package__).joinpath("published.csv").read_text(encoding="utf-8").splitlines())
PUBLISHED = {
    row["place"]: PublishedRows(int(row["n_rows"]), row["content"], bool(row["on_hub"]), row["source"], row["url"])
    for row in _ROWS
}
"""By path in the data directory."""


def departures(place: str, rows: Sequence[FileEntry]) -> tuple[str, ...]:
    """A line if these are not the rows that were published under this path, where those are known."""
    known = PUBLISHED.get(place)
    if known is None or not (known.on_hub or find(place)):
        return ()
    try:
        own = content_digest(rows)
    except UnicodeEncodeError:  # An unpaired surrogate in a field that is not read.
        own = "unknown"
    if own == known.content:
        return ()
    return (
        f"{place} differs from the published file, so results are not comparable with published figures: "
        f"{len(rows):,} rows, content {own[:12]}, instead of {known.n_rows:,}, content {known.content[:12]} "
        f"({known.source})",
    )


def fetched_by_hand(*places: str) -> str:
    """The command that downloads these files to their place; empty if none can be downloaded alone."""
    known = [(place, PUBLISHED[place].url) for place in places if place in PUBLISHED and PUBLISHED[place].url]
    parts = [f"-o {shlex.quote(str(data_dir() / place))} {url}" for place, url in known]
    return f"curl -fL --create-dirs {' '.join(parts)}" if parts else ""


def content_digest(rows: Iterable[FileEntry]) -> str:
    """SHA-256 of the content of rows, 64 hex digits. An empty field equals a missing one, and a number its digits
    as text, because CSV, JSON and hub tables write them differently.
    """
    return digest([_plain(row.fields) for row in rows])


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        plain = {str(name): _plain(held) for name, held in value.items()}
        return {name: held for name, held in plain.items() if held not in ("", [], {})}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    return "" if value is None else str(value).replace("\r", "")
