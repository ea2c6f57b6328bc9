"""Title, source and date of a text, for a model: as the heading of a passage, or as the origin of a statement."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from harness.core.records import Document
from harness.extraction.entity_names import one_line

MOST_CITED = 10
"""Maximum documents that a report cites: those that state most of it."""
_MOST_SHOWN = 3
"""Maximum sources shown for one statement."""


def origin_of(document: Document) -> str:
    """Source and date, such as `The Harbour Post, 2024-03-05`; the title if the corpus has neither."""
    return one_line(source_and_date(document) or document.title)


def listed(origins: Iterable[str], most: int = _MOST_SHOWN) -> str:
    """The first `most` distinct ones, and the number of the others; empty if there are none."""
    distinct = [origin for origin in dict.fromkeys(origins) if origin]
    more = [f"{len(distinct) - most} more"] if len(distinct) > most else []
    return "; ".join([*distinct[:most], *more])


def with_origins(text: str, origins: Iterable[str]) -> str:
    said = listed(origins)
    return f"{text} ({said})" if said else text


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
    return f"{heading}\n{text}" if heading else text
