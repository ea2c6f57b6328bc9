"""A run of imported answers: its manifest, sample and records."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

from harness.config.schema import NO_MODEL, OWN_DOCUMENTS
from harness.core.hashing import digest, short_digest
from harness.core.records import NO_ROW, REPORTED_SCORE, Cost, Failure, Prediction, RunRecord, Step, Usage
from harness.datasets import Dataset
from harness.datasets.folder.text_cleanup import plain
from harness.evaluators.answer_normalisation import normalise
from harness.evaluators.scores import bounded
from harness.llm_utils.reasoning import separate_reasoning, with_reasoning_apart
from harness.runner.dataset_loading import describe_dataset
from harness.runner.importing.answer_file import ImportedFile, ImportedRow
from harness.runner.importing.query_matching import Matched
from harness.runner.machine_info import git_commit
from harness.runner.plan import IDENTITY_SCHEMA
from harness.store import SCHEMA_VERSION, Manifest, RunDir

_LONGEST_MESSAGE = 2000
_NO_ANSWER = "NoAnswer"
_MARKUP = re.compile(r"<!--.*?-->|</?[a-z][^<>]*>|&nbsp;|```\w*|[\"'*_`#>~|-]", re.DOTALL | re.IGNORECASE)
_LONGEST_ERROR = 600
"""Characters of an answer that may be the message of an error."""
_REASONS = "|".join(status.phrase for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST)
_REASONS += "|Server Error|Client Error|Gateway Time-out|Service Temporarily Unavailable"
_STATUS = rf"[45]\d\d(?=\s*(?:$|[-:({{<\u2013])|\s+(?:{_REASONS})\b)"
_EXCEPTION = (
    r"(?:[a-z]\w*\.)*(?:RateLimit|API\w*|InternalServer|ServiceUnavailable|Authentication|PermissionDenied|BadRequest|"
    r"ContextWindowExceeded|Overloaded|(?:Read|Connect)?Timeout|Connection)(?:Error|Exception)\s*[:(]"
)
_SERVER_ERROR = re.compile(
    rf"\s*(?:<[^<>]*>\s*)*(?:{_EXCEPTION}|[{{]\s*[\"']error[\"']\s*:"
    rf"|(?:HTTP(?:/[\d.]+)?(?: status)?(?: error)?|error(?: code)?|status(?: code)?)[:\s]\s*{_STATUS}"
    rf"|[45]\d\d\s+(?:{_REASONS})\b)",
    re.IGNORECASE,
)
"""How the messages of servers, of proxies and of their client libraries begin."""
_FEWEST_COPIES = 5
"""Fewest answers that are unlikely to be all equal to gold answers by chance."""


@dataclass(frozen=True)
class ImportRequest:
    file: Path
    label: str
    dataset: str | None = None
    """None: the data set of the run `like`."""
    subset: str | None = None
    docs: Path | None = None
    """Folder of the data set, if it needs one; a folder of documents if `dataset` is None."""
    include: tuple[str, ...] = ()
    questions: Path | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Field of an answer -> its column in the file; with `questions`, also fields of that file."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Field in the file -> value of the rows to import."""
    model: str | None = None
    """`provider/name` of the model that answered. None: unknown, so its tokens have no price."""
    like: RunDir | None = None
    """A run whose data set, sample and references the import uses, so that both can be compared."""
    evaluators: tuple[str, ...] = ()
    """Empty: the default evaluators."""
    skip_unknown: bool = False
    only_answered: bool = False
    """Sample only the queries that the file answers, instead of all queries of the data set."""


