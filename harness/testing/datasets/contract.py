"""The contract suite for data sets."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, get_args

import pytest
from pydantic import BaseModel, JsonValue

from harness.core.errors import HarnessError
from harness.core.records import AnswerStyle, Document, Query, Reference
from harness.datasets.local_files import ENV
from harness.evaluators.score_preconditions import why_not
from harness.protocols import ClusterBy, DatasetRow, DatasetSpec, Measure, RawDataset, RunFacts
from harness.registry import DATASETS, EVALUATORS
from harness.testing.guarding import Watched, finish, start, watched_main

_CACHE = "RAG_HARNESS_CACHE"
"""Environment variable with the only folder that loading may write to."""


class DatasetTask(BaseModel):
    name: str
    subset: str
    given: dict[str, JsonValue] = {}
    """Values for the fields of its `params`."""


class DatasetFindings(Watched):
    digest: str = ""
    """Digest of the loaded data, made by `digest_of`."""
    refusal: str = ""
    """The message of a HarnessError, if it raised one."""
    fix: str = ""
    """The fix that the message names."""
    broken: str = ""
    """Any other exception."""


def load_watched(task: DatasetTask, work: Path, data: Path | None = None) -> DatasetFindings:
    """Load it in a process without network; `data`: the data directory, if not that of this process."""
    own = os.environ.get(ENV) if data is None else str(data)
    settings: Mapping[str, str] = {_CACHE: str(work / "cache"), **({ENV: own} if own is not None else {})}
    process = start(__name__, task, work, settings)
    return finish(process, work, DatasetFindings)


def read_whole(spec: DatasetSpec, task: DatasetTask) -> RawDataset:
    """All of it, as for a config."""
    return spec.read(task.subset, spec.params.model_validate(task.given) if spec.params else None)


def digest_of(raw: RawDataset) -> str:
    """Digest of all text of a data set, including characters that no file can store."""
    return hashlib.sha256(repr(raw).encode()).hexdigest()


def _do(task: DatasetTask, tell: Callable[[DatasetFindings], None]) -> None:
    try:
        found = DatasetFindings(digest=digest_of(read_whole(DATASETS.load(task.name), task)))
    except HarnessError as error:
        found = DatasetFindings(refusal=str(error), fix=error.fix)
    except Exception as error:
        found = DatasetFindings(broken=f"{type(error).__name__}: {error}")
    tell(found)


if __name__ == "__main__":
    watched_main(DatasetTask, _do, lambda _task: [Path(os.environ[_CACHE])])


_SHOWN = 3


class DatasetContract:
    """The contract of every data set. Subclass it with a name that begins with `Test`, and set `name`.

    ```python
    class TestNotes(DatasetContract):
        name = "notes"
    ```
    It loads the whole data set, so its data must be available.
    """

    name: ClassVar[str] = ""
    """The name under which it is registered."""
    subset: ClassVar[str] = ""
    """One of its subsets; empty: its default."""
    given: ClassVar[Mapping[str, JsonValue]] = {}
    """Values from a config for the fields of its spec's `params`."""

    @pytest.fixture(scope="class")
    @classmethod
    def spec(cls) -> DatasetSpec:
        assert cls.name, f"{cls.__name__} must name the data set to test: name = '...'"
        return DATASETS.load(cls.name)

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls, spec: DatasetSpec) -> DatasetTask:
        return DatasetTask(name=cls.name, subset=cls.subset or spec.subsets[0], given=dict(cls.given))

    @pytest.fixture(scope="class")
    @classmethod
    def raw(cls, spec: DatasetSpec, task: DatasetTask) -> RawDataset:
        return read_whole(spec, task)

    def test_it_presents_itself(self, spec: DatasetSpec) -> None:
        assert spec.name == self.name, f"registered as '{self.name}', its spec says '{spec.name}'"
        assert spec.summary.strip(), "the summary is what `rag-harness list datasets` shows: write one"
        assert "\n" not in spec.summary, f"the summary must be one line: {spec.summary!r}"
        assert spec.subsets, "a data set needs at least one subset, its default"
        assert len(set(spec.subsets)) == len(spec.subsets), f"subset names must be unique: {spec.subsets}"
        assert spec.answer_style in get_args(AnswerStyle), (
            f"the answer style must be one of {get_args(AnswerStyle)}"
        )
        assert spec.cluster_by in get_args(ClusterBy), f"cluster_by must be one of {get_args(ClusterBy)}"

    def test_the_measure_that_ranks_is_there_and_applies_to_its_queries(
        self, spec: DatasetSpec, raw: RawDataset
    ) -> None:
        """A registered evaluator scores it, and some reference has the texts it reads."""
        if not spec.primary_measure:
            pytest.skip("no primary metric: reports use the first one that every scored run has")
        known = {measure.name: measure for measure in _measures()}
        assert spec.primary_measure in known, (
            f"no registered evaluator scores the primary measure '{spec.primary_measure}': {sorted(known)}"
        )
        measure = known[spec.primary_measure]
        reasons = [_why_not(measure, row.reference) for row in raw.rows[:1]]
        assert any(not _why_not(measure, row.reference) for row in raw.rows), (
            f"'{measure.name}' applies to none of its queries: {reasons}"
        )

    def test_loading_gives_documents_and_queries(self, raw: RawDataset) -> None:
        assert isinstance(raw, RawDataset), f"load() must return a RawDataset, not {type(raw).__name__}"
        assert raw.documents, "a data set without a document"
        assert raw.rows, "a data set without a query"
        for items, wanted in ((raw.documents, Document), (raw.rows, DatasetRow), (raw.notes, str)):
            assert isinstance(items, tuple), (
                f"{wanted.__name__}s must be in a tuple, because loaded data is shared"
            )
            odd = {type(item).__name__ for item in items if not isinstance(item, wanted)}
            assert not odd, f"each must be a {wanted.__name__}, not {sorted(odd)}"

    def test_every_document_has_an_id_of_its_own(self, raw: RawDataset) -> None:
        """Evidence, contexts and clusters refer to it."""
        _check_ids("doc_id", [document.doc_id for document in raw.documents])

    def test_every_document_says_something(self, raw: RawDataset) -> None:
        """Documents without text are left out, with a note."""
        empty = [document.doc_id for document in raw.documents if not document.text.strip()]
        assert not empty, f"documents without text: {empty[:_SHOWN]} ({len(empty)})"

    def test_every_query_has_an_id_of_its_own(self, raw: RawDataset) -> None:
        """Records and scores refer to it."""
        _check_ids("query_id", [row.query.query_id for row in raw.rows])

    def test_every_query_asks_something(self, raw: RawDataset) -> None:
        blank = [row.query.query_id for row in raw.rows if not row.query.text.strip()]
        assert not blank, f"queries without text: {blank[:_SHOWN]} ({len(blank)})"

    def test_every_reference_belongs_to_its_query_and_has_a_type(self, raw: RawDataset) -> None:
        """Samples and tables are grouped by type."""
        for row in raw.rows:
            query_id, reference = row.query.query_id, row.reference
            assert reference.query_id == query_id, f"'{query_id}' has the reference of '{reference.query_id}'"
            assert reference.query_type.strip(), (
                f"'{query_id}' has no query_type: name one, if only one and the same"
            )
            assert "\n" not in reference.query_type, f"the type of '{query_id}' is not one line"

    def test_no_reference_answer_is_blank(self, raw: RawDataset) -> None:
        """A reference without answers is unknown; a blank answer would make empty answers correct."""
        blank = [row.query.query_id for row in raw.rows if not all(map(str.strip, row.reference.answers))]
        assert not blank, f"blank reference answers: {blank[:_SHOWN]} ({len(blank)})"

    def test_evidence_is_stated_by_documents_that_exist(self, raw: RawDataset) -> None:
        """Each fact names a document of the corpus; so do the documents that a query attaches."""
        known = {document.doc_id for document in raw.documents}
        for row in raw.rows:
            strange = _evidence_documents(row) - known
            assert not strange, f"the evidence of '{row.query.query_id}' is in no document: {sorted(strange)}"
            strange = set(row.doc_ids) - known
            assert not strange, f"'{row.query.query_id}' attaches documents that do not exist: {sorted(strange)}"

    def test_no_evidence_is_blank(self, raw: RawDataset) -> None:
        """A fact consists of words of its document. It may be missing only if all evidence marks whole
        documents.
        """
        items = [(row.query.query_id, item) for row in raw.rows for item in row.reference.evidence]
        blank = [query_id for query_id, item in items if not item.fact.strip()]
        assert len(blank) in {0, len(items)}, f"evidence without a fact: {blank[:_SHOWN]} ({len(blank)})"

    def test_the_cited_corpus_of_a_sample_holds_all_of_its_evidence(self, raw: RawDataset) -> None:
        """`dataset.corpus=cited` keeps only these documents: other facts could not be retrieved."""
        outside = {row.query.query_id: sorted(_evidence_documents(row) - set(row.doc_ids)) for row in raw.rows}
        lost = {query_id: doc_ids for query_id, doc_ids in outside.items() if doc_ids}
        assert not lost, f"doc_ids of a row must hold the documents of its evidence: {list(lost.items())[:_SHOWN]}"

    def test_queries_that_are_clustered_by_document_cite_one(self, spec: DatasetSpec, raw: RawDataset) -> None:
        """Without documents in any reference, there is nothing to cluster by."""
        if spec.cluster_by != "document":
            pytest.skip("its queries are independent")
        if len(raw.documents) == 1:
            pytest.skip("there is one document only")
        assert any(row.reference.evidence for row in raw.rows), (
            "no reference names a document: set cluster_by='query', or add the evidence"
        )

    def test_all_of_it_can_be_written(self, raw: RawDataset) -> None:
        """A lone surrogate would fail only when a record is written."""
        for document in raw.documents:
            _write(document, document.doc_id)
        for row in raw.rows:
            _write(row.query, row.query.query_id)
            _write(row.reference, row.query.query_id)

    def test_loading_it_again_gives_the_same(self, spec: DatasetSpec, raw: RawDataset, task: DatasetTask) -> None:
        """So that a seed samples the same queries again."""
        assert digest_of(read_whole(spec, task)) == digest_of(raw), "loading it again gives a different data set"

    def test_another_process_loads_the_same(self, raw: RawDataset, task: DatasetTask, tmp_path: Path) -> None:
        """The order must not come from a set, a directory listing or the clock, and loading must not write."""
        found = load_watched(task, tmp_path)
        assert not found.refusal + found.broken, (
            f"it does not load without network: {found.refusal + found.broken}"
        )
        assert found.digest == digest_of(raw), "another process loads different documents, queries or references"
        assert found.writes == found.left_behind == [], "loading may write nothing but its cache"

    def test_where_its_data_is_missing_it_says_so_in_one_line(self, task: DatasetTask, tmp_path: Path) -> None:
        """A HarnessError with a fix, if it needs more data than its package contains."""
        (tmp_path / "data").mkdir()
        found = load_watched(task, tmp_path / "work", data=tmp_path / "data")
        assert not found.broken, f"without its data load() must raise a DataError, not {found.broken}"
        assert found.digest or found.fix, f"the line must say how to get the data: {found.refusal!r}"


def _why_not(measure: Measure, reference: Reference) -> str:
    """For retrieval metrics the gold data is the evidence, not the answers."""
    if "answer" not in measure.reads and reference.evidence:
        return ""
    return why_not(measure, reference, RunFacts())


def _measures() -> list[Measure]:
    return [measure for spec in EVALUATORS.load_all()[0] for measure in spec.measures(spec.params())]


def _evidence_documents(row: DatasetRow) -> set[str]:
    return {item.doc_id for item in row.reference.evidence}


def _check_ids(kind: str, ids: Sequence[str]) -> None:
    repeated = [one for one, times in Counter(ids).items() if times > 1]
    assert not repeated, f"duplicate {kind}s: {repeated[:_SHOWN]}"
    assert all(map(str.strip, ids)), f"a blank {kind}"


def _write(item: Document | Query | Reference, name: str) -> None:
    try:
        item.model_dump_json()
    except ValueError as error:
        raise AssertionError(f"'{name}' cannot be written: {error}") from None
