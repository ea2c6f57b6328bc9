"""What a report is made of, before it is a page, a file or a terminal: the same numbers whoever shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """Cells as a reader sees them, escaped for nothing: every renderer escapes for itself."""

    name: str
    """A file name without an ending, unique in its chapter."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """As long as the header, each; the first cell says whose row it is."""
    words: bool = False
    """Cells are words, not numbers to the right of a first column."""
    note: str = ""
    """One sentence on how to read it."""


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn."""

    stem: str
    title: str
    caption: str
    """What it shows, over how many queries, and how to read it."""
    alt: str
    """What it shows in words with its main numbers, for whoever cannot see it."""
    paths: tuple[Path, ...]
    """SVG and PNG, relative to the report."""
    svg: str
    """For the page: text as text, colours as the page's variables, no id that another picture has."""


@dataclass(frozen=True)
class Section:
    """One part of a chapter."""

    key: str
    """Its anchor: letters and dashes."""
    title: str
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    """A list below them."""
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    code: tuple[str, ...] = ()
    """Commands, one a line."""