@dataclass(frozen=True)
class ImportedRun:
    """Rows that are matched with the queries of a data set."""

    request: ImportRequest
    file: ImportedFile
    matched: Matched
    whole: Dataset
    """The whole data set, with which the rows were matched."""
    dataset: Dataset

    def manifest(self, model: Mapping[str, str], evaluators: tuple[str, ...]) -> Manifest:
        dataset, request = self.dataset, self.request
        described = describe_dataset(dataset) | {"n_documents": len(dataset.documents) or None, "corpus": "full"}
        identity = {
            "schema": IDENTITY_SCHEMA,
            "dataset": {"name": dataset.name, "subset": dataset.subset, "digest": dataset.digest},
            "system": {"name": request.label, "version": "imported", "index": {}, "answer": {}},
            "models": {"generator": {"provider": NO_MODEL} if self.file.is_ranking else dict(model)},
            "seed": 0,
            "repeats": self.matched.repeats,
            "limits": {},
            "imported": {"rows_sha256": self._rows_digest()},
        }
        return Manifest(
            schema_version=SCHEMA_VERSION,
            run_id=f"{dataset.name_in_runs}--{request.label}--{short_digest(identity)}",
            identity=identity,
            config=self._config(evaluators),
            dataset=request.like.manifest().dataset if request.like else described,
            index_id="",
            notes=tuple(self._notes()),
            machine={},
            packages={},
            git_commit=git_commit(),
            created_at=datetime.now(UTC).isoformat(),
        )

    def records(self, imported_at: str) -> Iterator[RunRecord]:
        """A record for each query and repeat, in the order of the sample. `imported_at` replaces a missing time.

        A query without a row has a missing score, so answering only easy queries is no advantage.
        """
        for repeat, query in itertools.product(range(self.matched.repeats), self.dataset.queries):
            row = self.matched.rows.get((query.query_id, repeat))
            yield self._record(query.query_id, repeat, row, imported_at)

    def _record(self, query_id: str, repeat: int, row: ImportedRow | None, imported_at: str) -> RunRecord:
        prediction: Prediction | None = None
        failure: Failure | None = None
        cost = Cost(wall_s=None, throttled_s=None)
        if row is None:
            failure = Failure(kind=NO_ROW, message="the imported file has no row for this query")
            cost = cost.model_copy(update={"usage": {"generator": Usage(unmetered_calls=1)}})
        elif self.file.is_ranking:
            prediction = Prediction(answer=None, contexts=row.contexts or (), has_contexts=False)
        else:
            cost = Cost(wall_s=row.latency_s, throttled_s=None, usage={"generator": _usage(row)})
            failure = self._failure(query_id, row)
            if failure is None:
                try:
                    prediction = with_reasoning_apart(self._prediction(row))
                except ValueError as error:
                    failure = Failure(kind=_NO_ANSWER, message=f"{row.place} of the imported file: {error}")
        return RunRecord(
            query_id=query_id,
            repeat=repeat,
            status="error" if failure else "ok",
            prediction=prediction,
            failure=failure,
            cost=cost,
            attempt=1,
            started_at=row.started_at or imported_at if row else imported_at,
        )

    def _rows_digest(self) -> str:
        """SHA-256 of the imported content, independent of the order of rows and of other fields in the file."""
        excluded = {"place", "query", "query_id"}
        return digest(
            [
                {**row.model_dump(exclude=excluded, exclude_defaults=True), "query_id": query_id}
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
                "fields": {field: list(names) for field, names in self.file.columns.items()},
                "where": dict(request.where),
                "like": like.run_id if like else None,
            },
        }

    def _notes(self) -> Iterator[str]:
        named = f"{bounded(self.file.name, 40)} (sha256 {self.file.sha256[:12]})"
        if self.file.is_ranking:
            yield f"Rankings imported from {named}: without texts, so only the documents are scored."
        else:
            yield "Imported answers: contexts, tokens and seconds are as the file says."
            yield f"Imported from {named}."
        like, rows = self.request.like, self.matched.rows
        n_whole, n_answered = len(self.whole.queries), len(self.matched.query_ids)
        holder = f"run {like.run_id}" if like else f"data set {self.whole.name}"
        if n_answered < n_whole:
            answered = f"The file answers {n_answered:,} of {n_whole:,} queries of the {holder}"
            if self.request.only_answered:
                yield f"{answered}, which are the sample: a system that answers only easy queries looks better."
            else:
                way_out = "" if like else " Use --only-answered if this is a deliberate sample."
                yield f"{answered}; the others have no score.{way_out}"
        if self.matched.n_left_out:
            yield f"Rows skipped because their query is not in the {holder}: {self.matched.n_left_out:,}."
        yield from self._notes_on_answers()
        if any(row.reported_score is not None for row in rows.values()):
            named = ", ".join(self.file.score_names or self.file.columns["reported_score"])
            yield f"The other tool's scores are of its metric {bounded(named, 60)}: compare only runs with it."
        foreign = self._foreign_doc_ids()
        if foreign:
            yield f"Documents in contexts that are not in the corpus, and count as wrong: {foreign:,}."

    def _notes_on_answers(self) -> Iterator[str]:
        rows = self.matched.rows
        partly = sum(1 for row in rows.values() if not row.has_tokens and (row.input_tokens or row.output_tokens))
        if partly:
            yield f"Rows with only input or only output tokens, which count as unknown: {partly:,}."
        separated = (separate_reasoning(row.answer or "") for row in rows.values())
        reasoned = sum(1 for found in separated if found.reasoning and found.answer)
        if reasoned:
            yield f"Answers whose reasoning was removed, and kept in the trace: {reasoned:,}."
        answered = [(key[0], row) for key, row in rows.items() if row.answer is not None and not row.error]
        failed = sum(self._failure(query_id, row) is not None for query_id, row in answered)
        if failed:
            yield f"Answers that are blank or the error message of a server, and count as failed: {failed:,}."
        if self._copies_gold():
            yield f"All {len(rows):,} answers are word for word gold answers: is this the file of gold answers?"

    def _copies_gold(self) -> bool:
        """Whether every answer is a gold answer: many data sets call theirs `answer`, as systems do."""
        rows = self.matched.rows
        is_copy = all((row.answer or "").strip() in self._gold.get(key[0], ()) for key, row in rows.items())
        return is_copy and len(rows) >= _FEWEST_COPIES

    @cached_property
    def _gold(self) -> Mapping[str, tuple[str, ...]]:
        return {reference.query_id: reference.answers for reference in self.dataset.references}

    def _failure(self, query_id: str, row: ImportedRow) -> Failure | None:
        """Also of a blank answer, and of an error message whose status or name no expected answer has."""
        error = row.error if row.error is not None and row.error.strip() else None
        answer = row.answer or ""
        if error is None and len(answer) <= _LONGEST_ERROR and (found := _SERVER_ERROR.match(answer)):
            named = re.search(r"[45]\d\d|\w*(?:Error|Exception)", found[0], re.IGNORECASE)
            is_asked = named and any(named[0].casefold() in one.casefold() for one in self._gold.get(query_id, ()))
            error = None if is_asked else answer
        if error is not None:
            return Failure(kind="Imported", message=bounded(error, _LONGEST_MESSAGE))
        if not (normalise(answer) and normalise(_MARKUP.sub("", answer))):
            return Failure(kind=_NO_ANSWER, message=f"{row.place} of the imported file has no answer")
        return None

    def _prediction(self, row: ImportedRow) -> Prediction:
        contexts, given = row.contexts or (), row.reported_score
        if self.dataset.name == OWN_DOCUMENTS:
            # They are cleaned as the documents of a folder are, because facts are found literally.
            contexts = tuple(one.model_copy(update={"text": plain(one.text)}) for one in contexts)
        return Prediction(
            answer=row.answer,
            contexts=contexts,
            has_contexts=row.contexts is not None,
            trace=() if given is None else (Step(name=REPORTED_SCORE, content=repr(given)),),
        )

    def _foreign_doc_ids(self) -> int:
        """Number of distinct document ids that the corpus lacks; 0 if the corpus is not available."""
        known = {document.doc_id for document in self.dataset.documents}
        named = {
            one for row in self.matched.rows.values() for context in row.contexts or () for one in context.doc_ids
        }
        return len(named - known) if known else 0


def _usage(row: ImportedRow) -> Usage:
    """Tokens and calls as given in the file. Missing numbers are marked unknown, never 0."""
    calls = row.model_calls or 0
    return Usage(
        calls=calls,
        input_tokens=row.input_tokens or 0,
        output_tokens=row.output_tokens or 0,
        cached_tokens=row.cached_tokens or 0,
        unmetered_calls=0 if row.has_tokens else max(1, calls),
    )
