"""The date of a document, from its own text or metadata. A file's time stamp tells only when it was copied."""

from harness.core.languages import first_date
from harness.core.records import Document

_KEYS = ("published_at", "date", "published", "created", "created_at")
"""Metadata keys; the first one that holds a date counts."""
_BEGINNING = 600
"""A date within this many characters of the beginning is the document's own, as in letters and minutes."""


def date_of(document: Document) -> str:
    """ISO 8601 date from the metadata, else the first date at the beginning of the text; empty: none."""
    given = (document.metadata.get(key, "") for key in _KEYS)
    found = (first_date(text) for text in (*given, document.text[:_BEGINNING]))
    return next((day.isoformat() for day in found if day is not None), "")
