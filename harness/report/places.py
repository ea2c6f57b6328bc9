"""Where the contexts of a run stand in their documents."""

from functools import lru_cache

from harness.core.errors import StoreError
from harness.core.records import Context
from harness.display.document_positions import PlacesOfText
from harness.display.text_format import printable
from harness.evaluators.searched_corpus import CachedSearch
from harness.store import RunDir


class ContextPlaces:
    """Says it in words; the corpus is read when it is first needed, and only where it has pages or sections."""

    def __init__(self, run: RunDir) -> None:
        self._search = CachedSearch(run)
        self._is_known = run.manifest().dataset.get("has_places") is True
        self._of = lru_cache(maxsize=256)(self._read)

    def describe(self, context: Context) -> str:
        """`page 12, 3.1 Ovens`; empty where nothing is known."""
        span = context.span
        places = self._of(span.doc_id) if self._is_known and span else None
        return printable(places.describe(span.start, span.end)) if places and span else ""

    def _read(self, doc_id: str) -> PlacesOfText | None:
        try:
            text = self._search.documents.get(doc_id)
        except StoreError:  # A corpus that is damaged takes a page number from a report, and no more.
            self._is_known = False
            text = None
        return None if text is None else PlacesOfText(text)
