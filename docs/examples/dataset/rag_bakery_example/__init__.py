"""What a baker wrote down, and questions that are answered by a sentence of it."""

from pathlib import Path

from harness.core.records import Document, Evidence, Query, Reference
from harness.datasets.local_files import read_rows
from harness.datasets.row_fields import FileEntry
from harness.protocols import DatasetRow, DatasetSpec, RawDataset

_FOLDER = Path(__file__).parent


def load(subset: str) -> RawDataset:
    """Everything; there is only one subset. A file that is not there or damaged is a `DataError` of one line."""
    del subset
    return RawDataset(
        documents=tuple(map(_document, read_rows(_FOLDER / "documents.jsonl"))),
        rows=tuple(map(_row, read_rows(_FOLDER / "questions.jsonl"))),
    )


def _document(entry: FileEntry) -> Document:
    return Document(doc_id=entry.text("id"), title=entry.text("title"), text=entry.text("text"))


def _row(entry: FileEntry) -> DatasetRow:
    """The query as systems see it, and the gold side, which only evaluators see."""
    query_id, doc_id = entry.text("id"), entry.text("document")
    reference = Reference(
        query_id=query_id,
        query_type=entry.text("type"),
        answers=tuple(entry.texts("answers")),
        evidence=(Evidence(doc_id=doc_id, fact=entry.text("fact")),),
    )
    return DatasetRow(Query(query_id=query_id, text=entry.text("question")), reference, doc_ids=(doc_id,))


SPEC = DatasetSpec(
    name="bakery",
    summary="12 questions on a baker's notes, answered by sentences",
    load=load,
    # References are sentences: hardly any answer equals one, so exact match says nothing here.
    primary_measure="token_f1",
    answer_style="sentence",
    # Questions on one document share what is hard about it, so they are no independent draws.
    cluster_by="document",
)
