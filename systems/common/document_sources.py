"""Sources and dates of documents, shown to a model with their statements."""

from collections.abc import Iterable

from harness.core.records import Document
from harness.extraction.entity_names import one_line
from systems.common.chunking import Chunk
from systems.common.headings import source_and_date

MOST_CITED = 10
"""Maximum documents that a report cites: those that state most of it."""
_MOST_SHOWN = 3
"""Maximum sources shown for one statement."""


def origin_of(document: Document) -> str:
    """Source and date, such as `The Harbour Post, 2024-03-05`; the title if the corpus has neither."""
    return one_line(source_and_date(document) or document.title)


def origin_of_chunk(chunk: Chunk) -> str:
    """That of its document; empty if models do not read headings."""
    return origin_of(chunk.document) if chunk.shows_heading else ""


def listed(origins: Iterable[str], most: int = _MOST_SHOWN) -> str:
    """The first `most` distinct ones, and the number of the others; empty if there are none."""
    distinct = [origin for origin in dict.fromkeys(origins) if origin]
    more = [f"{len(distinct) - most} more"] if len(distinct) > most else []
    return "; ".join([*distinct[:most], *more])


def with_origins(text: str, origins: Iterable[str]) -> str:
    """The text, followed by its sources in brackets."""
    said = listed(origins)
    return f"{text} ({said})" if said else text
