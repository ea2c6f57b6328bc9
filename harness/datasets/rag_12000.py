"""neural-bridge/rag-dataset-12000: one question and answer per raw web text. Its splits are the subsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.core.records import Document, Evidence
from harness.datasets.hub_rows import HubTable, load_rows
from harness.datasets.row_fields import FileEntry, dataset_row
from harness.protocols import DatasetSpec, RawDataset

_FILES = {
    "train": "neural_bridge/rag_dataset_12000_train_head100.jsonl",
    "test": "neural_bridge/rag_dataset_12000_test.jsonl",
}


def load(subset: str) -> RawDataset:
    found = load_rows(_FILES[subset], HubTable("neural-bridge/rag-dataset-12000", split=subset))
    raw = build(found.rows, "" if subset == "train" else f"{subset}-")
    return replace(raw, departures=found.departures)


def build(entries: Sequence[FileEntry], prefix: str = "") -> RawDataset:
    """One document per distinct context, named after its first row, which is also the evidence: no facts are
    marked.

    Query ids differ from document ids, because external pipelines receive the query id with the question. Rows
    with an empty field (the hub has a few) are left out, with a note.
    """
    documents: dict[str, Document] = {}
    rows = []
    for index, entry in enumerate(entries):
        context, question, answer = map(entry.nullable_text, ("context", "question", "answer"))
        if not (context.strip() and question.strip() and answer.strip()):
            continue
        document = documents.setdefault(context, Document(doc_id=f"rag12000-{prefix}{index:05d}", text=context))
        evidence = (Evidence(doc_id=document.doc_id, fact=context),)
        name = f"rag12000-{prefix}q{index:05d}"
        rows.append(dataset_row(name, question.strip(), "qa", (answer.strip(),), evidence))
    left_out = len(entries) - len(rows)
    notes = (f"{left_out:,} of {len(entries):,} rows left out: a field is empty",) if left_out else ()
    return RawDataset(documents=tuple(documents.values()), rows=tuple(rows), notes=notes)


SPEC = DatasetSpec(
    name="rag_12000",
    summary="neural-bridge RAG dataset 12000: single-document questions over raw web text",
    load=load,
    subsets=tuple(_FILES),
    primary_measure="token_f1",
    answer_style="sentence",
    cluster_by="query",
)
