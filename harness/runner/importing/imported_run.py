"""What a run of imported answers is: its header, its sample and its records."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core.hashing import digest, short_digest
from harness.core.records import NO_ROW, Cost, Failure, Prediction, RunRecord, Usage
from harness.datasets import Dataset
from harness.evaluators.scores import bounded
from harness.registry import DATASETS
from harness.runner.importing.answer_file import ImportedFile
from harness.runner.importing.answer_row import ImportedRow
from harness.runner.importing.query_matching import Matched
from harness.runner.machine_info import git_commit
from harness.runner.plan import IDENTITY_SCHEMA
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

_LONGEST_MESSAGE = 2000
_NO_ANSWER = "NoAnswer"


@dataclass(frozen=True)
class ImportRequest:
    """What the command line says."""

    file: Path
    label: str
    """The name of the system that answered."""
    dataset: str | None = None
    """None: that of the run `like`."""
    subset: str | None = None
    docs: Path | None = None
    """Where the data set lies, if it has no place of its own; without the name of one, a folder of documents."""
    include: tuple[str, ...] = ()
    """Files of it that are read although a rule leaves them out."""
    questions: Path | None = None
    """A file of questions about them."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our name of a field -> the file's."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Field of the file -> the value of the rows to take."""
    model: str | None = None
    """`provider/name` of the model that answered; None: not known, so its tokens have no price."""
    like: RunDir | None = None
    """A run whose sample, references and data set the import shares, so that the two can be compared."""
    evaluators: tuple[str, ...] = ()
    """None named: the defaults of a config."""
    skip_unknown: bool = False
    """Leave out rows whose query the data set does not hold."""
    only_answered: bool = False
    """The sample is the queries that the file answers, instead of all queries of the data set."""


@dataclass(frozen=True)
class ImportedRun:
    """Rows that were matched with the queries of a data set."""

    request: ImportRequest
    file: ImportedFile
    matched: Matched
    whole: Dataset
    """What the rows were looked up in."""
    dataset: Dataset
    """What the run is to answer."""

    def manifest(self, model: Mapping[str, str], evaluators: tuple[str, ...]) -> Manifest:
        """The header of the run."""
        dataset, request = self.dataset, self.request
        identity = {
            "schema": IDENTITY_SCHEMA,
            "dataset": {"name": dataset.name, "subset": dataset.subset, "digest": dataset.digest},
            "system": {"name": request.label, "version": "imported", "index": {}, "answer": {}},
            "models": {"generator": dict(model)},
            "seed": 0,
            "repeats": self.matched.repeats,
            "limits": {},
            "imported": {"rows_sha256": self._rows_digest()},
        }
        return Manifest(
            schema_version=SCHEMA_VERSION,
            run_id=f"{dataset.name}--{request.label}--{short_digest(identity)}",
            identity=identity,
            config=self._config(evaluators),
            dataset=request.like.manifest().dataset if request.like else self._described(),
            index_id="",
            notes=tuple(self._notes()),
            machine={},
            packages={},
            git_commit=git_commit(),
            created_at=datetime.now(UTC).isoformat(),
        )

    def sample(self) -> list[SampleRow]:
        """The queries that the run is to answer, with their gold side."""
        pairs = zip(self.dataset.queries, self.dataset.references, strict=True)
        return [SampleRow(query=query, reference=reference) for query, reference in pairs]

    def records(self, imported_at: str) -> Iterator[RunRecord]:
        """A record for each query and repeat, in the sample's order; `imported_at` where the row names no time.

        A query without a row has a missing score: answering only easy queries gains nothing.
        """
        for repeat, query in itertools.product(range(self.matched.repeats), self.dataset.queries):
            row = self.matched.rows.get((query.query_id, repeat))
            yield (
                _answered(query.query_id, row, imported_at)
                if row
                else _missing(query.query_id, repeat, imported_at)
            )

    def _rows_digest(self) -> str:
        """SHA-256 of what the rows say about the queries, whatever their file's form, order or other fields."""
        said = {"line", "query", "query_id"}
        return digest(
            [
                {**row.model_dump(exclude=said, exclude_defaults=True), "query_id": query_id}
                for (query_id, _), row in self.matched.rows.items()
            ]
        )

    def _config(self, evaluators: tuple[str, ...]) -> dict[str, Any]:
        request, like = self.request, self.request.like
        return {
            "dataset": {"name": self.dataset.name, "subset": self.dataset.subset},
            "evaluators": list(evaluators),
            "imported": {
                "file": self.file.name,
                "file_sha256": self.file.sha256,
                "fields": dict(request.fields),
                "where": dict(request.where),
                "like": like.run_id if like else None,
            },
        }

    def _described(self) -> dict[str, Any]:
        dataset, spec = self.dataset, DATASETS.load(self.dataset.name)
        return {
            "name": dataset.name,
            "subset": dataset.subset,
            "digest": dataset.digest,
            "n_queries": len(dataset.queries),
            "n_documents": len(dataset.documents),
            "type_mix": dataset.type_mix,
            "corpus": "full",
            "primary_measure": dataset.primary_measure,
            "cluster_by": spec.cluster_by,
            "title": dataset.title,
            "is_as_published": dataset.is_as_published,
            "notes": list(dataset.notes),
        }

    def _notes(self) -> Iterator[str]:
        yield (
            f"Answers imported from {bounded(self.file.name, 40)} (sha256 {self.file.sha256[:12]}): "
            "contexts, tokens and seconds are what that file says."
        )
        like, rows = self.request.like, self.matched.rows
        n_whole, n_answered = len(self.whole.queries), len(self.matched.query_ids)
        holder = f"run {like.run_id}" if like else f"data set {self.whole.name}"
        if n_answered < n_whole:
            answered = f"The file answers {n_answered:,} of {n_whole:,} queries of the {holder}"
            if self.request.only_answered:
                yield f"{answered}, and chose the sample: a system that answers only easy queries looks better."
            else:
                way_out = "" if like else " If it is a deliberate sample: --only-answered."
                yield f"{answered}; the others have no score.{way_out}"
        if self.matched.n_left_out:
            yield f"Rows left out, because the {holder} does not hold their query: {self.matched.n_left_out:,}."
        partly = sum(1 for row in rows.values() if not row.has_tokens and (row.input_tokens or row.output_tokens))
        if partly:
            yield f"Rows that name input or output tokens alone, so that their tokens are unknown: {partly:,}."
        foreign = self._foreign_doc_ids()
        if foreign:
            yield f"Documents that contexts name and the corpus does not hold, each a wrong one: {foreign:,}."

    def _foreign_doc_ids(self) -> int:
        """How many distinct ids the corpus lacks; 0 where the corpus is not at hand."""
        known = {document.doc_id for document in self.dataset.documents}
        named = {one for row in self.matched.rows.values() for context in row.contexts for one in context.doc_ids}
        return len(named - known) if known else 0


