"""Files of questions about documents: one JSON object a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.datasets.entries import FileEntry
from harness.datasets.files import iter_jsonl
from harness.protocols import DatasetRow
from harness.records import Document, Evidence, Query, Reference


@dataclass(frozen=True)
class AskedQuestions:
    """What a file asks."""

    rows: tuple[DatasetRow, ...]
    notes: tuple[str, ...] = ()


def read_questions(path: Path, documents: Sequence[Document]) -> AskedQuestions:
    """Every question of the file. DataError of one line where it is not as it should be."""
    del documents
    return AskedQuestions(tuple(_row(number, entry) for number, entry in enumerate(iter_jsonl(path), start=1)))


def _row(number: int, entry: FileEntry) -> DatasetRow:
    query_id = entry.optional_text("id") or f"q-{number:04d}"
    evidence = tuple(
        Evidence(doc_id=one.text("document"), fact=one.text("quote"))
        for one in (entry.entries("evidence") if "evidence" in entry.fields else ())
    )
    reference = Reference(
        query_id=query_id,
        query_type=entry.optional_text("type") or "question",
        answers=tuple(entry.texts("answers")) if "answers" in entry.fields else (),
        evidence=evidence,
    )
    doc_ids = tuple(dict.fromkeys(one.doc_id for one in evidence))
    return DatasetRow(Query(query_id=query_id, text=entry.text("question")), reference, doc_ids)
