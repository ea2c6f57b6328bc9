"""NQ-open (Lee et al. 2019): short questions of Natural Questions with their accepted answers, without passages.

Documents are yours (`--docs`), such as a part of Wikipedia in JSON Lines. No evidence is marked: retrieval is
scored by whether an accepted answer is in the contexts, as in DPR's top-k accuracy (Karpukhin et al. 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from harness.core.hashing import text_digest
from harness.datasets.folder.reading import read_folder
from harness.datasets.hub_rows import HubTable, load_rows
from harness.datasets.row_fields import FileEntry, dataset_row
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset, ReadingProgress

_REPO = "google-research-datasets/nq_open"
_FILES = {"validation": "nq_open/NQ-open.dev.jsonl", "train": "nq_open/NQ-open.train.jsonl"}


class NqOpenParams(Params):
    path: Path
    queries: int | None = Field(1000, ge=1)
    """Number of queries, drawn with `seed`; None: all."""
    seed: int = 42


def load(subset: str, params: NqOpenParams, progress: ReadingProgress) -> RawDataset:
    drawn = load_rows(_FILES[subset], HubTable(_REPO, "nq_open", subset), params.queries, params.seed)
    rows = build(drawn.rows)
    corpus = read_folder(params.path, progress)
    drawing = f", drawn with seed {params.seed}" if len(drawn.rows) < drawn.whole else ""
    notes = (
        f"{len(drawn.rows):,} of {drawn.whole:,} questions{drawing}; the documents are not those of Natural "
        "Questions, and nothing says which questions they answer",
        *corpus.notes,
    )
    return RawDataset(documents=corpus.documents, rows=rows, notes=notes, skipped=corpus.listed)


def build(entries: Sequence[FileEntry]) -> tuple[DatasetRow, ...]:
    """The questions, with all answers of those that occur twice. The id is a digest of the question."""
    found: dict[str, dict[str, None]] = {}
    for entry in entries:
        answers = (answer.strip() for answer in entry.texts("answer"))
        found.setdefault(entry.text("question").strip(), {}).update(dict.fromkeys(filter(None, answers)))
    ids = {question: f"nq-{text_digest(question)[:12]}" for question in found}
    return tuple(dataset_row(ids[question], question, "nq", answers) for question, answers in found.items())


SPEC = DatasetSpec(
    name="nq_open",
    summary="NQ-open: short questions with accepted answers, over documents of yours: -d nq_open --docs FOLDER",
    load=load,
    params=NqOpenParams,
    subsets=tuple(_FILES),
    primary_measure="accuracy",
    cluster_by="query",
)