def _answered(query_id: str, row: ImportedRow, imported_at: str) -> RunRecord:
    failure = _failure(row)
    answered = Prediction(answer=row.answer, contexts=row.contexts)
    return RunRecord(
        query_id=query_id,
        repeat=row.repeat,
        status="error" if failure else "ok",
        prediction=None if failure else answered,
        failure=failure,
        cost=Cost(wall_s=row.latency_s, throttled_s=None, usage={"generator": _usage(row)}),
        attempt=1,
        started_at=row.started_at or imported_at,
    )


def _missing(query_id: str, repeat: int, imported_at: str) -> RunRecord:
    return RunRecord(
        query_id=query_id,
        repeat=repeat,
        status="error",
        failure=Failure(kind=NO_ROW, message="the imported file has no row for this query"),
        cost=Cost(wall_s=None, throttled_s=None, usage={"generator": Usage(unmetered_calls=1)}),
        attempt=1,
        started_at=imported_at,
    )


def _failure(row: ImportedRow) -> Failure | None:
    if row.error is not None and row.error.strip():
        return Failure(kind="Imported", message=bounded(row.error, _LONGEST_MESSAGE))
    if row.answer is None:
        return Failure(kind=_NO_ANSWER, message=f"line {row.line} of the imported file has no answer")
    return None


def _usage(row: ImportedRow) -> Usage:
    """What the file says of tokens and calls; what it does not say is marked unknown, never 0."""
    calls = row.model_calls or 0
    return Usage(
        calls=calls,
        input_tokens=row.input_tokens or 0,
        output_tokens=row.output_tokens or 0,
        cached_tokens=row.cached_tokens or 0,
        unmetered_calls=0 if row.has_tokens else max(1, calls),
    )
