"""Where things are stated: the source and the date of documents, as a model reads them beside what they state."""

from collections.abc import Iterable

from harness.extraction.names import one_line
from harness.records import Document

MOST_CITED = 10
"""Documents that a report names, those that state most of it."""
_MOST_SHOWN = 3
"""Sources behind one statement."""


def origin_of(document: Document) -> str:
    """Source and date, as far as the corpus has them, such as `The Harbour Post, 2024-03-05`; else the title."""
    parts = [document.metadata.get("source", ""), document.metadata.get("published_at", "")[:10]]
    known = [one_line(part) for part in parts if part.strip()]
    return ", ".join(known) or one_line(document.title)


def listed(origins: Iterable[str], most: int = _MOST_SHOWN) -> str:
    """The first of them in words, each once, and how many more there are; empty where there is none."""
    distinct = [origin for origin in dict.fromkeys(origins) if origin]
    more = [f"{len(distinct) - most} more"] if len(distinct) > most else []
    return "; ".join([*distinct[:most], *more])


def with_origins(text: str, origins: Iterable[str]) -> str:
    """The text, and behind it in brackets who states it."""
    said = listed(origins)
    return f"{text} ({said})" if said else text
