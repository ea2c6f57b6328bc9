"""The heading of a text for a model: title, source and date."""

from collections.abc import Sequence
from datetime import datetime

from harness.core.records import Document
from systems.common.chunking import Chunk

_LONGEST_DATE = 40
"""Maximum characters: "Wednesday, 27 September 2023, 11:59 a.m.", but not longer texts in a date field."""


def document_heading(document: Document) -> str:
    """Title, source and date of a document on one line, if the corpus has them."""
    return " | ".join(_on_one_line([document.title, *_origin(document)]))


def source_and_date(document: Document) -> str:
    """Source and date, if the corpus has them, such as `The Harbour Post, 2024-03-05`."""
    return ", ".join(_on_one_line(_origin(document)))


def _origin(document: Document) -> list[str]:
    return [document.metadata.get("source", ""), day_of(document.metadata.get("published_at", ""))]


def day_of(published_at: str) -> str:
    """The day of an ISO 8601 time such as `2024-03-05T08:00:00+00:00`, as written; other forms ("November 12,
    2023") stay whole, on one line of at most 40 characters.
    """
    said = " ".join(published_at.split())
    try:
        return datetime.fromisoformat(said).date().isoformat()
    except ValueError:
        return said if len(said) <= _LONGEST_DATE else f"{said[: _LONGEST_DATE - 1]}…"


def _on_one_line(parts: Sequence[str]) -> list[str]:
    return [line for part in parts if (line := " ".join(part.split()))]


def under_heading(heading: str, text: str) -> str:
    """The text below its heading, if it has one."""
    return f"{heading}\n{text}" if heading else text


def heading_of(chunk: Chunk) -> str:
    """The heading of a chunk's document; empty if models do not read headings."""
    return document_heading(chunk.document) if chunk.shows_heading else ""


def passage_text(chunk: Chunk) -> str:
    """A chunk as shown to a model."""
    return under_heading(heading_of(chunk), chunk.text.strip())
