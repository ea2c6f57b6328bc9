"""GraphRAG-Bench (Xiang et al. 2026, https://arxiv.org/abs/2506.05690): questions of four types on medical
guidelines (one document) and on 20 novels.

Evidence is a paraphrase of the text, so it states no facts that a passage could contain: retrieval is scored by
document over several novels, and not at all over a single document. docs/metrics.md says which of the published
measures belong to which type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.core.errors import DataError, nearest
from harness.core.records import Document, Evidence
from harness.datasets.hub_rows import HubTable, load_rows
from harness.datasets.row_fields import FIX, FileEntry, dataset_row
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset, ReadingProgress

_REPO = "GraphRAG-Bench/GraphRAG-Bench"
_PARAPHRASED = (
    "the evidence of the questions is a paraphrase, so retrieval is not scored by fact; "
    "ragas_context_recall judges contexts by the reference answer"
)


class GraphRAGBenchParams(Params):
    """The corpus."""

    source: str | None = None
    """One novel, such as Novel-44557: it is the corpus, and only its questions are asked, as in the authors' runs.
    None: all 20 in one corpus."""


def load(subset: str, params: GraphRAGBenchParams, _progress: ReadingProgress) -> RawDataset:
    """Load `medical` or `novel` from the data directory, or else from the hub."""
    name = f"{subset}_questions.json"
    questions = load_rows(f"graphrag_bench/{name}", HubTable(_REPO, file=f"Datasets/Questions/{name}"))
    table = HubTable(_REPO, file=f"Datasets/Corpus/{subset}.json")
    corpus = load_rows(f"graphrag_bench/{subset}.json", table, instead=f"graphrag_bench/{subset}.parquet")
    raw = build(corpus.rows, questions.rows, params.source)
    return replace(raw, departures=questions.departures + corpus.departures)


def build(corpus: Sequence[FileEntry], questions: Sequence[FileEntry], source: str | None = None) -> RawDataset:
    """Build a data set of these texts and questions, or of the text `source` and its questions. A question whose
    id occurred before is left out with a note: the novels have one with a wrong second answer.
    """
    texts = {entry.text("corpus_name"): entry.text("context") for entry in corpus}
    documents = {name: Document(doc_id=name, text=text, title=name) for name, text in texts.items()}
    if source is not None and source not in documents:
        raise DataError(f"no text is named '{source}'", nearest(source, tuple(documents)))
    kept = tuple(document for name, document in documents.items() if source in (None, name))
    rows: dict[str, DatasetRow] = {}
    repeated = []
    for entry in questions:
        query_id, about = entry.text("id"), entry.text("source")
        # Every retrieval finds the only document.
        evidence = (Evidence(doc_id=about, fact=""),) if len(kept) > 1 else ()
        query_type = entry.text("question_type").lower().replace(" ", "_")
        question, answers = entry.text("question").strip(), (entry.text("answer").strip(),)
        row = dataset_row(query_id, question, query_type, answers, evidence, (about,))
        if about not in documents:
            raise DataError(f"{entry.where}: no text is named '{about}'", FIX)
        if query_id in rows:
            repeated.append(query_id)
        elif source in (None, about):
            rows[query_id] = row
    notes = [_PARAPHRASED]
    if repeated:
        notes.append(
            f"{len(repeated):,} of {len(questions):,} questions left out, because their ids occur twice: "
            f"{', '.join(repeated[:5])}"
        )
    if source is None and len(documents) > 1:
        count = f"{len(documents):,}"
        notes.append(f"{count} texts in one corpus; the authors index each alone (dataset.options.source)")
    return RawDataset(documents=kept, rows=tuple(rows.values()), notes=tuple(notes))


SPEC = DatasetSpec(
    name="graphrag_bench",
    summary="GraphRAG-Bench: facts, reasoning, summaries and creative tasks on medical guidelines or novels",
    load=load,
    params=GraphRAGBenchParams,
    subsets=("medical", "novel"),
    primary_measure="token_f1",
    answer_style="sentence",
)
