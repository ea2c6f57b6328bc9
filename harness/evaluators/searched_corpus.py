"""The corpus of a run, read from its results folder when needed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from harness.store import RunDir
from harness.store.index_dir import Corpora

_Spans = Mapping[str, Sequence[tuple[int, int]]]


class CachedSearch:
    """See `harness.protocols.RetrievalTrace`. StoreError if a corpus or index is damaged."""

    def __init__(self, run: RunDir) -> None:
        self._run = run

    @cached_property
    def documents(self) -> Mapping[str, str]:
        """The corpus; empty if the run names none or its folder was moved."""
        digest = self._run.manifest().dataset.get("corpus_digest")
        return _documents(self._run.path.parent, digest) if digest else {}

    @cached_property
    def passages(self) -> _Spans | None:
        """The passages of the index; None if it does not list them."""
        index = self._run.index()
        if index is None or index.stats.passages is None:
            return None
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for doc_id, start, end in index.stats.passages.spans:
            found[doc_id].append((start, end))
        return found


@lru_cache(maxsize=1)  # Usually shared by the runs of one command.
def _documents(results: Path, digest: str) -> Mapping[str, str]:
    return {document.doc_id: document.text for document in Corpora(results).documents(digest)}
