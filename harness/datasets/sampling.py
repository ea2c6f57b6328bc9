"""From a whole data set to the part a run uses: the same part for the same sample, anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.hashing import digest
from harness.core.records import AnswerStyle, Document, Query, Reference
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset

CorpusChoice = Literal["full", "cited"]


@dataclass(frozen=True)
class QuerySample:
    """How many queries of each type, and which draw of them."""

    per_type: int
    seed: int

    def __post_init__(self) -> None:
        if self.per_type < 1:
            raise ConfigError(f"sample per_type is {self.per_type}", "take at least 1, or no sample at all")


@dataclass(frozen=True)
class Dataset:
    """What one run works on."""

    name: str
    subset: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    references: tuple[Reference, ...]
    """One for each query, in the same order."""
    type_mix: dict[str, int]
    """Queries of each type in the whole data set, before sampling: the weights of its natural mix."""
    notes: tuple[str, ...]
    """What a reader must know, such as queries left out and why."""
    digest: str
    """SHA-256 of the documents, queries and references above: changes with any letter of them."""
    is_as_published: bool = True
    """False: rows under this name are not those that were published; `notes` say which."""
    title: str = ""
    """What a report calls it; empty: its name."""
    answer_style: AnswerStyle = "short"
    """How its references are worded, and so how answers are asked for."""
    primary_measure: str = ""
    """The measure that ranks systems on it."""
    skipped: tuple[str, ...] = ()
    """What was left out when it was read: a line each."""


def load_dataset(
    spec: DatasetSpec,
    *,
    subset: str | None = None,
    sample: QuerySample | None = None,
    corpus: CorpusChoice = "full",
    params: Params | None = None,
) -> Dataset:
    """Load `spec`'s `subset` (None: its default) as its `params` say (None: their defaults) and select from it.

    What can be refused without reading is refused first: see `select`.
    """
    chosen = checked_subset(spec, subset)
    return select(spec, spec.read(chosen, params), subset=chosen, sample=sample, corpus=corpus)


def select(
    spec: DatasetSpec, raw: RawDataset, *, subset: str, sample: QuerySample | None, corpus: CorpusChoice
) -> Dataset:
    """The sampled queries (None: every one), and the documents that the run may search.

    The draw is stratified: `per_type` queries of each type, all where there are fewer (with a note). It
    depends on the seed, the type and that type's queries alone, and a larger `per_type` keeps what a
    smaller one drew. `cited` keeps only the documents that the data set attaches to a sampled query.
    Queries and documents stay in data-set order. Raises `ConfigError` for an unknown subset, `DataError`
    for a data set that contradicts itself or leaves no query or no document.
    """
    checked_subset(spec, subset)
    _check_raw(spec.name, raw)
    rows, notes = (raw.rows, ()) if sample is None else _draw(raw.rows, sample)
    documents = raw.documents
    if corpus == "cited":
        cited = {doc_id for row in rows for doc_id in row.doc_ids}
        documents = tuple(document for document in raw.documents if document.doc_id in cited)
    if not rows or not documents:
        missing = "document" if rows else "query"
        raise DataError(f"{spec.name} ({subset}) leaves no {missing} to run on", "choose another subset or sample")
    queries, references = tuple(row.query for row in rows), tuple(row.reference for row in rows)
    return Dataset(
        name=spec.name,
        subset=subset,
        documents=documents,
        queries=queries,
        references=references,
        type_mix=dict(sorted(Counter(row.reference.query_type for row in raw.rows).items())),
        notes=raw.departures + raw.notes + notes,
        digest=_digest(documents, queries, references),
        is_as_published=not raw.departures,
        title=raw.title,
        answer_style=raw.answer_style or spec.answer_style,
        primary_measure=raw.primary_measure or spec.primary_measure,
        skipped=raw.skipped,
    )


def select_queries(dataset: Dataset, query_ids: Collection[str]) -> Dataset:
    """Of a whole data set the queries of these ids, in data-set order, over all of its documents.

    The type mix stays that of the whole. Raises `DataError` where the data set lacks one, or none is named.
    """
    unknown = sorted(set(query_ids) - {query.query_id for query in dataset.queries})
    if unknown or not query_ids:
        missing = f"has no query '{unknown[0]}'" if unknown else "is left without a query"
        raise DataError(f"{dataset.name} ({dataset.subset}) {missing}", "name queries that it holds")
    queries = tuple(query for query in dataset.queries if query.query_id in query_ids)
    references = tuple(one for one in dataset.references if one.query_id in query_ids)
    chosen = _digest(dataset.documents, queries, references)
    return replace(dataset, queries=queries, references=references, digest=chosen)


def _draw(rows: tuple[DatasetRow, ...], sample: QuerySample) -> tuple[tuple[DatasetRow, ...], tuple[str, ...]]:
    by_type: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        by_type.setdefault(row.reference.query_type, []).append(index)
    kept: list[int] = []
    notes = []
    for query_type in sorted(by_type):
        indices = by_type[query_type]
        if len(indices) < sample.per_type:
            notes.append(f"only {len(indices):,} of the {sample.per_type:,} wanted queries of type '{query_type}'")
        # Its own generator: a type more or less in the data set leaves the draws of the others alone.
        Random(f"{sample.seed}/{query_type}").shuffle(indices)  # noqa: S311 - a sample, not a secret
        kept += indices[: sample.per_type]
    return tuple(rows[index] for index in sorted(kept)), tuple(notes)


def checked_subset(spec: DatasetSpec, subset: str | None) -> str:
    """That subset, or the default; `ConfigError` where there is no such one."""
    if subset is not None and subset not in spec.subsets:
        raise ConfigError(f"{spec.name} has no subset '{subset}'", nearest(subset, spec.subsets))
    return spec.subsets[0] if subset is None else subset


def _check_raw(name: str, raw: RawDataset) -> None:
    """Refuse what no score could be trusted on, wherever the loader came from."""
    doc_ids = _unique(name, "doc_id", (document.doc_id for document in raw.documents))
    _unique(name, "query_id", (row.query.query_id for row in raw.rows))
    for row in raw.rows:
        query_id = row.query.query_id
        if row.reference.query_id != query_id:
            what = f"{name}: query '{query_id}' has the reference of '{row.reference.query_id}'"
            raise DataError(what, "correct the loader of this data set")
        named = {*row.doc_ids, *(item.doc_id for item in row.reference.evidence)}
        if not named <= doc_ids:
            what = f"{name}: query '{query_id}' cites '{min(named - doc_ids)}', which is not in the corpus"
            raise DataError(what, "restore the data set's documents")


def _unique(name: str, kind: str, ids: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise DataError(f"{name}: {kind} '{one}' occurs twice", "remove the repeated row from its file")
        seen.add(one)
    return seen


def _digest(documents: tuple[Document, ...], queries: tuple[Query, ...], references: tuple[Reference, ...]) -> str:
    parts = {"documents": documents, "queries": queries, "references": references}
    return digest({name: [item.model_dump() for item in items] for name, items in parts.items()})
