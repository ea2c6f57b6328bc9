"""Sources and dates of documents, as shown to a model beside their statements."""

from collections.abc import Iterable

from harness.core.records import Document
from harness.extraction.entity_names import one_line
from systems.common.headings import source_and_date

MOST_CITED = 10
"""Documents that a report names, those that state most of it."""
_MOST_SHOWN = 3
"""Sources behind one statement."""


def origin_of(document: Document) -> str:
    """Source and date, such as `The Harbour Post, 2024-03-05`; the title if the corpus has neither."""
    return one_line(source_and_date(document) or document.title)


def listed(origins: Iterable[str], most: int = _MOST_SHOWN) -> str:
    """The first `most` of them, each once, and how many more there are; empty if there are none."""
    distinct = [origin for origin in dict.fromkeys(origins) if origin]
    more = [f"{len(distinct) - most} more"] if len(distinct) > most else []
    return "; ".join([*distinct[:most], *more])


def with_origins(text: str, origins: Iterable[str]) -> str:
    """The text, and behind it in brackets who states it."""
    said = listed(origins)
    return f"{text} ({said})" if said else text
