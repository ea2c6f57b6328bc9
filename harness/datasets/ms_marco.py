"""MS MARCO QA (Bajaj et al. 2016), train split: Bing queries, each with about ten web passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from harness.core.records import Evidence
from harness.datasets.cell_values import NO_ANSWER
from harness.datasets.hub_rows import HubTable, Pool, PooledParams, load_rows
from harness.datasets.row_fields import FileEntry, dataset_row
from harness.protocols import DatasetRow, DatasetSpec, RawDataset, ReadingProgress

_FILES = {
    "v1.1": "ms_marco/ms_marco_v1.1_train_sample200.json",
    "v2.1": "ms_marco/ms_marco_v2.1_train_head500.json",
}
_MARKED_AS_NONE = "No Answer Present."
_ID_HEX = 12


def load(subset: str, params: PooledParams, _progress: ReadingProgress) -> RawDataset:
    drawn = load_rows(_FILES[subset], HubTable("microsoft/ms_marco", subset), params.queries, params.seed)
    raw = build(drawn.rows, subset)
    notes = ((params.note(raw, drawn.whole),) if len(raw.rows) < drawn.whole else ()) + raw.notes
    return replace(raw, notes=notes, departures=drawn.departures)


def build(entries: Sequence[FileEntry], subset: str) -> RawDataset:
    """Build a data set from rows of this schema: one document per distinct passage."""
    pool = Pool()
    rows = tuple(_row(entry, subset, pool) for entry in entries)
    return RawDataset(documents=tuple(pool.documents.values()), rows=rows, notes=_notes(rows))


def _row(entry: FileEntry, subset: str, pool: Pool) -> DatasetRow:
    query_id, answers = f"{subset}-{entry.identifier('query_id')}", _answers(entry)
    found: dict[str, Evidence | None] = {}
    for passage in entry.entry("passages").rows("passage_text", "url", "is_selected"):
        text, url = passage.text("passage_text", blank=True), passage.text("url", blank=True)
        if text.strip():
            # The first of several URLs stays.
            doc_id = pool.add(text, partial(_ids, subset), text, metadata={"url": url} if url else {})
            is_selected = passage.fields["is_selected"] == 1
            found[doc_id] = Evidence(doc_id=doc_id, fact=text) if is_selected else found.get(doc_id)
    evidence = [item for item in found.values() if item and answers != (NO_ANSWER,)]
    query_type = entry.text("query_type").lower()
    return dataset_row(query_id, entry.text("query").strip(), query_type, answers, evidence, found)


def _ids(subset: str, digest: str) -> tuple[str, str]:
    # The train split has millions of passages, so two may share 12 digits.
    return f"{subset}:{digest[:_ID_HEX]}", f"{subset}:{digest}"


def _answers(entry: FileEntry) -> tuple[str, ...]:
    """The reference answers, well-formed ones last. (null answer,) if the annotators found no answer."""
    given = [text.strip() for text in entry.texts("answers")]
    # Some conversions on the hub write "no such answer" as the text "[]".
    rewritten = entry.fields.get("wellFormedAnswers")
    given += [text.strip() for text in entry.texts("wellFormedAnswers")] if isinstance(rewritten, list) else []
    answers = tuple(dict.fromkeys(text for text in given if text and text not in (_MARKED_AS_NONE, "[]")))
    return answers or ((NO_ANSWER,) if _MARKED_AS_NONE in given else ())


def _notes(rows: Sequence[DatasetRow]) -> tuple[str, ...]:
    references = [row.reference for row in rows]
    empty = sum(not reference.answers for reference in references)
    null = sum(reference.answers == (NO_ANSWER,) for reference in references)
    unselected = sum(not reference.evidence for reference in references) - null
    counted = (
        (empty, "have no reference answer: accuracy does not apply"),
        (null, f"are marked '{_MARKED_AS_NONE}': the reference answer is '{NO_ANSWER}', without evidence"),
        (unselected, "have no selected passage: no evidence"),
    )
    return tuple(f"{count:,} of {len(rows):,} queries {what}" for count, what in counted if count)


SPEC = DatasetSpec(
    name="ms_marco",
    summary="MS MARCO QA, train split: web queries with their passages (a seeded part of it)",
    load=load,
    params=PooledParams,
    subsets=("v1.1", "v2.1"),
    primary_measure="token_f1",
    answer_style="sentence",
    cluster_by="query",
)
