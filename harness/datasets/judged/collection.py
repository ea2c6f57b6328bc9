"""Builds a data set from relevance judgements of any publisher."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from harness.core.errors import DataError
from harness.core.records import Document, Evidence
from harness.datasets.row_fields import dataset_row
from harness.protocols import DatasetRow, Params, RawDataset

MOST_DOCUMENTS = 200_000
"""Larger collections need `distractors`: a laptop would index them for days."""
PRIMARY_MEASURE = "nDCG@10"


class CollectionParams(Params):
    """Options that all test collections share."""

    distractors: int | None = Field(None, ge=0)
    """Number of documents that are relevant to no query, drawn with `seed`; None: all."""
    seed: int = 42


class JudgedPair(NamedTuple):
    """The relevance of a document to a query; 0 or less is not relevant."""

    query_id: str
    doc_id: str
    relevance: int


def build(
    title: str,
    texts: Mapping[str, str],
    judgements: Iterable[JudgedPair],
    documents: Iterable[Document],
    params: CollectionParams,
) -> RawDataset:
    """Build a data set with every query that has a relevant document (relevance above 0), and all documents, or
    the relevant ones and `distractors` others. `texts`: query text by query id, in file order. `documents` are
    iterated once, because there may be more than fit into memory. DataError: no query has a relevant document, or
    there are too many documents.
    """
    relevant: dict[str, dict[str, int]] = {}
    for query_id, doc_id, relevance in judgements:
        if relevance > 0:
            relevant.setdefault(query_id, {})[doc_id] = relevance
    wanted = {doc_id for judged in relevant.values() for doc_id in judged}
    n_read, chosen = _chosen(title, documents, wanted, params)
    held = {document.doc_id for document in chosen}
    rows = tuple(
        dataset_row(query_id, text.strip(), "query", (), [Evidence(doc_id=doc_id, fact="") for doc_id in found])
        for query_id, text in texts.items()
        if text.strip() and (found := [one for one in relevant.get(query_id, {}) if one in held])
    )
    if not rows:
        raise DataError(f"{title} has no query with a relevant document", "choose another part of it")
    notes = (
        "relevance judgements only, no facts and no answers: retrieval is scored by document, answers are not "
        "scored (--set models.generator.provider=none avoids their cost)",
        *_of_queries(len(texts), relevant, rows, held),
        *_of_documents(n_read, chosen, wanted, params),
    )
    return RawDataset(documents=chosen, rows=rows, notes=notes, title=title)


def _chosen(
    title: str, documents: Iterable[Document], wanted: set[str], params: CollectionParams
) -> tuple[int, tuple[Document, ...]]:
    """The number of all documents, and the documents to keep, in order."""
    kept: list[tuple[int, Document]] = []
    drawn: list[tuple[int, int, Document]] = []
    number = -1
    for number, document in enumerate(documents):
        if document.doc_id in wanted or params.distractors is None:
            kept.append((number, document))
        elif params.distractors:
            # Keep the lowest hashes: independent of the order, and a smaller draw is a subset of a larger one.
            drawn_as = hashlib.sha256(f"{params.seed}/{document.doc_id}".encode()).digest()
            place = (-int.from_bytes(drawn_as[:8]), number, document)
            (heapq.heappush if len(drawn) < params.distractors else heapq.heappushpop)(drawn, place)
        if len(kept) > MOST_DOCUMENTS and params.distractors is None:
            what = f"{title} has more than {MOST_DOCUMENTS:,} documents"
            raise DataError(what, "draw a part of them: --set dataset.options.distractors=10000")
    kept += [(place, document) for _, place, document in drawn]
    return number + 1, tuple(document for _, document in sorted(kept, key=lambda one: one[0]))


def _of_queries(
    n_texts: int, relevant: Mapping[str, Mapping[str, int]], rows: Sequence[DatasetRow], held: set[str]
) -> Iterator[str]:
    if left_out := n_texts - len(rows):
        yield f"{left_out:,} of {n_texts:,} queries left out: they have no relevant document"
    levels = {relevance for judged in relevant.values() for relevance in judged.values()}
    if len(levels) > 1:
        yield (
            f"relevance is graded {min(levels)} to {max(levels)}, but every grade above 0 counts the same, so "
            "nDCG here is not the graded nDCG"
        )
    if own := sum(row.query.query_id in held for row in rows):
        yield (
            f"{own:,} queries have the id of a document: published figures may exclude that document from the "
            "ranking, these figures do not"
        )


def _of_documents(
    n_read: int, documents: Sequence[Document], wanted: set[str], params: CollectionParams
) -> Iterator[str]:
    if missing := len(wanted - {document.doc_id for document in documents}):
        yield f"{missing:,} of {len(wanted):,} relevant documents are not in the corpus: they cannot be retrieved"
    if params.distractors is not None and len(documents) < n_read:
        others = len(documents) - len(wanted) + missing
        yield (
            f"{len(documents):,} of {n_read:,} documents: all relevant ones, and {others:,} others drawn with "
            f"seed {params.seed}, so retrieval is easier than over the whole corpus"
        )
