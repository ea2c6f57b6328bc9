"""From judgements of relevance to a data set, whoever published them."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field

from harness.core.errors import DataError
from harness.core.records import Document, Evidence, Query, Reference
from harness.protocols import DatasetRow, Params, RawDataset

MOST_DOCUMENTS = 200_000
"""More are read only where it is said how many are to be kept: a laptop would index them for days."""
_TYPE = "query"
PRIMARY_MEASURE = "nDCG@10"


class CollectionParams(Params):
    """How much of it."""

    distractors: int | None = Field(None, ge=0)
    """Documents that are relevant to no query, drawn with `seed`; None: all of them."""
    seed: int = 42


class JudgedPair(NamedTuple):
    """How relevant a document is to a query; nothing above 0 is not at all."""

    query_id: str
    doc_id: str
    relevance: int


@dataclass(frozen=True)
class Collection:
    """What a publisher gives."""

    title: str
    texts: Mapping[str, str]
    """Query id -> what is asked, in the order of its file."""
    judgements: Sequence[JudgedPair]
    documents: Iterable[Document]
    """Read once, one after another: there may be more than memory holds."""


def build(given: Collection, params: CollectionParams) -> RawDataset:
    """Every query with a relevant document; of the corpus all, or all relevant ones and so many others.

    Relevant is whatever is judged above 0. `DataError` where nothing is, or there are too many documents.
    """
    relevant: dict[str, dict[str, int]] = {}
    for query_id, doc_id, relevance in given.judgements:
        if relevance > 0:
            relevant.setdefault(query_id, {})[doc_id] = relevance
    wanted = {doc_id for judged in relevant.values() for doc_id in judged}
    n_read, documents = _chosen(given, wanted, params)
    held = {document.doc_id for document in documents}
    rows = tuple(
        _row(query_id, text.strip(), found)
        for query_id, text in given.texts.items()
        if text.strip() and (found := [one for one in relevant.get(query_id, {}) if one in held])
    )
    if not rows:
        raise DataError(
            f"{given.title} judges no document relevant to a query that it holds", "choose another part of it"
        )
    notes = (
        "relevant documents are marked, no facts and no answers: what is retrieved is scored by document, and "
        "what systems say is not (--set models.generator.provider=none saves it)",
        *_of_queries(given, relevant, rows, held),
        *_of_documents(n_read, documents, wanted, params),
    )
    return RawDataset(documents=documents, rows=rows, notes=notes, title=given.title)


def _row(query_id: str, text: str, doc_ids: Sequence[str]) -> DatasetRow:
    evidence = tuple(Evidence(doc_id=doc_id, fact="") for doc_id in doc_ids)
    reference = Reference(query_id=query_id, query_type=_TYPE, answers=(), evidence=evidence)
    return DatasetRow(Query(query_id=query_id, text=text), reference, tuple(doc_ids))


def _chosen(given: Collection, wanted: set[str], params: CollectionParams) -> tuple[int, tuple[Document, ...]]:
    """How many there are, and those that are kept, in their order."""
    kept: list[tuple[int, Document]] = []
    drawn: list[tuple[int, int, Document]] = []
    number = -1
    for number, document in enumerate(given.documents):
        if document.doc_id in wanted or params.distractors is None:
            kept.append((number, document))
        elif params.distractors:
            # Those with the lowest hashes: the same whatever the order, and fewer are a part of more.
            place = (-_draw(params.seed, document.doc_id), number, document)
            (heapq.heappush if len(drawn) < params.distractors else heapq.heappushpop)(drawn, place)
        if len(kept) > MOST_DOCUMENTS and params.distractors is None:
            what = f"{given.title} has more than {MOST_DOCUMENTS:,} documents"
            raise DataError(what, "take a seeded part of them: --set dataset.options.distractors=10000")
    kept += [(place, document) for _, place, document in drawn]
    return number + 1, tuple(document for _, document in sorted(kept, key=lambda one: one[0]))


def _draw(seed: int, doc_id: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{doc_id}".encode()).digest()[:8])


def _of_queries(
    given: Collection, relevant: Mapping[str, Mapping[str, int]], rows: Sequence[DatasetRow], held: set[str]
) -> Iterator[str]:
    left_out = len(given.texts) - len(rows)
    if left_out:
        yield f"{left_out:,} of {len(given.texts):,} queries left out: no document is judged relevant to them"
    levels = {relevance for judged in relevant.values() for relevance in judged.values()}
    if len(levels) > 1:
        yield (
            f"relevance is graded {min(levels)} to {max(levels)}, and whatever is above 0 counts alike: nDCG here "
            "is not that of graded judgements"
        )
    own = sum(row.query.query_id in held for row in rows)
    if own:
        yield (
            f"{own:,} queries have the id of a document: published figures may leave that document out of the "
            "ranking, these do not"
        )


def _of_documents(
    n_read: int, documents: Sequence[Document], wanted: set[str], params: CollectionParams
) -> Iterator[str]:
    missing = len(wanted - {document.doc_id for document in documents})
    if missing:
        yield (f"{missing:,} of {len(wanted):,} relevant documents are not in the corpus: they cannot be found")
    if params.distractors is not None and len(documents) < n_read:
        others = len(documents) - len(wanted) + missing
        yield (
            f"{len(documents):,} of {n_read:,} documents: all that are relevant to a query, and {others:,} others "
            f"drawn with seed {params.seed}: retrieval is easier than over all"
        )
