"""A data set that keeps the contract, and many that each break one clause."""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

from harness.core.records import Document, Evidence, Query, Reference
from harness.protocols import DatasetRow, DatasetSpec, RawDataset

_LOADED = count()


class Whole:
    """Four facts, each in its own document."""

    subsets: tuple[str, ...] = ("default",)
    measure = "accuracy"
    cluster_by: Literal["document", "query"] = "document"

    def load(self, _subset: str) -> RawDataset:
        (row, *rows), documents = self.rows(), self.documents()
        return RawDataset(documents=tuple(documents), rows=(self.first(row), *rows))

    def documents(self) -> Sequence[Document]:
        return [Document(doc_id=f"d{n}", text=f"Number {n} is called {name}.") for n, name in enumerate("abcd")]

    def rows(self) -> list[DatasetRow]:
        return [_row(n, name) for n, name in enumerate("abcd")]

    def first(self, row: DatasetRow) -> DatasetRow:
        return row


def _row(n: int, name: str) -> DatasetRow:
    evidence = Evidence(doc_id=f"d{n}", fact=f"Number {n} is called {name}.")
    query = Query(query_id=f"q{n}", text=f"What is number {n} called?")
    reference = Reference(query_id=f"q{n}", query_type="name", answers=(name,), evidence=(evidence,))
    return DatasetRow(query, reference, (f"d{n}",))


def _with_reference(row: DatasetRow, **changes: Any) -> DatasetRow:
    return replace(row, reference=row.reference.model_copy(update=changes))


class SubsetTwice(Whole):
    subsets = ("default", "default")


class NobodysMeasure(Whole):
    measure = "nobodys"


class Listed(Whole):
    def load(self, subset: str) -> RawDataset:
        raw = super().load(subset)
        return replace(raw, rows=list(raw.rows))  # type: ignore[arg-type]


class SameDocumentTwice(Whole):
    def documents(self) -> Sequence[Document]:
        return [*super().documents(), *super().documents()[:1]]


class EmptyDocument(Whole):
    def documents(self) -> Sequence[Document]:
        return [*super().documents(), Document(doc_id="empty", text=" \n")]


class SameQueryTwice(Whole):
    def rows(self) -> list[DatasetRow]:
        return [*super().rows(), *super().rows()[:1]]


class BlankQuery(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        return replace(row, query=row.query.model_copy(update={"text": " "}))


class OthersReference(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        return _with_reference(row, query_id="q1")


class BlankAnswer(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        return _with_reference(row, answers=("a", ""))


class EvidenceNowhere(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        evidence = Evidence(doc_id="nowhere", fact="It is so.")
        return replace(_with_reference(row, evidence=(evidence,)), doc_ids=("nowhere",))


class BlankFact(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        return _with_reference(row, evidence=(Evidence(doc_id="d0", fact=" "),))


class Uncited(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        return replace(row, doc_ids=("d1",))


class NothingToClusterBy(Whole):
    def rows(self) -> list[DatasetRow]:
        return [_with_reference(row, evidence=()) for row in super().rows()]


class HalfASign(Whole):
    def documents(self) -> Sequence[Document]:
        return [
            *super().documents(),
            Document.model_construct(doc_id="half", text="\ud800", title="", metadata={}),
        ]


class NeverTheSame(Whole):
    """Different at each load in one process; every process starts the same."""

    def first(self, row: DatasetRow) -> DatasetRow:
        return replace(
            row, query=row.query.model_copy(update={"text": f"What is number 0 called, {next(_LOADED)}?"})
        )


class ByProcess(Whole):
    def first(self, row: DatasetRow) -> DatasetRow:
        return replace(row, query=row.query.model_copy(update={"text": f"What is it called, {os.getpid()}?"}))


class BreaksWithoutData(Whole):
    def load(self, subset: str) -> RawDataset:
        Path(os.environ["RAG_HARNESS_DATA"], "broken.txt").read_text()
        return super().load(subset)


BREAKS: dict[type[Whole], tuple[str, ...]] = {
    Whole: (),
    SubsetTwice: ("test_it_presents_itself",),
    NobodysMeasure: ("test_the_measure_that_ranks_is_there_and_applies_to_its_queries",),
    Listed: ("test_loading_gives_documents_and_queries",),
    SameDocumentTwice: ("test_every_document_has_an_id_of_its_own",),
    EmptyDocument: ("test_every_document_says_something",),
    SameQueryTwice: ("test_every_query_has_an_id_of_its_own",),
    BlankQuery: ("test_every_query_asks_something",),
    OthersReference: ("test_every_reference_belongs_to_its_query_and_has_a_type",),
    BlankAnswer: ("test_no_reference_answer_is_blank",),
    EvidenceNowhere: ("test_evidence_is_stated_by_documents_that_exist",),
    BlankFact: ("test_no_evidence_is_blank",),
    Uncited: ("test_the_cited_corpus_of_a_sample_holds_all_of_its_evidence",),
    NothingToClusterBy: ("test_queries_that_are_clustered_by_document_cite_one",),
    HalfASign: ("test_all_of_it_can_be_written",),
    NeverTheSame: ("test_loading_it_again_gives_the_same",),
    ByProcess: ("test_another_process_loads_the_same",),
    BreaksWithoutData: ("test_where_its_data_is_missing_it_says_so_in_one_line",),
}
for _kind in BREAKS:
    globals()[f"{_kind.__name__}_SPEC"] = DatasetSpec(
        name=_kind.__name__,
        summary="four names",
        load=_kind().load,
        subsets=_kind.subsets,
        primary_measure=_kind.measure,
        cluster_by=_kind.cluster_by,
    )
