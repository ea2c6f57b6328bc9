"""Reads the answers of a run for scoring, in parts: answers with their contexts need the most memory. Parts follow
the order of query ids, so all parts together are sorted as one (`score_run`).
"""

import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from harness.core.records import RunRecord, Score
from harness.evaluators.run_scoring import Scorer, score_run
from harness.protocols import RunFacts
from harness.store import CompressedByKey, RecordKey, RunDir, SampleRow, rows_by_id
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


PART = 2_048
"""Maximum answers in memory at once, with their contexts."""


class RunAnswers:
    """The answers of a run, finished or not; the same records give the same scores."""

    def __init__(self, run: RunDir) -> None:
        self._run = run
        manifest = run.manifest()
        self._has_generator = manifest.has_generator
        self._repeats = int(manifest.identity.get("repeats", 1))
        self._searched = CachedSearch(run)

    @cached_property
    def query_ids(self) -> list[str]:
        """Ids of the sampled queries, in the order of scoring."""
        return list(self._sample)

    @cached_property
    def _sample(self) -> CompressedByKey[str, SampleRow]:
        """The sample in that order, so that parts are contiguous."""
        return rows_by_id(sorted(self._run.iter_sample(), key=lambda row: row.query.query_id))

    async def scored(
        self, scorer: Scorer, begin_part: Callable[[int, int], None] = lambda _number, _of: None
    ) -> AsyncIterator[list[Score]]:
        """The scores of all answers; if there are several parts, `begin_part(number, all)` is called for each."""
        ids, size = self.query_ids, max(1, PART // self._repeats)
        parts = [ids[start : start + size] for start in range(0, len(ids), size)]
        for number, part in enumerate(parts, start=1):
            if len(parts) > 1:
                begin_part(number, len(parts))
            yield await self._scored(scorer, part)

    async def scored_of(self, scorer: Scorer, query_ids: Collection[str]) -> list[Score]:
        """The scores of the answers to these queries; the same as when all are scored."""
        asked = frozenset(query_ids)
        return await self._scored(scorer, [one for one in self.query_ids if one in asked])

    async def _scored(self, scorer: Scorer, query_ids: Sequence[str]) -> list[Score]:
        outlines, rows = self._outlines, self._sample.at(query_ids)
        there = [key for key in itertools.product(query_ids, range(self._repeats)) if key in outlines]
        found = self._run.records_at([outlines[key].place for key in there])
        records = dict(zip(there, found, strict=True))
        return await score_run(scorer, rows, records, self._repeats, self._facts, self._searched)

    @cached_property
    def _facts(self) -> RunFacts:
        """The fields that any answer has; all, for a run without answers."""
        answered = [outline for outline in self._outlines.values() if outline.is_answered]
        return RunFacts(
            has_generator=self._has_generator,
            has_contexts=not answered or any(outline.has_contexts for outline in answered),
            names_alone=any(outline.names_documents and not outline.has_contexts for outline in answered),
            names_documents=not any(outline.n_contexts for outline in answered)
            or any(outline.names_documents for outline in answered),
            has_evidence=not answered or any(outline.has_evidence for outline in answered),
        )

    @cached_property
    def _outlines(self) -> "dict[RecordKey, _Outline]":
        outlines: dict[RecordKey, _Outline] = {}
        for place, record in self._run.iter_placed_records():
            key = record.query_id, record.repeat
            if key not in outlines or record.attempt > outlines[key].attempt:
                outlines[key] = _Outline.of(record, place)
        return outlines


class _Outline(NamedTuple):
    attempt: int
    place: int
    is_answered: bool = False
    has_contexts: bool = False
    n_contexts: int = 0
    names_documents: bool = False
    has_evidence: bool = False

    @classmethod
    def of(cls, record: RunRecord, place: int) -> Self:
        said = record.prediction
        if said is None:
            return cls(record.attempt, place)
        names = any(context.doc_ids for context in said.contexts)
        return cls(record.attempt, place, True, said.has_contexts, len(said.contexts), names, bool(said.evidence))
