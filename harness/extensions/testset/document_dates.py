"""The date of a document, from its own text or metadata. A file's time stamp tells only when it was copied."""

import re
from collections.abc import Iterator
from datetime import date

from harness.core.records import Document

_KEYS = ("published_at", "date", "published", "created", "created_at")
"""Metadata keys; the first one that holds a date counts."""
_BEGINNING = 600
"""A date within this many characters of the beginning is the document's own, as in letters and minutes."""
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(_MONTHS)
_WRITTEN = (
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?P<month>{_MONTH}),? (?P<year>\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b", re.IGNORECASE),
)


def date_of(document: Document) -> str:
    """ISO 8601 date from the metadata, else the first date at the beginning of the text; empty: none."""
    given = (document.metadata.get(key, "") for key in _KEYS)
    found = (day for text in (*given, document.text[:_BEGINNING]) for day in _days(text))
    return next(found, "")


def _days(text: str) -> Iterator[str]:
    """The first date that a text names."""
    first = min(filter(None, (written.search(text) for written in _WRITTEN)), key=re.Match.start, default=None)
    if first is None:
        return
    month = first["month"].casefold()
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    try:
        yield date(int(first["year"]), number, int(first["day"])).isoformat()
    except ValueError:
        return
