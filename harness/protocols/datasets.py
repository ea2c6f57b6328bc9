"""The contract of a data set: queries, documents, reference answers and gold evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from harness.core.records import AnswerStyle, Document, Query, Reference
from harness.protocols.systems import Params

ClusterBy = Literal["document", "query"]
"""How queries form clusters, which are not independent: `document`, by the document that their reference cites
most; `query`, each query is its own cluster."""


class ReadingProgress(Protocol):
    """Receives the progress of reading a data set."""

    def __call__(self, done: int, total: int, doing: str) -> None:
        """For example (120, 10000, "documents")."""
        ...


def no_progress(done: int, total: int, doing: str) -> None:
    """Ignore the progress."""


LISTED_BY_PLAN = "; plan lists them"
"""In a note about skipped files: where their names are."""


@dataclass(frozen=True)
class DatasetRow:
    """A query with its gold data."""

    query: Query
    reference: Reference
    doc_ids: tuple[str, ...]
    """All documents attached to this query; `dataset.corpus=cited` keeps these."""


@dataclass(frozen=True)
class RawDataset:
    """A whole data set before sampling."""

    documents: tuple[Document, ...]
    rows: tuple[DatasetRow, ...]
    notes: tuple[str, ...] = ()
    """Notes for the report, such as how many queries were left out and why; saved in the run."""
    departures: tuple[str, ...] = ()
    """Differences from the published data set, one line each; reports then mark it as not the published one."""
    title: str = ""
    """Display name in reports, if the name of the spec is too general; empty: the name of the spec."""
    answer_style: AnswerStyle | None = None
    """The form of the reference answers, and so of the requested answers; None: as in the spec."""
    primary_measure: str = ""
    """The primary metric, which ranks systems; empty: that of the spec."""
    skipped: tuple[str, ...] = ()
    """Skipped files or rows, and parts of files that could not be read, with the reason, one line each, shown by
    `rag-harness plan`. Not saved in the run, whose notes only have their number."""
    after_sampling: Callable[[tuple[DatasetRow, ...], tuple[Document, ...]], RawDataset] | None = field(
        default=None, repr=False, compare=False
    )
    """after_sampling(sampled rows, documents to search) -> what a run uses instead of them, with notes. So a row
    that is changed or left out does not change the sample of the others. None: nothing is changed."""


@dataclass(frozen=True)
class DatasetSpec:
    """Describes a data set to the registry."""

    name: str
    summary: str
    load: Callable[..., RawDataset]
    """load(subset) -> RawDataset. Raises DataError with one line that says what is missing and how to get it. With
    `params`: load(subset, params, progress); call `progress(done, total, doing)` while reading if you like."""
    subsets: tuple[str, ...] = ("default",)
    """The first one is the default."""
    primary_measure: str = ""
    """The primary metric, which ranks systems unless a config or `--measure` names another; for example `token_f1`
    if references are sentences. Empty: the first metric that all scored runs have."""
    answer_style: AnswerStyle = "short"
    """The form of the reference answers, and so of the requested answers."""
    cluster_by: ClusterBy = "document"
    """How queries are clustered: by documents that many of them cite, or not at all."""
    params: type[Params] | None = None
    """Options besides a subset; None: there are none. The fields `path` and `questions` are the keys
    `dataset.path` and `dataset.questions` (`--docs`, `--questions`), any other field is a key under
    `dataset.options`. They are not in the run id, which has the digest of the content instead."""

    def read(
        self, subset: str, params: Params | None = None, progress: ReadingProgress = no_progress
    ) -> RawDataset:
        """Load the whole data set. `params`: an instance of `self.params`; None: its defaults."""
        if self.params is None:
            return self.load(subset)
        given: Any = self.params() if params is None else params
        return self.load(subset, given, progress)
