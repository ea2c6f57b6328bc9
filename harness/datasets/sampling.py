"""Selects the queries and documents of a run, and orders its queries. The same sample gives the same selection
everywhere. Any first part of the order is a stratified sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from harness.config import OWN_DOCUMENTS
from harness.core.errors import ConfigError, DataError, nearest
from harness.core.hashing import digest
from harness.core.records import AnswerStyle, Document, Query, Reference
from harness.core.sanitize import path_part
from harness.protocols import DatasetRow, DatasetSpec, Params, RawDataset

CorpusChoice = Literal["full", "cited"]


@dataclass(frozen=True)
class QuerySample:
    per_type: int | None
    """None: all."""
    seed: int
    holdout: float = 0.0
    """Share of each type that is held out."""
    is_opened: bool = False
    """Whether to select the held-out queries instead of the others."""

    def __post_init__(self) -> None:
        if self.per_type is not None and self.per_type < 1:
            raise ConfigError(f"sample per_type is {self.per_type}", "use at least 1, or no sample")


@dataclass(frozen=True)
class Dataset:
    """The queries, references and documents of a run."""

    name: str
    subset: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    references: tuple[Reference, ...]
    """One per query, in the same order."""
    type_mix: dict[str, int]
    """Number of queries per type in the whole data set: the weights of the natural mix."""
    notes: tuple[str, ...]
    """For the report, such as how many queries were left out and why."""
    digest: str
    """SHA-256 of the documents, queries and references."""
    is_as_published: bool = True
    """False: the rows differ from the published ones; `notes` name the files."""
    title: str = ""
    """Display name in reports; empty: `name`."""
    answer_style: AnswerStyle = "short"
    primary_measure: str = ""
    skipped: tuple[str, ...] = ()
    """What was skipped when reading, one line each."""

    @property
    def name_in_runs(self) -> str:
        """The name in run ids and messages: that of its folder, for a folder of documents."""
        return (self.name == OWN_DOCUMENTS and path_part(self.title)) or self.name


def load_dataset(
    spec: DatasetSpec,
    *,
    subset: str | None = None,
    sample: QuerySample | None = None,
    corpus: CorpusChoice = "full",
    params: Params | None = None,
) -> Dataset:
    """Load a subset (None: the default) with `params` (None: the defaults) and select from it as `select` does."""
    chosen = checked_subset(spec, subset)
    return select(spec, spec.read(chosen, params), subset=chosen, sample=sample, corpus=corpus)


def select(
    spec: DatasetSpec,
    raw: RawDataset,
    *,
    subset: str,
    sample: QuerySample | None,
    corpus: CorpusChoice,
    needs_documents: bool = True,
) -> Dataset:
    """The sampled queries (None: all), and the documents that the run may search, in data-set order.

    The sample is stratified: `per_type` queries of each type, or all of a type that has fewer (with a note). It
    depends only on the seed, the type and that type's queries, and a larger `per_type` contains the smaller
    sample, and holds out what that holds out. `cited` keeps only the documents that the data set attaches to a
    sampled query. `RawDataset.after_sampling` may then change them.

    ConfigError: unknown subset. DataError: the data set is inconsistent, or no query or no document is left;
    without `needs_documents`, as for answers from elsewhere, there may be no document.
    """
    checked_subset(spec, subset)
    _check_raw(spec.name, raw)
    rows, notes = (raw.rows, ()) if sample is None else _draw(raw.rows, sample)
    cited = {doc_id for row in rows for doc_id in row.doc_ids}
    documents = tuple(one for one in raw.documents if corpus == "full" or one.doc_id in cited)
    if raw.after_sampling is not None:
        changed = raw.after_sampling(rows, documents)
        _check_raw(spec.name, changed)
        rows, documents, notes = changed.rows, changed.documents, (*notes, *changed.notes)
    if not rows or (needs_documents and not documents):
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
    """The data set reduced to the queries with these ids, with all documents and the type mix of the whole.
    DataError: an unknown id, or no id.
    """
    unknown = sorted(set(query_ids) - {query.query_id for query in dataset.queries})
    if unknown or not query_ids:
        missing = f"has no query '{unknown[0]}'" if unknown else "is left without a query"
        raise DataError(f"{dataset.name} ({dataset.subset}) {missing}", "use ids of its queries")
    queries = tuple(query for query in dataset.queries if query.query_id in query_ids)
    references = tuple(one for one in dataset.references if one.query_id in query_ids)
    chosen = _digest(dataset.documents, queries, references)
    return replace(dataset, queries=queries, references=references, digest=chosen)


def _draw(rows: tuple[DatasetRow, ...], sample: QuerySample) -> tuple[tuple[DatasetRow, ...], tuple[str, ...]]:
    by_type: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        by_type.setdefault(row.reference.query_type, []).append(index)
    kept: list[int] = []
    few = [f"{len(own):,} {kind}" for kind, own in sorted(by_type.items()) if len(own) < (sample.per_type or 0)]
    notes = [f"fewer than {sample.per_type:,} queries of a type: {', '.join(few)}"] if few else []
    for query_type in sorted(by_type):
        indices = by_type[query_type]
        # One generator per type: adding or removing a type does not change the samples of the others.
        Random(f"{sample.seed}/{query_type}").shuffle(indices)  # noqa: S311 - a sample, not a secret
        chosen = indices[: sample.per_type]
        kept += [index for place, index in enumerate(chosen) if _is_held_out(place, sample) is sample.is_opened]
    if sample.is_opened:
        notes.append(f"these are the {len(kept):,} held-out queries, which the gate opened")
    return tuple(rows[index] for index in sorted(kept)), tuple(notes)


def _is_held_out(place: int, sample: QuerySample) -> bool:
    """Whether the query at this place of the shuffled ones is held out. By the van der Corput sequence they are
    evenly spread, and a larger sample or share holds out at least what a smaller one does.
    """
    digits = f"{place + 1:b}"
    return int(digits[::-1], 2) / (1 << len(digits)) < sample.holdout


def checked_subset(spec: DatasetSpec, subset: str | None) -> str:
    """The subset, or the default one; ConfigError if it is unknown."""
    if subset is not None and subset not in spec.subsets:
        raise ConfigError(f"{spec.name} has no subset '{subset}'", nearest(subset, spec.subsets))
    return spec.subsets[0] if subset is None else subset


def _check_raw(name: str, raw: RawDataset) -> None:
    """Reject an inconsistent data set, whose scores could not be trusted."""
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


def query_order(references: Iterable[Reference], seed: int) -> list[str]:
    """All query ids in a random order, stratified by type, that depends on the seed, the ids and their types only.

    The j-th of n queries of a type gets the position (j + u) / n, with u uniform in [0, 1). So in the first k
    queries each type has its share of the sample, give or take one query.
    """
    by_type: dict[str, list[str]] = {}
    for reference in references:
        by_type.setdefault(reference.query_type, []).append(reference.query_id)
    places: list[tuple[float, str]] = []
    for query_type, ids in by_type.items():
        # One generator for each type, so that an added type does not change the order within the others.
        draw = Random(f"{seed}/{query_type}")  # noqa: S311 - an order, not a secret
        ids.sort()
        draw.shuffle(ids)
        places += [((place + draw.random()) / len(ids), query_id) for place, query_id in enumerate(ids)]
    return [query_id for _, query_id in sorted(places)]
