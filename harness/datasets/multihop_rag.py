"""MultiHop-RAG (Tang and Yang 2024): 2,556 queries over 609 news articles, with gold evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.core.errors import DataError
from harness.core.records import Document, Evidence
from harness.datasets.hub_rows import HubTable, load_rows
from harness.datasets.row_fields import FIX, FileEntry, dataset_row
from harness.protocols import DatasetSpec, RawDataset

_REPO = "yixuantt/MultiHopRAG"


def load(_subset: str) -> RawDataset:
    corpus = load_rows("multihop_rag/corpus.json", HubTable(_REPO, "corpus"))
    queries = load_rows("multihop_rag/MultiHopRAG.json", HubTable(_REPO, "MultiHopRAG"))
    raw = build(corpus.rows, queries.rows, prefix="mh")
    return replace(raw, departures=corpus.departures + queries.departures)


def build(corpus: Sequence[FileEntry], queries: Sequence[FileEntry], *, prefix: str) -> RawDataset:
    """Build a data set from rows of this schema. The id of a document is its URL, that of a query its number in
    the file. Texts are unchanged, so that a fact stays a literal part of its article.
    """
    documents: dict[str, Document] = {}
    for entry in corpus:
        document = _document(entry)
        if document.doc_id in documents:
            raise DataError(f"{entry.where}: url {document.doc_id} occurs twice", FIX)
        documents[document.doc_id] = document
    rows = []
    for number, entry in enumerate(queries, start=1):
        cited = entry.entries("evidence_list")
        evidence = [Evidence(doc_id=item.text("url"), fact=item.text("fact")) for item in cited]
        if unknown := [item.doc_id for item in evidence if item.doc_id not in documents]:
            fix = "the corpus and the queries must come from the same release: replace both files"
            raise DataError(f"{entry.where}: evidence {unknown[0]} is not in the corpus", fix)
        query_type, answers = entry.text("question_type").removesuffix("_query"), (entry.text("answer"),)
        rows.append(dataset_row(f"{prefix}-{number:04d}", entry.text("query"), query_type, answers, evidence))
    return RawDataset(documents=tuple(documents.values()), rows=tuple(rows))


def _document(entry: FileEntry) -> Document:
    url = entry.text("url")
    metadata = {name: entry.optional_text(name) for name in ("source", "author", "category")}
    metadata |= {"published_at": entry.moment("published_at"), "url": url}
    return Document(
        doc_id=url,
        text=entry.text("body", blank=True),
        title=entry.optional_text("title"),
        metadata={name: value for name, value in metadata.items() if value},
    )


SPEC = DatasetSpec(
    name="multihop_rag",
    summary="2,556 multi-hop queries over 609 news articles (inference, comparison, temporal, null)",
    load=load,
    primary_measure="accuracy",
)
